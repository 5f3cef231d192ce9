"""Paths to values in JSON: a part of JSONPath (RFC 9535).

`$.user.ssn`, `messages[*].token`, `items[0]['a key']`, `$..ssn` (at any depth), `.*`; the `$` may be left
out. A path that leads to an object or an array means all that is in it.
"""

import re
from collections.abc import Sequence
from enum import Enum

type Step = str | int | Wild
type Path = tuple[Step, ...]


class Wild(Enum):
    """Steps that are no name and no number."""

    EVERY = "*"
    DEEP = ".."


FORMS = "`.name`, `[0]`, `[*]`, `['a name']` or `..name`"
_STEP = re.compile(
    r"""(?P<deep>\.(?=\.)|\.\.(?=\[))?(?:\.(?P<name>[^\s.\[\]'"*$]+|\*)"""
    r"""|\[(?:(?P<index>\d{1,9})|(?P<every>\*)|'(?P<single>[^']*)'|"(?P<double>[^"]*)")\])"""
)


def parsed(text: str) -> Path:
    """Read a path; raises `ValueError` that says what is wrong with it."""
    rest = text.removeprefix("$")
    rest = rest if rest.startswith((".", "[")) else f".{rest}"
    steps: list[Step] = []
    while rest:
        found = _STEP.match(rest)
        if found is None:
            raise ValueError(f"`{rest}` is no step: write {FORMS}")
        steps += [Wild.DEEP, _step(found)] if found["deep"] else [_step(found)]
        rest = rest[found.end() :]
    return tuple(steps)


def _step(found: re.Match[str]) -> Step:
    if found["index"]:
        return int(found["index"])
    if found["every"] or found["name"] == "*":
        return Wild.EVERY
    return next(name for name in (found["name"], found["single"], found["double"]) if name is not None)


def leads_to(path: Path, place: Sequence[str | int]) -> bool:
    """Whether a path leads to a place, or to what it is in."""
    if not path:
        return True
    if path[0] is Wild.DEEP:
        return any(leads_to(path[1:], place[at:]) for at in range(len(place)))
    if not place or (path[0] is not Wild.EVERY and path[0] != place[0]):
        return False
    return leads_to(path[1:], place[1:])
