"""Two checks that belong together: a flip where both were decided, incomparable where one was not."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from abs_replay.comparison.causes import Cause, causes
from abs_replay.comparison.pairing import Check
from abs_replay.verdicts import Run, Status, StepStatus, Verdict

SEVERAL = "several traces of this name"
DECIDED = (Status.PASSED, Status.FAILED)


class Direction(StrEnum):
    """Which way a check went. Neither is, for instance, failed to error, or passed to skipped."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"


@dataclass(frozen=True, slots=True)
class Flip:
    """One check in both gradings; the place is the later one."""

    before: Check
    after: Check
    wavers: bool = False  # whether the judge of a side is known to have said otherwise to its question
    rests: bool = False  # of a whole session: whether it flipped by unstable flips alone

    @property
    def direction(self) -> Direction:
        return direction(self.before.status, self.after.status)

    @property
    def causes(self) -> tuple[Cause, ...]:
        return causes(self.before, self.after)

    @property
    def unstable(self) -> bool:
        """Whether to ask again could undo it: votes were split, or nothing changed but the answer, or the
        same judge did say otherwise once."""
        verdicts = (self.before.verdict, self.after.verdict)
        return self.wavers or self.rests or any(map(_split, verdicts)) or self.noise

    @property
    def noise(self) -> bool:
        """Whether nothing at all changed but what the same judge answered."""
        return self.causes == (Cause.NOISE,)


def _split(verdict: Verdict | None) -> bool:
    if verdict is None:
        return False
    split = verdict.judged is not None and verdict.judged.unstable
    return split or any(map(_split, verdict.children))


@dataclass(frozen=True, slots=True)
class Incomparable:
    """A check that can be said neither to have flipped nor not: one side was not decided, or is not there."""

    before: Check | None
    after: Check | None
    why: str

    @property
    def regressed(self) -> bool:
        """Whether what passed is not known to pass any more."""
        if self.before is None or self.after is None:
            return False
        return direction(self.before.status, self.after.status) is Direction.REGRESSION

    @property
    def changed(self) -> bool:
        """Whether both gradings have it, and not in the same status."""
        if self.before is None or self.after is None:
            return False
        return self.before.status is not self.after.status


def direction(before: Status, after: Status) -> Direction:
    """Which way a check went; skipped is neither better nor worse."""
    if before is Status.PASSED and after is not Status.SKIPPED:
        return Direction.REGRESSION
    if after is Status.PASSED and before is not Status.SKIPPED:
        return Direction.IMPROVEMENT
    return Direction.CHANGE


def why_alone(before: bool, in_both: bool, several: bool) -> str:
    """Say why a check that only one grading has, that of `before` or the later one, has nothing beside it;
    `in_both`: its run has one beside it; `several`: its trace is not the only one of its name."""
    if several and not in_both:
        return SEVERAL
    one = "before" if before else "after"
    return f"only {one}" if in_both else f"its trace was graded only {one}"


def why_undecided(before: Status, after: Status) -> str | None:
    """Say why two verdicts can not be compared; None where they can, or both were skipped."""
    if before in DECIDED and after in DECIDED:
        return None
    if before is after:
        return None if before is Status.SKIPPED else f"{_named(before)} both times"
    sides = (("before", before), ("after", after))
    return ", ".join(f"{_named(status)} {word}" for word, status in sides if status not in DECIDED)


def _named(status: Status) -> str:
    return status.value.replace("_", " ")


def resting(
    results: Iterable[Flip], flips: Iterable[Flip], incomparable: Iterable[Incomparable]
) -> tuple[Flip, ...]:
    """Mark the flips of whole sessions that nothing but unstable flips can have made."""
    shaky: set[int] = set()
    firm: set[int] = set()
    for flip in flips:
        (shaky if flip.unstable else firm).add(id(flip.after.run))
    for pair in incomparable:
        firm |= {id(check.run) for check in (pair.before, pair.after) if check and _weighs(pair, check)}
    return tuple(replace(flip, rests=_rests(flip, shaky, firm)) for flip in results)


def _weighs(pair: Incomparable, check: Check) -> bool:
    alone = pair.before is None or pair.after is None
    return check.status not in (Status.PASSED, Status.SKIPPED) if alone else pair.changed


def _rests(flip: Flip, shaky: Collection[int], firm: Collection[int]) -> bool:
    old, new = flip.before.run, flip.after.run
    return (
        _without_rules(old) == _without_rules(new) and id(new) in shaky and not {id(old), id(new)} & set(firm)
    )


def _without_rules(run: Run) -> tuple[str | None, list[tuple[StepStatus, bool]]]:
    """What decides a run beside its evaluations."""
    return run.problem, [(step.status, run.fails(step)) for step in run.steps]


def flipped(pairs: Iterable[tuple[Check, Check]]) -> tuple[Flip, ...]:
    return tuple(Flip(old, new) for old, new in pairs if old.status is not new.status)
