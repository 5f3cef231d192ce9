"""Selectors over the annotated trace (SEMANTICS C1).

A trace has few kinds of steps: equal in actor, action and target. A selector is compared with each kind
once, however long the trace.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from abs_replay.alignment import Seen
from abs_replay.alignment.compatibility import Aliases
from abs_replay.spec.rules import Selector


def same_name(wanted: str, observed: str | None, aliases: Aliases) -> bool:
    """Say whether two targets are one: equal, or one is an alias of the other (C1)."""
    if observed is None or wanted == observed:
        return wanted == observed
    return bool(aliases) and (observed in aliases.get(wanted, ()) or wanted in aliases.get(observed, ()))


type Kinds = Mapping[tuple[str, str, str | None], Sequence[int]]


def kinds_of(steps: Sequence[Seen]) -> Kinds:
    """Give the positions of each kind of step, in order."""
    kinds = defaultdict[tuple[str, str, str | None], list[int]](list)
    for position, seen in enumerate(steps):
        kinds[seen.actor, seen.action, seen.target].append(position)
    return kinds


def positions(selector: Selector, kinds: Kinds, aliases: Aliases) -> Sequence[int]:
    """Give every position that a selector picks, in order: each present field is equal (C1).

    A system step is seen only where its actor is named (A13).
    """
    actor, action, target = selector.actor, selector.action, selector.target
    found = [
        of_kind
        for (its_actor, its_action, its_target), of_kind in kinds.items()
        if (its_actor != "system" if actor is None else actor == its_actor)
        and (action is None or action == its_action)
        and (target is None or target == its_target or (aliases and same_name(target, its_target, aliases)))
    ]
    if len(found) > 1:
        return sorted(chain.from_iterable(found))
    return found[0] if found else ()
