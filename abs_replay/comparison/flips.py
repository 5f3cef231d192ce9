"""Two checks that belong together: a flip where both were decided, incomparable where one was not."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from abs_replay.comparison.causes import Cause, causes
from abs_replay.comparison.pairing import Check
from abs_replay.verdicts import Status, Verdict

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
        return self.wavers or any(map(_split, verdicts)) or self.causes == (Cause.NOISE,)


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


def why_alone(before: bool, in_both: bool) -> str:
    """Say why a check that only one grading has, that of `before` or the later one, has nothing beside it;
    `in_both`: its trace is in both."""
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


def flipped(pairs: Iterable[tuple[Check, Check]]) -> tuple[Flip, ...]:
    return tuple(Flip(old, new) for old, new in pairs if old.status is not new.status)
