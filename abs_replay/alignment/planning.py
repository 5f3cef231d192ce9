"""What a session says of its alignment before any trace is seen (SEMANTICS A8, A12)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from abs_replay.alignment.compatibility import Aliases, is_execution, is_tool_response, names_of
from abs_replay.alignment.groups import unordered_blocks
from abs_replay.spec.session import Behavior, Session


class SessionTurn(NamedTuple):
    """A session's turn: its user behavior and the others, the dropped left out; the next begins at `end`."""

    user: int | None
    members: Sequence[int]
    end: int


class Plan(NamedTuple):
    """What the session says before any trace is seen.

    `blocks` numbers unordered blocks; `answering` holds the tool responses that have a call of
    their target before them, and so must answer one that was matched (A12). `requires` has the
    behavior that another requires; where a user's does, the turns `hang_together`. A judge may be asked
    where the session `has_criteria`. `turns` are those of a session of which nothing is dropped.
    """

    behaviors: Sequence[Behavior]
    blocks: Mapping[int, int]
    answering: frozenset[int]
    optional: frozenset[int]
    requires: Mapping[int, int]
    hang_together: bool
    has_criteria: bool
    turns: Sequence[SessionTurn]


def plan_of(session: Session) -> Plan:
    """Give a session's plan, worked out once for the traces that follow each other."""
    return _planned(_Itself(session))


class _Itself:
    """A session as a key: equal to itself alone. It can not be hashed, having mappings."""

    __slots__ = ("session",)

    def __init__(self, session: Session) -> None:
        self.session = session

    def __hash__(self) -> int:
        return id(self.session)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.session is other.session


@lru_cache(maxsize=8)
def _planned(key: _Itself) -> Plan:
    behaviors, aliases = key.session.behaviors, key.session.aliases
    ids = {behavior.id: index for index, behavior in enumerate(behaviors) if behavior.id}
    requires = {index: ids[one.requires] for index, one in enumerate(behaviors) if one.requires is not None}
    return Plan(
        behaviors,
        unordered_blocks(behaviors),
        frozenset(_answering(behaviors, aliases)),
        frozenset(index for index, behavior in enumerate(behaviors) if behavior.optional),
        requires,
        any(behaviors[index].actor == "user" for index in requires),
        any(behavior.matches_when is not None for behavior in behaviors),
        tuple(_turns(behaviors)),
    )


def turn_after(
    before: SessionTurn | None, behaviors: Sequence[Behavior], dropped: Collection[int] = ()
) -> SessionTurn:
    """Form the turn behind another: each but turn 0, which has none before it, begins with its user."""
    start = 0 if before is None else before.end
    first = start if before is None else start + 1
    end = first
    while end < len(behaviors) and (behaviors[end].actor != "user" or end in dropped):
        end += 1
    members = [number for number in range(first, end) if number not in dropped]
    return SessionTurn(None if before is None else start, members, end)


def _turns(behaviors: Sequence[Behavior]) -> Iterator[SessionTurn]:
    turn = turn_after(None, behaviors)
    yield turn
    while turn.end < len(behaviors):
        turn = turn_after(turn, behaviors)
        yield turn


def _answering(behaviors: Sequence[Behavior], aliases: Aliases) -> Iterator[int]:
    called: set[str | None] = set()
    for index, behavior in enumerate(behaviors):
        target = behavior.target
        names = () if target is None else names_of(target, aliases)
        if is_execution(behavior):
            called.update(names or (None,))
        elif is_tool_response(behavior) and (called & {None, *names} if names else called):
            yield index
