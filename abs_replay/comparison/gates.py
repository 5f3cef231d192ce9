"""Gates: what has to hold for exit status 0, in place of the condition of SEMANTICS R3 (DESIGN §7)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from abs_replay.comparison import Comparison, Direction, Flip
from abs_replay.comparison.pairing import Check
from abs_replay.comparison.tallies import Rate, adjusted

LEVEL = 0.05
NAMED = 3  # checks that one gate names


class FailOn(StrEnum):
    """Which changes fail a gate."""

    REGRESSION = "regression"
    ANY = "any"


class Bound(StrEnum):
    """What a pass rate is measured by: what was seen, or the lower end of its 95 % interval."""

    POINT = "point"
    LOWER = "lower"


@dataclass(frozen=True, slots=True)
class Gates:
    """What was asked for. A `margin` is how much worse the pass rate may have become, as a share."""

    fail_on: FailOn | None = None
    min_pass_rate: float | None = None
    bound: Bound = Bound.POINT
    margin: float | None = None

    @property
    def compare(self) -> bool:
        """Whether they need a grading to compare with."""
        return self.fail_on is not None or self.margin is not None

    @property
    def given(self) -> bool:
        return self.compare or self.min_pass_rate is not None


def failures(gates: Gates, rate: Rate, comparison: Comparison | None) -> tuple[str, ...]:
    """Say which gates do not hold, one line each, for the pass rate `rate`."""
    return tuple(_failures(gates, rate, comparison))


def _failures(gates: Gates, rate: Rate, comparison: Comparison | None) -> Iterator[str]:
    if comparison is not None and gates.fail_on is not None:
        yield from FAIL_ON[gates.fail_on](comparison)
    if gates.min_pass_rate is not None:
        yield from _low(rate, gates.min_pass_rate, gates.bound)
    if comparison is not None and gates.margin is not None:
        yield from _blocking(comparison)
        yield from _beyond(comparison, gates.margin)
        yield from _demonstrably_worse(comparison, gates.margin)


def _got_worse(comparison: Comparison) -> Iterator[str]:
    """What can not be decided any more counts: nobody knows that it still passes. What counts not is where
    nothing changed but the answer of the same judge to the same question."""
    lost = [pair.after for pair in comparison.incomparable if pair.regressed and pair.after]
    flips = [flip for flip in comparison.matches + comparison.flips if flip.direction is Direction.REGRESSION]
    worse = [flip.after for flip in flips if not flip.noise] + lost
    if worse:
        undecided = f", {len(lost)} of them not decided any more" if lost else ""
        yield f"--fail-on regression: {_counted(worse)} got worse{undecided}: {_named(worse)}"
    elif sessions := [flip.after for flip in comparison.results if _firmly_worse(flip)]:
        yield f"--fail-on regression: {_counted(sessions)} got worse by what was added: {_named(sessions)}"


def _firmly_worse(flip: Flip) -> bool:
    return flip.direction is Direction.REGRESSION and not flip.unstable


def _changed(comparison: Comparison) -> Iterator[str]:
    changed = [flip.after for flip in comparison.matches + comparison.flips]
    changed += [pair.after for pair in comparison.incomparable if pair.changed and pair.after]
    changed = changed or [flip.after for flip in comparison.results]
    if changed:
        yield f"--fail-on any: {_counted(changed)} changed: {_named(changed)}"


FAIL_ON: dict[FailOn, Callable[[Comparison], Iterator[str]]] = {
    FailOn.REGRESSION: _got_worse,
    FailOn.ANY: _changed,
}


def _low(rate: Rate, wanted: float, bound: Bound) -> Iterator[str]:
    """Of all runs, not of those decided alone: an undecided one has not passed (R1)."""
    if not rate.total:
        yield f"--min-pass-rate {wanted:g}: there is no session to count"
        return
    share = rate.passed / rate.total
    seen = share if bound is Bound.POINT else rate.of_all_interval[0]
    if seen < wanted:
        undecided = f", {rate.total - rate.decided} undecided" if rate.decided < rate.total else ""
        passed = f"{rate.passed} of {rate.total} sessions passed{undecided}"
        lower = "" if bound is Bound.POINT else f", and the rate's lower bound is {seen:.3g}"
        yield f"--min-pass-rate {wanted:g}: {passed}: {share:.3g}{lower}"


def _blocking(comparison: Comparison) -> Iterator[str]:
    flips = [flip for flip in comparison.flips if flip.direction is Direction.REGRESSION]
    blocking = [flip.after for flip in flips if flip.after.verdict and flip.after.verdict.blocking]
    if blocking:
        yield f"--margin: {_counted(blocking)} failed now that block what follows: {_named(blocking)}"


def _beyond(comparison: Comparison, margin: float) -> Iterator[str]:
    """Non-inferiority: the lower 95 % bound of how much the share of passed runs rose."""
    changed = comparison.sessions.mean
    if changed is None:
        yield f"--margin {margin:g}: no session was decided in both gradings"
        return
    interval = comparison.sessions.interval
    low = changed if interval is None else interval[0]
    if low <= -margin and low < 0:  # where nothing got worse, no margin is too small
        over = f"{len(comparison.sessions.sizes)} {comparison.sessions.unit}s"
        yield (
            f"--margin {margin:g}: the share of sessions that pass went by {changed:+.3g}, and may have gone "
            f"by {low:+.3g} (95 %, over {over})"
        )


def _demonstrably_worse(comparison: Comparison, margin: float) -> Iterator[str]:
    """A rule that is worse by more than the margin hides among others that are not."""
    judged = [tally for tally in comparison.tallies if tally.judged]
    holm = adjusted(judged)
    for tally in judged:
        p = holm.get(tally.place, 1.0)
        if p < LEVEL and tally.effect < -margin:
            yield (
                f"--margin {margin:g}: {tally.label or tally.type} ({tally.session} · {tally.at}) passes "
                f"{tally.effect:+.3g} as often (p {p:.2g}, adjusted for {len(holm)} tests)"
            )


def _counted(checks: Sequence[Check]) -> str:
    return f"{len(checks)} check{'' if len(checks) == 1 else 's'}"


def _named(checks: Sequence[Check]) -> str:
    named = [f"{check.trace} {check.at or check.type}" for check in checks[:NAMED]]
    return ", ".join(named) + (" and others" if len(checks) > NAMED else "")
