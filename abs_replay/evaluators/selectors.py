"""Selectors over the annotated trace (SEMANTICS C1)."""

from collections.abc import Sequence

from abs_replay.alignment.compatibility import Aliases
from abs_replay.alignment.seen import Kinds, in_order
from abs_replay.spec.rules import Selector


def same_name(wanted: str, observed: str | None, aliases: Aliases) -> bool:
    """Say whether two targets are one: equal, or one is an alias of the other (C1)."""
    if observed is None or wanted == observed:
        return wanted == observed
    return bool(aliases) and (observed in aliases.get(wanted, ()) or wanted in aliases.get(observed, ()))


def positions(selector: Selector, kinds: Kinds, aliases: Aliases) -> Sequence[int]:
    """Give every position that a selector picks, in order: each present field is equal (C1).

    A system step is seen only where its actor is named (A13).
    """
    actor, action, target = selector.actor, selector.action, selector.target
    if target is None:
        if actor is None and action is not None:
            return kinds.actions.get(action, ())
        if action is None and actor is not None:
            return kinds.actors.get(actor, ())
    elif actor is None and action is None and not aliases:
        return kinds.targets.get(target, ())
    found = [
        of_kind
        for (its_actor, its_action, its_target), of_kind in kinds.all.items()
        if (its_actor != "system" if actor is None else actor == its_actor)
        and (action is None or action == its_action)
        and (target is None or target == its_target or (aliases and same_name(target, its_target, aliases)))
    ]
    return in_order(found)
