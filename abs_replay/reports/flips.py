"""What flipped between two gradings, for people and as JSON."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from abs_replay.comparison import Cause, Comparison, Direction, Flip
from abs_replay.comparison.pairing import Check
from abs_replay.comparison.statistics import Rate, Tally
from abs_replay.exact_json import Json
from abs_replay.reports import PAPER, Screen
from abs_replay.reports.cells import cut, escaped, painted, wrapped
from abs_replay.reports.labels import quoted
from abs_replay.reports.table import EVALUATIONS

MOST_OF_A_RULE = 20  # flips of one rule that are shown; JSON has them all
MOST_LINES = 4  # of one reason

type Place = tuple[str, str, str]


def render(comparison: Comparison, screen: Screen = PAPER) -> str:
    """Write what flipped, rule by rule, with the reasons before and after."""
    tallies = {(tally.session, tally.at, tally.type): tally for tally in comparison.tallies}
    lines = list(_headline(comparison))
    for place, flips in _grouped(comparison.all_flips).items():
        lines += ["", *_rule(place, flips, tallies.get(place), screen)]
    lines += ["", *_closing(comparison, screen)]
    return "\n".join(lines) + "\n"


def _headline(comparison: Comparison) -> Iterator[str]:
    # Matches and whole sessions may flip where no evaluation did.
    none = "no evaluation" if comparison.all_flips else "nothing"
    flipped = f"{len(comparison.flips) or none} flipped"
    same = f"{comparison.same} the same{_carried(comparison)}"
    yield escaped(f"{comparison.before} → {comparison.after}: {flipped}, {same}")


def _carried(comparison: Comparison) -> str:
    anew = comparison.same - comparison.carried
    if not comparison.carried:
        return ""
    return " (carried over)" if not anew else f" ({comparison.carried} carried over, {anew} decided anew)"


def _grouped(flips: Iterable[Flip]) -> dict[Place, list[Flip]]:
    groups: defaultdict[Place, list[Flip]] = defaultdict(list)
    for flip in flips:
        groups[flip.after.session, flip.after.at, flip.after.type].append(flip)
    return groups


def _rule(place: Place, flips: list[Flip], tally: Tally | None, screen: Screen) -> Iterator[str]:
    session, at, kind = place
    label = flips[0].after.label or kind
    what = {"session": "the whole session", "match": f"match of {label}"}.get(kind, label)
    heading = " · ".join(part for part in (session, at, what) if part)
    yield cut(escaped(heading), screen.width)
    for flip in flips[:MOST_OF_A_RULE]:
        yield from _flip(flip, screen)
    if len(flips) > MOST_OF_A_RULE:
        yield f"  .. and {len(flips) - MOST_OF_A_RULE} more: --format json lists them"
    if tally and tally.judged:
        yield f"  {_tested(tally)}"


def _flip(flip: Flip, screen: Screen) -> Iterator[str]:
    went = f"{_status(flip.before, screen)} → {_status(flip.after, screen)}"
    cause = f" · {flip.cause}" if flip.cause else ""
    yield f"  {escaped(flip.after.trace)}: {went}{cause}"
    for name, reason in (("before", flip.before.reason), ("after", flip.after.reason)):
        if reason:
            yield from _reason(f"{name}:", reason, screen.width)


def _status(check: Check, screen: Screen) -> str:
    symbol, word, mood = EVALUATIONS[check.status]
    return painted(f"{symbol} {word}", mood, screen.colour)


def _reason(name: str, reason: str, width: int) -> Iterator[str]:
    lines = wrapped(escaped(reason), max(width - 13, 20))
    shown = lines if len(lines) <= MOST_LINES else [*lines[: MOST_LINES - 1], "…"]
    for nth, line in enumerate(shown):
        yield f"    {name if nth == 0 else '':<8}{line}"


def _tested(tally: Tally) -> str:
    went = f"{tally.worse} worse, {tally.better} better of {tally.pairs} judged both times"
    if tally.mid_p is None:
        return f"{went}: too few flips to test"
    return f"{went}: McNemar's mid-p {tally.mid_p:.3g}"


def _closing(comparison: Comparison, screen: Screen) -> Iterator[str]:
    yield f"Sessions passed: {_rate(comparison.rate_before)} → {_rate(comparison.rate_after)}"
    for old, new in comparison.renamed:
        yield cut(escaped(f"Session {quoted(old)} is called {quoted(new)} now"), screen.width)
    listed = (
        ("Decided anew, and the same", tuple(flip.after for flip in comparison.anew)),
        ("Only before", comparison.only_before),
        ("Only after", comparison.only_after),
    )
    for name, checks in listed:
        if checks:
            traces = len({(check.session, check.trace) for check in checks})
            plural = "" if len(checks) == 1 else "s"
            yield f"{name}: {len(checks)} evaluation{plural}, in {_runs(traces)}"
            yield from _came_to(checks, screen)


def _came_to(checks: Iterable[Check], screen: Screen) -> Iterator[str]:
    """What evaluations that did not flip came to, rule by rule."""
    came_to: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for check in checks:
        heading = f"{check.session} · {check.at} · {check.label or check.type}"
        came_to[heading][EVALUATIONS[check.status][1]] += 1
    for heading, counts in list(came_to.items())[:MOST_OF_A_RULE]:
        summary = ", ".join(f"{count} {word}" for word, count in counts.items())
        yield f"  {cut(escaped(heading), max(screen.width - len(summary) - 4, 20))}: {summary}"
    if len(came_to) > MOST_OF_A_RULE:
        yield f"  .. and {len(came_to) - MOST_OF_A_RULE} more rules"


def _runs(count: int) -> str:
    return "1 trace" if count == 1 else f"{count} traces"


def _rate(rate: Rate) -> str:
    """The rate with Wilson's 95 % interval; both denominators where not all was decided."""
    low, high = rate.interval
    passed = f"{rate.passed}/{rate.decided}"
    if rate.decided != rate.total:
        passed += f" decided, {rate.passed}/{rate.total} in all"
    return f"{passed} ({low * 100:.0f}–{high * 100:.0f} %)"


def as_json(comparison: Comparison) -> dict[str, Json]:
    """The comparison for tools: every flip, the counts, and the test of each judged rule.

    `flipped` and `regressions` count evaluations; matches and whole sessions have counts of their own.
    """
    return {
        "before": comparison.before,
        "after": comparison.after,
        "flipped": len(comparison.flips),
        "same": comparison.same,
        "carried_over": comparison.carried,
        "decided_anew": [_flip_json(flip) for flip in comparison.anew],
        "renamed": [{"before": old, "after": new} for old, new in comparison.renamed],
        "regressions": _worse(comparison.flips),
        "flips": [_flip_json(flip) for flip in comparison.all_flips],
        "only_before": [_check_json(check) for check in comparison.only_before],
        "only_after": [_check_json(check) for check in comparison.only_after],
        "judged": [_tally_json(tally) for tally in comparison.tallies if tally.judged],
        "matches": {"flipped": len(comparison.matches), "regressions": _worse(comparison.matches)},
        "sessions": {
            "flipped": len(comparison.results),
            "regressions": _worse(comparison.results),
            "before": _rate_json(comparison.rate_before),
            "after": _rate_json(comparison.rate_after),
        },
    }


def _worse(flips: Iterable[Flip]) -> int:
    return sum(flip.direction is Direction.REGRESSION for flip in flips)


def _flip_json(flip: Flip) -> dict[str, Json]:
    return {
        "session": flip.after.session,
        "trace": flip.after.trace,
        "at": flip.after.at,
        "at_before": flip.before.at,
        "type": flip.after.type,
        "label": flip.after.label,
        "before": flip.before.status.value,
        "after": flip.after.status.value,
        "direction": flip.direction.value,
        "cause": CAUSES[flip.cause] if flip.cause else None,
        "reason_before": flip.before.reason,
        "reason_after": flip.after.reason,
        "score_before": flip.before.verdict.score if flip.before.verdict else None,
        "score_after": flip.after.verdict.score if flip.after.verdict else None,
    }


CAUSES = {cause: cause.name.lower() for cause in Cause}


def _check_json(check: Check) -> dict[str, Json]:
    return {
        "session": check.session,
        "trace": check.trace,
        "at": check.at,
        "type": check.type,
        "label": check.label,
        "status": check.status.value,
    }


def _tally_json(tally: Tally) -> dict[str, Json]:
    return {
        "session": tally.session,
        "at": tally.at,
        "type": tally.type,
        "pairs": tally.pairs,
        "worse": tally.worse,
        "better": tally.better,
        "mid_p": tally.mid_p,
    }


def _rate_json(rate: Rate) -> dict[str, Json]:
    low, high = rate.interval
    return {"passed": rate.passed, "decided": rate.decided, "total": rate.total, "interval": [low, high]}
