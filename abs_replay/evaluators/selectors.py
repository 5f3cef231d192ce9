"""Selectors over the annotated trace (SEMANTICS C1)."""

from collections.abc import Iterator, Sequence

from abs_replay.alignment import Seen
from abs_replay.alignment.compatibility import Aliases
from abs_replay.spec.rules import Selector


def selects(selector: Selector, seen: Seen, aliases: Aliases) -> bool:
    """Compare each present field; a system step is seen only where its actor is named (A13)."""
    if selector.actor is None:
        if seen.actor == "system":
            return False
    elif selector.actor != seen.actor:
        return False
    if selector.action is not None and selector.action != seen.action:
        return False
    return selector.target is None or same_name(selector.target, seen.target, aliases)


def same_name(wanted: str, observed: str | None, aliases: Aliases) -> bool:
    """Say whether two targets are one: equal, or one is an alias of the other (C1)."""
    if observed is None or wanted == observed:
        return wanted == observed
    return observed in aliases.get(wanted, ()) or wanted in aliases.get(observed, ())


def selected(selector: Selector, steps: Sequence[Seen], aliases: Aliases, start: int = 0) -> Iterator[int]:
    """Give the positions that a selector picks, from `start` on."""
    for position in range(start, len(steps)):
        if selects(selector, steps[position], aliases):
            yield position


def named(selector: Selector) -> str:
    """Write a selector for a reason: `assistant calls "Order MCP"`."""
    words = [selector.actor or "anybody", selector.action or "does anything"]
    return " ".join(words + ([f'"{selector.target}"'] if selector.target else []))
