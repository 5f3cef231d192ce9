"""What flipped between two gradings, for tools: every flip, every count, and the test of each judged rule."""

from collections.abc import Iterable, Sequence

from abs_replay.comparison import Cause, Comparison, Direction, Flip
from abs_replay.comparison.flips import Incomparable
from abs_replay.comparison.noise import Floor
from abs_replay.comparison.pairing import Check
from abs_replay.comparison.statistics import Interval
from abs_replay.comparison.tallies import Rate, Tally, adjusted, beyond_noise
from abs_replay.exact_json import Json

CAUSES = {cause: cause.name.lower() for cause in Cause}


def as_json(comparison: Comparison) -> dict[str, Json]:
    """The comparison for tools.

    `flipped` and `regressions` count evaluations; matches and whole sessions have counts of their own.
    `incomparable` are pairs that both gradings have, `only_before` and `only_after` what one of them has.
    """
    return {
        "before": comparison.before,
        "after": comparison.after,
        "flipped": len(comparison.flips),
        "same": comparison.same,
        "carried_over": comparison.carried,
        "answered_by_another_judge": comparison.by_another,
        "decided_anew": [_flip(flip) for flip in comparison.anew],
        "renamed": [{"before": old, "after": new} for old, new in comparison.renamed],
        "regressions": _worse(comparison.flips),
        "unstable": sum(flip.unstable for flip in comparison.flips),
        "flips": [_flip(flip) for flip in comparison.all_flips],
        "incomparable": [_incomparable(pair) for pair in comparison.undecided],
        "only_before": [_check(pair.before, pair.why) for pair in comparison.one_sided if pair.before],
        "only_after": [_check(pair.after, pair.why) for pair in comparison.one_sided if pair.after],
        "judged": _tallies([tally for tally in comparison.tallies if tally.judged], comparison.floor),
        "noise_floor": {
            "asked_twice": comparison.floor.pairs,
            "otherwise": comparison.floor.otherwise,
            "rate": comparison.floor.rate,
        },
        "matches": {"flipped": len(comparison.matches), "regressions": _worse(comparison.matches)},
        "sessions": {
            "flipped": len(comparison.results),
            "regressions": _worse(comparison.results),
            "before": _rate(comparison.rate_before),
            "after": _rate(comparison.rate_after),
        },
    }


def gates(gated: bool, failed: Sequence[str]) -> dict[str, Json]:
    """Whether the gates hold, null where there were none, and what of them does not."""
    return {"gates": {"passed": not failed, "failures": list(failed)} if gated else None}


def _worse(flips: Iterable[Flip]) -> int:
    return sum(flip.direction is Direction.REGRESSION for flip in flips)


def _flip(flip: Flip) -> dict[str, Json]:
    return {
        **_sides(flip.before, flip.after),
        "direction": None if flip.before.status is flip.after.status else flip.direction.value,
        "causes": [CAUSES[cause] for cause in flip.causes],
        "unstable": flip.unstable,
        "score_before": flip.before.verdict.score if flip.before.verdict else None,
        "score_after": flip.after.verdict.score if flip.after.verdict else None,
    }


def _sides(before: Check, after: Check) -> dict[str, Json]:
    return {
        "session": after.session,
        "trace": after.trace,
        "trace_before": before.trace,
        "at": after.at,
        "at_before": before.at,
        "type": after.type,
        "label": after.label,
        "before": before.status.value,
        "after": after.status.value,
        "reason_before": before.reason,
        "reason_after": after.reason,
    }


def _incomparable(pair: Incomparable) -> dict[str, Json]:
    sides = _sides(pair.before, pair.after) if pair.before and pair.after else {}
    return {**sides, "why": pair.why}


def _check(check: Check, why: str) -> dict[str, Json]:
    return {
        "session": check.session,
        "trace": check.trace,
        "at": check.at,
        "type": check.type,
        "label": check.label,
        "status": check.status.value,
        "why": why,
    }


def _tallies(tallies: Sequence[Tally], floor: Floor) -> list[Json]:
    holm = adjusted(tallies)
    more = [{"holm_p": holm.get(each.place), "beyond_noise_p": beyond_noise(each, floor)} for each in tallies]
    return [_tally(tally) | tested for tally, tested in zip(tallies, more, strict=True)]


def _tally(tally: Tally) -> dict[str, Json]:
    """`pairs` were decided both times, `undecided` were not; `effect` is how much the share passed rose."""
    return {
        "session": tally.session,
        "at": tally.at,
        "type": tally.type,
        "label": tally.label,
        "pairs": tally.pairs,
        "undecided": tally.undecided,
        "worse": tally.worse,
        "better": tally.better,
        "effect": tally.effect,
        "effect_interval": _interval(tally.interval),
        "mid_p": tally.mid_p,
        "score_change": tally.scores.mean,
        "score_interval": _interval(tally.score_interval),
        "votes_differ": tally.noise,
        "unit": tally.changes.unit,
        "units": len(tally.changes.sizes),
    }


def _rate(rate: Rate) -> dict[str, Json]:
    return {
        "passed": rate.passed,
        "decided": rate.decided,
        "total": rate.total,
        "interval": _interval(rate.interval),
    }


def _interval(interval: Interval | None) -> Json:
    return None if interval is None else list(interval)
