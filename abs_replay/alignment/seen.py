"""Visible steps as selectors see them (SEMANTICS A11, C1), and where each kind of them stands.

A trace has few kinds of steps: equal in actor, action and target. A selector is compared with each kind
once, however long the trace, and one of a single field with nothing but it.
"""

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from abs_replay.trace import Step

type Positions = Sequence[int]


class Seen(NamedTuple):
    """A visible step as selectors see it (A11): with its behavior's action and id, if one took it."""

    step: Step
    actor: str
    action: str
    target: str | None
    behavior: int | None = None
    id: str | None = None


class Kinds:
    """The positions of each kind of step, and by each field alone, in order.

    Those of system steps are found by kind and by actor only: a selector that does not name their
    actor does not see them (A13).
    """

    __slots__ = ("actions", "actors", "all", "targets")

    def __init__(self, steps: Sequence[Seen]) -> None:
        kinds = defaultdict[tuple[str, str, str | None], list[int]](list)
        for position, seen in enumerate(steps):
            kinds[seen.actor, seen.action, seen.target].append(position)
        self.all: Mapping[tuple[str, str, str | None], Positions] = kinds
        plain = [(kind, found) for kind, found in kinds.items() if kind[0] != "system"]
        self.actors = _merged([(actor, found) for (actor, _, _), found in kinds.items()])
        self.actions = _merged([(action, found) for (_, action, _), found in plain])
        self.targets = _merged([(target, found) for (_, _, target), found in plain])


def _merged[Field: Hashable](found: Sequence[tuple[Field, Positions]]) -> dict[Field, Positions]:
    groups: dict[Field, list[Positions]] = {}
    for value, positions in found:
        groups.setdefault(value, []).append(positions)
    return {value: in_order(of_value) for value, of_value in groups.items()}


def in_order(groups: Sequence[Positions]) -> Positions:
    """Give the positions of several kinds as one."""
    if len(groups) > 1:
        return sorted(chain.from_iterable(groups))
    return groups[0] if groups else ()
