"""A session's turns, aligned from left to right, and what became of each behavior (A1, A2, A9, A10)."""

import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from abs_replay.alignment.closeness import nearest
from abs_replay.alignment.planning import Plan, SessionTurn, turn_after
from abs_replay.alignment.turns import CallIds, TraceTurn, TraceTurns, TurnResult, align_turn
from abs_replay.exact_json import equal
from abs_replay.judgement import Question
from abs_replay.spec.session import UNSET, Behavior
from abs_replay.trace import Step
from abs_replay.verdicts import StepStatus

NO_JUDGE = "no judge configured"


class Place(NamedTuple):
    """What became of one behavior. `position` counts in `Alignment.seen`; of one that has none, `turn`
    spans the steps where it should have been.

    `trouble` is why a criterion could not be decided (status `error`); `pending` says that a judge
    could still change this turn.
    """

    status: StepStatus
    position: int | None = None
    differs: bool = False
    near: str | None = None
    trouble: str | None = None
    turn: range = range(0)
    pending: bool = False


def aligned_turns(plan: Plan, turns: TraceTurns) -> "AlignedTurns":
    """Align; drop the first behavior that requires a skipped one, and align again until none does (A9)."""
    aligned = AlignedTurns(plan, turns)
    aligned.run()
    return aligned


class AlignedTurns:
    """The turns aligned so far. What stands before a dropped behavior does not change by it, so turns
    are aligned from left to right, and only the last one is ever aligned again."""

    def __init__(self, plan: Plan, turns: TraceTurns) -> None:
        self.plan = plan
        self.turns = turns
        self.dropped: set[int] = set()
        self.formed: list[SessionTurn] = []
        self.results: list[TurnResult] = []
        self.number_of: dict[int, int] = {}  # behavior -> its turn
        self.open_turns: set[int] = set()  # those that a judge could still change

    def run(self) -> None:
        while not self.formed or self.formed[-1].end < len(self.plan.behaviors):
            self._next_turn()
            while self.plan.requires and (dropped := self._to_drop()):
                self.dropped.update(dropped)
                self.formed.pop()  # dropping a user behavior lengthens the turn that it would have ended
                self.results.pop()
                self._next_turn()
        if self.plan.has_criteria:
            self.open_turns = self._open_turns()

    def _next_turn(self) -> None:
        number = len(self.formed)
        before = self.formed[-1] if self.formed else None
        if self.dropped:
            turn = turn_after(before, self.plan.behaviors, self.dropped)
        else:
            turn = self.plan.turns[number]
        if self.plan.requires:  # nothing else asks which turn a behavior is of
            start = before.end if before else 0
            self.number_of.update(dict.fromkeys(range(start, turn.end), number))
        self.formed.append(turn)
        calls: CallIds = self.results[-1].calls if self.results else frozenset()
        if turn.members and number < len(self.turns):
            self.results.append(align_turn(self.turns[number], self.plan, turn.members, calls))
        else:
            self.results.append(TurnResult({}, calls))

    def _to_drop(self) -> list[int]:
        """Find the first behavior, of the turn just aligned or at its end, that requires a skipped one.

        Those behind it that must go whatever the next alignment says go with it, as long as none
        stands before them whose fate is open: one after the other would come to the same.
        """
        turn, batch, is_open = self.formed[-1], list[int](), False
        for member in (*turn.members, turn.end):
            required = self.plan.requires.get(member)
            if required is None or self._skipped(member):
                continue
            if required in batch or self._is_lost(required):
                batch.append(member)
                if is_open:
                    return batch
            elif self._skipped(required):
                return batch or [member]
            elif self.plan.behaviors[required].optional:
                is_open = True
                if batch:
                    return batch
        return batch

    def _is_lost(self, behavior: int) -> bool:
        """Say whether a behavior is skipped for good: dropped, of an earlier turn, or nothing fits it."""
        if not self._skipped(behavior):
            return False
        number = self.number_of[behavior]
        if behavior in self.dropped or number < len(self.formed) - 1 or number >= len(self.turns):
            return True
        return not self.turns[number].candidates(self.plan, behavior).fit

    def _skipped(self, behavior: int) -> bool:
        if behavior in self.dropped:
            return True
        if not self.plan.behaviors[behavior].optional:
            return False
        return self._status(self.number_of[behavior], behavior)[0] is StepStatus.SKIPPED

    # -- what became of each behavior --

    def places(self) -> Iterator[Place]:
        pending = self.open_turns
        if pending and self.plan.hang_together:
            pending = set(range(min(pending), len(self.formed)))
        for number, turn in enumerate(self.formed):
            start = self.formed[number - 1].end if number else 0
            span = self.turns.span(number)
            taken = {position: member for member, position in self.results[number].positions.items()}
            for behavior in range(start, turn.end):
                yield self._place(number, behavior, span, taken, pending=number in pending)

    def _place(
        self, number: int, behavior: int, span: range, taken: Mapping[int, int], *, pending: bool
    ) -> Place:
        if behavior in self.dropped:
            return Place(StepStatus.SKIPPED, pending=pending)
        position = self.results[number].positions.get(behavior)
        if position is not None:  # nearly all, and no user's
            return Place(StepStatus.MATCHED, span.start + position, pending=pending)
        turn = self.turns[number] if number < len(self.turns) else None
        if behavior == self.formed[number].user:
            return self._user_place(turn, self.plan.behaviors[behavior])
        status, trouble = self._status(number, behavior)
        near = None
        if status is StepStatus.UNMATCHED:
            missing = f"the trace has no turn {number}"
            near = nearest(turn, self.plan, behavior, taken) if turn else missing
        return Place(status, near=near, trouble=trouble, turn=span, pending=pending)

    def _user_place(self, turn: TraceTurn | None, behavior: Behavior) -> Place:
        if turn is None or turn.user is None:
            return Place(StepStatus.MISSING)
        return Place(StepStatus.SENT, turn.start - 1, differs=_differs(behavior, turn.user))

    def _status(self, number: int, behavior: int) -> tuple[StepStatus, str | None]:
        """Say what a behavior that is not dropped and no user's came to."""
        if behavior in self.results[number].positions:
            return StepStatus.MATCHED, None
        if number < len(self.turns):
            found = self.turns[number].candidates(self.plan, behavior)
            trouble = found.trouble or (NO_JUDGE if found.questions else None)
            if trouble:
                return StepStatus.ERROR, trouble
        optional = self.plan.behaviors[behavior].optional
        return (StepStatus.SKIPPED if optional else StepStatus.UNMATCHED), None

    def _open_turns(self) -> set[int]:
        return {
            number
            for number, turn in enumerate(self.formed[: len(self.turns)])
            if any(self.turns[number].candidates(self.plan, member).questions for member in turn.members)
        }

    def questions(self) -> Iterator[Question]:
        """Give what a judge has to answer first.

        Where a user behavior hangs on another, later turns may turn out to be others: they wait.
        """
        asked: set[str] = set()
        for number in sorted(self.open_turns)[: 1 if self.plan.hang_together else None]:
            for member in self.formed[number].members:
                for question in self.turns[number].candidates(self.plan, member).questions:
                    if question.digest not in asked:
                        asked.add(question.digest)
                        yield question


def _differs(behavior: Behavior, step: Step) -> bool:
    """Say whether the user's words are others than the session's (A2)."""
    if behavior.content is UNSET:
        return False
    wanted, observed = behavior.content, step.content
    if isinstance(wanted, str) and isinstance(observed, str):
        return unicodedata.normalize("NFC", wanted).strip() != unicodedata.normalize("NFC", observed).strip()
    return not equal(wanted, observed)
