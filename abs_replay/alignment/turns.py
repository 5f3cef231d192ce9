"""One turn of a session against one turn of a trace (SEMANTICS A8, A9, A12)."""

from collections.abc import Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

from abs_replay.alignment.best import Positions, Row, best_alignment
from abs_replay.alignment.compatibility import (
    Aliases,
    Candidates,
    TurnIndex,
    is_call,
    is_execution,
    is_tool_response,
)
from abs_replay.alignment.groups import parallel_blocks
from abs_replay.alignment.masks import bits
from abs_replay.alignment.planning import Plan
from abs_replay.judgement import Answer
from abs_replay.trace import Step

type Found = Mapping[int, int]  # behavior -> the position in its turn that it took
type CallIds = frozenset[str | None]  # of calls that were matched; None is a call without an id


class Calls(NamedTuple):
    """The calls that responses of one turn answer, numbered (A12; see `best.Positions`).

    Number 0 is any call without an id, which any response may answer. `without_id` are the
    responses that have none themselves: they may answer any call.
    """

    number: Mapping[str | None, int]
    gives: tuple[int, ...]
    uses: tuple[int, ...]
    answers: tuple[int, ...]
    without_id: int


def calls_of(steps: Sequence[Step]) -> Calls:
    number: dict[str | None, int] = {None: 0}
    answers, without_id, uses = [0], 0, [0] * len(steps)
    for position, step in enumerate(steps):
        if is_tool_response(step) and step.call_id is None:
            without_id |= 1 << position
        elif is_tool_response(step):
            if step.call_id not in number:
                number[step.call_id] = len(answers)
                answers.append(0)
            answers[number[step.call_id]] |= 1 << position
            answers[0] |= 1 << position
            uses[position] = 1 << number[step.call_id]
    gives = (1 << number[step.call_id] if is_call(step) and step.call_id in number else 0 for step in steps)
    return Calls(number, tuple(gives), tuple(uses), tuple(answers), without_id)


class TraceTurn:
    """One turn of the trace: its user step, and the visible steps behind it, from position `start` on."""

    def __init__(self, user: Step | None, start: int, index: TurnIndex) -> None:
        self.user = user
        self.start = start
        self.index = index
        self.steps = index.steps
        self._candidates: dict[int, Candidates] = {}
        self._required: dict[tuple[object, ...], Found] = {}

    @cached_property
    def parallel(self) -> tuple[int, ...]:
        return parallel_blocks(self.steps)

    @cached_property
    def calls(self) -> Calls:
        return calls_of(self.steps)

    def candidates(self, plan: Plan, behavior: int) -> Candidates:
        if behavior not in self._candidates:
            self._candidates[behavior] = self.index.candidates(plan.behaviors[behavior])
        return self._candidates[behavior]

    def required(self, plan: Plan, members: Sequence[int], calls: CallIds) -> Found:
        """Give the position of each required behavior that matches (A8); worked out once a set."""
        rows = tuple(member for member in members if member not in plan.optional)
        optional_calls = [m for m in members if m in plan.optional and is_execution(plan.behaviors[m])]
        key = rows, tuple(optional_calls), calls
        if key not in self._required:
            self._required[key] = _best(self, plan, members, rows, calls)
        return self._required[key]


class TraceTurns:
    """A trace's turns (A1): split at the user's steps, what precedes the first one being turn 0.

    A turn is indexed when it is first asked for: those that the session does not have never are.
    """

    def __init__(self, steps: Sequence[Step], aliases: Aliases, answers: Mapping[str, Answer]) -> None:
        self._steps = steps
        self._aliases = aliases
        self._answers = answers
        self._starts = [0, *(n + 1 for n, step in enumerate(steps) if step.actor == "user")]
        self._turns: dict[int, TraceTurn] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> TraceTurn:
        if number not in self._turns:
            self._turns[number] = self._turn(number)
        return self._turns[number]

    def span(self, number: int) -> range:
        """Give the positions of a turn's steps among all visible ones; none of a turn that is missing."""
        if number >= len(self._starts):
            return range(0)
        last = number + 1 == len(self._starts)
        return range(self._starts[number], len(self._steps) if last else self._starts[number + 1] - 1)

    def _turn(self, number: int) -> TraceTurn:
        span = self.span(number)
        steps = self._steps[span.start : span.stop]
        user = self._steps[span.start - 1] if number else None
        index = TurnIndex(steps, self._aliases, self._answers)
        return TraceTurn(user, span.start, index)


class TurnResult(NamedTuple):
    """The position in its turn of each behavior that matched, and the calls open after the turn."""

    positions: Mapping[int, int]
    calls: CallIds


def align_turn(turn: TraceTurn, plan: Plan, members: Sequence[int], calls: CallIds) -> TurnResult:
    """Align the behaviors `members` (no user among them), `calls` being open from earlier turns."""
    required = turn.required(plan, members, calls)
    positions = _with_optionals(turn, plan, members, required, calls)
    ids = {turn.steps[at].call_id for member, at in positions.items() if is_execution(plan.behaviors[member])}
    answered = {turn.steps[at].call_id for member, at in required.items() if member in plan.answering}
    return TurnResult(positions, (calls | ids) - (answered - {None}))


# -- required behaviors --


def _best(turn: TraceTurn, plan: Plan, members: Sequence[int], rows: Sequence[int], calls: CallIds) -> Found:
    if len(rows) == 1 and rows[0] not in plan.answering:  # nothing competes with it
        position = next(bits(turn.candidates(plan, rows[0]).fit), None)
        return {} if position is None else {rows[0]: position}
    known = turn.calls
    given = sum(1 << known.number[call] for call in calls if call in known.number)
    positions = Positions(len(turn.steps), turn.parallel, known.gives, known.uses, known.answers, given)
    found = best_alignment(_rows(turn, plan, members, given), positions)
    return {row: position for row, position in zip(rows, found, strict=True) if position is not None}


def _rows(turn: TraceTurn, plan: Plan, members: Sequence[int], given: int) -> list[Row]:
    """Describe the required among the members; a response only fits where its call can be taken.

    Required behaviors are aligned first (A9), so a response to an optional call has to trust that
    the call will be taken: what such calls could give counts as free.
    """
    rows: list[Row] = []
    callable_, optional = 0, 0
    free, answering = turn.calls.without_id, _either(turn.calls.answers, given)
    for member in members:
        behavior, fit = plan.behaviors[member], turn.candidates(plan, member).fit
        if plan.answering and is_execution(behavior) and behavior.optional:
            free |= _either(turn.calls.answers, _either(turn.calls.gives, fit & ~optional))
            optional |= fit
        elif plan.answering and is_execution(behavior):
            answering |= _either(turn.calls.answers, _either(turn.calls.gives, fit & ~callable_))
            callable_ |= fit
        if behavior.optional:
            continue
        if member in plan.answering:
            rows.append(Row(fit & (free | answering), plan.blocks.get(member), needs_call=True, free=free))
        else:
            rows.append(Row(fit, plan.blocks.get(member)))
    return rows


def _either(masks: Sequence[int], chosen: int) -> int:
    return reduce(or_, (masks[number] for number in bits(chosen)), 0)


# -- optional behaviors --


def _with_optionals(
    turn: TraceTurn, plan: Plan, members: Sequence[int], required: Mapping[int, int], calls: CallIds
) -> dict[int, int]:
    """Add each optional at the earliest step between its neighbours, an untaken one first (A9)."""
    if plan.optional.isdisjoint(members):
        return dict(required)
    taken = sum(1 << position for position in required.values())
    found, ids = dict[int, int](), set(calls)
    behind = _first_behind(members, required)
    floor = 0
    for member in members:
        position = required.get(member)
        if plan.behaviors[member].optional:
            block = plan.blocks.get(member)
            low, high = (
                (floor, behind[member])
                if block is None
                else _outside(plan, block, members, member, found, required)
            )
            allowed = turn.candidates(plan, member).fit & (-1 << low)
            allowed &= -1 if high is None else (2 << high) - 1
            if member in plan.answering and None not in ids:
                allowed = _answering_one_of(turn, allowed, ids)
            position = next(bits(allowed & ~taken), next(bits(allowed), None))
        if position is not None:
            found[member] = position
            floor = max(floor, position)
            if is_execution(plan.behaviors[member]):
                ids.add(turn.steps[position].call_id)
    return found


def _first_behind(members: Sequence[int], required: Mapping[int, int]) -> dict[int, int | None]:
    """Give for each member the earliest position that a required one behind it took."""
    behind: dict[int, int | None] = {}
    first: int | None = None
    for member in reversed(members):
        behind[member] = first
        if member in required:
            first = required[member] if first is None else min(first, required[member])
    return behind


def _outside(
    plan: Plan,
    block: int,
    members: Sequence[int],
    member: int,
    found: Mapping[int, int],
    required: Mapping[int, int],
) -> tuple[int, int | None]:
    """Bound an optional of an unordered block by its neighbours outside the block alone (A12)."""
    others = [other for other in members if plan.blocks.get(other) != block]
    low = max((found[other] for other in others if other < member and other in found), default=0)
    high = min((required[other] for other in others if other > member and other in required), default=None)
    return low, high


def _answering_one_of(turn: TraceTurn, mask: int, ids: set[str | None]) -> int:
    return sum(1 << n for n in bits(mask) if turn.steps[n].call_id is None or turn.steps[n].call_id in ids)
