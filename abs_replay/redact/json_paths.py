"""Values in JSON by their path: where they stand in the text, so that all else keeps its bytes.

Searched are bodies of JSON, of JSON a line, and the data of server-sent events.
"""

import json
import re
from collections.abc import Iterator, Sequence

from abs_replay.spec.paths import Path, leads_to

type Places = Iterator[tuple[int, int, bool]]  # from where to where, and whether it is text

_TOKEN = re.compile(
    rb'(?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z))|(?P<mark>[{}\[\],:])|[^\s{}\[\],:"]++', re.DOTALL
)
_EVENT = re.compile(rb"^data:[ \t]*(?=[\[{])", re.MULTILINE)
_DEEPEST = 500


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
    try:
        return str(json.loads(b'"' + text + b'"'))
    except ValueError:
        return text.decode("utf-8", "replace")
