"""Behaviors against steps: what matched, what did not, and how selectors see the trace (SEMANTICS 3).

`align` is pure. The n-th turn of a session meets the n-th turn of a trace; `compatibility` says
which steps a behavior could take, `best` which it takes, `turns` adds the optional ones, and here
behaviors that require a skipped one are dropped until nothing more is.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from abs_replay.alignment.closeness import nearest
from abs_replay.alignment.compatibility import category
from abs_replay.alignment.turns import CallIds, Plan, TraceTurn, TurnResult, align_turn, plan_of, split
from abs_replay.exact_json import equal
from abs_replay.judgement import Answer, Question
from abs_replay.spec.session import UNSET, Behavior, Session
from abs_replay.trace import Step, Trace, Visibility
from abs_replay.verdicts import StepStatus

NO_JUDGE = "no judge configured"


@dataclass(frozen=True, slots=True)
class Seen:
    """A visible step as selectors see it (A11): with its behavior's action and id, if one took it."""

    step: Step
    actor: str
    action: str
    target: str | None
    behavior: int | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """What became of one behavior. `position` counts in `Alignment.seen`, `turn` spans it there.

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


@dataclass(frozen=True, slots=True)
class Alignment:
    """One place a behavior; the visible steps, annotated; the `seq` of those that nobody took."""

    places: tuple[Place, ...]
    seen: tuple[Seen, ...]
    extra: tuple[int, ...]
    questions: tuple[Question, ...] = ()

    def step_of(self, behavior: int) -> Seen | None:
        position = self.places[behavior].position
        return None if position is None else self.seen[position]


def align(trace: Trace, session: Session, answers: Mapping[str, Answer] | None = None) -> Alignment:
    """Align a trace with a session; `answers` are a judge's, by question digest (A7)."""
    steps = tuple(step for step in trace.steps if step.visibility is not Visibility.INTERNAL)
    turns = split(steps, session.aliases, answers or {})
    state = _Aligner(plan_of(session.behaviors, session.aliases), turns)
    state.run()
    places = tuple(state.places())
    seen = _annotated(steps, places, session.behaviors)
    extra = tuple(one.step.seq for one in seen if one.behavior is None and one.actor != "system")
    return Alignment(places, seen, extra, tuple(state.questions()))


@dataclass(slots=True)
class _SessionTurn:
    """A session's turn as it stands now: its user behavior and the others, the dropped left out."""

    user: int | None
    members: list[int]
    end: int


@dataclass(slots=True)
class _Aligner:
    plan: Plan
    turns: Sequence[TraceTurn]
    dropped: set[int] = field(default_factory=set)
    formed: list[_SessionTurn] = field(default_factory=list)
    results: list[TurnResult] = field(default_factory=list)
    number_of: dict[int, int] = field(default_factory=dict)  # behavior -> its turn

    def run(self) -> None:
        """Align turn by turn; drop the first that requires a skipped one, and go on from there (A9).

        What stands before the dropped one does not change by it, so turns before it are kept.
        """
        ids = {behavior.id: index for index, behavior in enumerate(self.plan.behaviors) if behavior.id}
        requires = {
            index: ids[behavior.requires]
            for index, behavior in enumerate(self.plan.behaviors)
            if behavior.requires is not None
        }
        while not self.formed or self.formed[-1].end < len(self.plan.behaviors):
            self._next_turn()
            dropped = self._first_to_drop(requires)
            while dropped is not None:
                self._drop(dropped)
                self._next_turn()
                dropped = self._first_to_drop(requires)

    def _next_turn(self) -> None:
        start = self.formed[-1].end if self.formed else 0
        behaviors = self.plan.behaviors
        opens = bool(self.formed)
        end = start + opens
        while end < len(behaviors) and (behaviors[end].actor != "user" or end in self.dropped):
            end += 1
        members = [n for n in range(start + opens, end) if n not in self.dropped]
        number = len(self.formed)
        self.number_of.update(dict.fromkeys(range(start, end), number))
        self.formed.append(_SessionTurn(start if opens else None, members, end))
        calls: CallIds = self.results[-1].calls if self.results else frozenset()
        if number < len(self.turns):
            self.results.append(align_turn(self.turns[number], self.plan, members, calls))
        else:
            self.results.append(TurnResult({}, calls))

    def _first_to_drop(self, requires: Mapping[int, int]) -> int | None:
        """Find the first behavior of the turn just aligned, or its end, that requires a skipped one."""
        turn = self.formed[-1]
        following = [turn.end] if turn.end < len(self.plan.behaviors) else []
        for member in (*turn.members, *following):
            if member in requires and not self._skipped(member) and self._skipped(requires[member]):
                return member
        return None

    def _skipped(self, behavior: int) -> bool:
        if behavior in self.dropped:
            return True
        if not self.plan.behaviors[behavior].optional:
            return False
        return self._status(self.number_of[behavior], behavior)[0] is StepStatus.SKIPPED

    def _drop(self, behavior: int) -> None:
        """Take a behavior out and take back the turn that it changes: its own, or the one it would end."""
        self.dropped.add(behavior)
        self.formed.pop()
        self.results.pop()

    # -- what became of each behavior --

    def places(self) -> Iterator[Place]:
        pending = self._open_turns()
        if pending and self._turns_hang_together():
            pending = set(range(min(pending), len(self.formed)))
        for number, turn in enumerate(self.formed):
            start = self.formed[number - 1].end if number else 0
            span = self.turns[number].span if number < len(self.turns) else range(0)
            taken = {position: member for member, position in self.results[number].positions.items()}
            for behavior in range(start, turn.end):
                yield self._place(number, behavior, span, taken, pending=number in pending)

    def _place(
        self, number: int, behavior: int, span: range, taken: Mapping[int, int], *, pending: bool
    ) -> Place:
        if behavior in self.dropped:
            return Place(StepStatus.SKIPPED, turn=span, pending=pending)
        turn = self.turns[number] if number < len(self.turns) else None
        if behavior == self.formed[number].user:
            return self._user_place(turn, self.plan.behaviors[behavior], span)
        position = self.results[number].positions.get(behavior)
        if position is not None:
            return Place(StepStatus.MATCHED, span.start + position, turn=span, pending=pending)
        status, trouble = self._status(number, behavior)
        near = None
        if status is StepStatus.UNMATCHED:
            missing = f"the trace has no turn {number}"
            near = nearest(turn, self.plan, behavior, taken) if turn else missing
        return Place(status, near=near, trouble=trouble, turn=span, pending=pending)

    def _user_place(self, turn: TraceTurn | None, behavior: Behavior, span: range) -> Place:
        if turn is None or turn.user is None:
            return Place(StepStatus.MISSING, turn=span)
        return Place(StepStatus.SENT, turn.start - 1, differs=_differs(behavior, turn.user), turn=span)

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
        for number in sorted(self._open_turns())[: 1 if self._turns_hang_together() else None]:
            for member in self.formed[number].members:
                for question in self.turns[number].candidates(self.plan, member).questions:
                    if question.digest not in asked:
                        asked.add(question.digest)
                        yield question

    def _turns_hang_together(self) -> bool:
        return any(behavior.actor == "user" and behavior.requires for behavior in self.plan.behaviors)


def _differs(behavior: Behavior, step: Step) -> bool:
    """Say whether the user's words are others than the session's (A2)."""
    if behavior.content is UNSET:
        return False
    wanted, observed = behavior.content, step.content
    if isinstance(wanted, str) and isinstance(observed, str):
        return unicodedata.normalize("NFC", wanted).strip() != unicodedata.normalize("NFC", observed).strip()
    return not equal(wanted, observed)


def _annotated(
    steps: Sequence[Step], places: Sequence[Place], behaviors: Sequence[Behavior]
) -> tuple[Seen, ...]:
    """Give each step its first taker's action and id, and verbs their plain form otherwise (A11)."""
    takers: dict[int, int] = {}
    for index, place in enumerate(places):
        if place.position is not None:
            takers.setdefault(place.position, index)
    return tuple(_seen(step, takers.get(position), behaviors) for position, step in enumerate(steps))


def _seen(step: Step, taker: int | None, behaviors: Sequence[Behavior]) -> Seen:
    kind = category(step.action)
    action = step.action
    if taker is not None and (kind in ("communication", "execution") or step.actor == "user"):
        action = behaviors[taker].action
    elif step.actor == "user":
        action = "says"
    elif step.actor == "assistant" and kind in ("communication", "execution"):
        action = "responds" if kind == "communication" else "calls"
    return Seen(step, step.actor, action, step.target, taker, None if taker is None else behaviors[taker].id)
