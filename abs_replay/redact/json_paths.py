"""Values in JSON by their path: where they stand in the text, so that all else keeps its bytes.

The paths are a part of JSONPath (RFC 9535): `$.user.ssn`, `messages[*].token`, `items[0]['a key']`, `$..ssn`
(at any depth), `.*`; the `$` may be left out. A path that leads to an object or an array means all in it.
Searched are bodies of JSON, of JSON a line, and the data of server-sent events.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum

type Step = str | int | Wild
type Path = tuple[Step, ...]
type Places = Iterator[tuple[int, int, bool]]  # from where to where, and whether it is text


class Wild(Enum):
    """Steps that are no name and no number."""

    EVERY = "*"
    DEEP = ".."


_STEP = re.compile(
    r"""(?P<deep>\.\.)?(?:(?:(?<=\.\.)|\.|\A)(?P<name>[^\s.\[\]'"*$]+|\*)"""
    r"""|\[(?:(?P<index>\d{1,9})|(?P<every>\*)|'(?P<single>[^']*)'|"(?P<double>[^"]*)")\])"""
)
_TOKEN = re.compile(
    rb'(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|(?P<mark>[{}\[\],:])|[^\s{}\[\],:"]++', re.DOTALL
)
_EVENT = re.compile(rb"^data:[ \t]*(?=[\[{])", re.MULTILINE)
_DEEPEST = 500


def parsed(text: str) -> Path:
    """Read a path; raises `ValueError` that says what is wrong with it."""
    at = 1 if text.startswith("$") else 0
    steps: list[Step] = []
    while at < len(text):
        found = _STEP.match(text[at:] if not steps and at == 0 else text, 0 if not steps and at == 0 else at)
        if found is None:
            raise ValueError(
                f"`{text[at:]}` is no step: write `.name`, `[0]`, `[*]`, `['a name']` or `..name`"
            )
        steps += [Wild.DEEP] if found["deep"] else []
        steps.append(_step(found))
        at = found.end()
    if not steps:
        raise ValueError("a path has a step at least: write `$.user.ssn`")
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


def values(data: bytes, paths: Sequence[Path]) -> Places:
    """Where the values stand that the paths lead to; the quotes are not part of a text."""
    if data.lstrip()[:1] in (b"{", b"["):
        yield from _values(data, 0, len(data), paths)
        return
    for event in _EVENT.finditer(data):
        end = data.find(b"\n", event.end())
        yield from _values(data, event.end(), len(data) if end < 0 else end, paths)


def _values(data: bytes, start: int, stop: int, paths: Sequence[Path]) -> Places:
    place: list[str | int] = []
    key = False  # whether a text that comes is a name
    for token in _TOKEN.finditer(data, start, stop):
        match token[0]:
            case b"{" | b"[":
                key = token[0] == b"{"
                place.append("" if key else 0)
                if len(place) > _DEEPEST:
                    return
            case b"}" | b"]":
                place = place[:-1]
                key = False
            case b",":
                key = bool(place) and isinstance(place[-1], str)
                if place and isinstance(place[-1], int):
                    place[-1] += 1
            case b":":
                key = False
            case found if key:
                place[-1] = _name(found)
            case found if found != b"null" and any(leads_to(path, place) for path in paths):
                inner = 1 if token["text"] else 0
                closed = inner if len(found) > 1 and found.endswith(b'"') else 0
                yield token.start() + inner, token.end() - closed, bool(inner)


def _name(token: bytes) -> str:
    text = token.strip(b'"')
    if b"\\" not in text:
        return text.decode("utf-8", "replace")
    import json

    try:
        return str(json.loads(b'"' + text + b'"'))
    except ValueError:
        return text.decode("utf-8", "replace")
