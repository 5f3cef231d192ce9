"""Server-sent events, read from a whole body, so that chunk boundaries can not matter.

https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream, with two
widenings that recorded traffic asks for: an event that the end of the body cuts off counts, and a
line `error: {...}` without `data:` (a gateway's) is an event of that name.
"""

import re
from dataclasses import dataclass

_LINE_END = re.compile("\r\n|\n|\r")
_FIELD = re.compile("(data|event|id|retry|error)?:|(data|event|id)[\r\n]")
_BOM = "\ufeff".encode()
_BLOCK = re.compile(rb"(?:[^\r\n]+(?:\r\n|\n|\r|\Z))+")  # the lines of an event, up to a blank one
_HAS_DATA = re.compile(rb"(?:\A|[\r\n])(?:data|error)(?:[:\r\n]|\Z)")


@dataclass(frozen=True, slots=True)
class Event:
    """One event; `data` joins its data lines with newlines."""

    data: str
    name: str = ""
    id: str | None = None


def is_stream(content_type: str, text: str) -> bool:
    """Say whether a body is an event stream, by its first line, else by its declared type."""
    start = text.lstrip()[:16]
    if start[:1] in ("{", "["):
        return False
    return bool(_FIELD.match(start)) or "text/event-stream" in content_type.lower()


def events(text: str) -> tuple[Event, ...]:
    """Read all events of a body."""
    found: list[Event] = []
    lines: list[str] = []
    for line in _LINE_END.split(text.removeprefix("\ufeff")):
        if line:
            lines.append(line)
            continue
        found.extend(_event(lines))
        lines.clear()
    found.extend(_event(lines))
    return tuple(found)


def ends(data: bytes) -> list[int]:
    """Give where each of those events ends, in bytes."""
    start = len(_BOM) if data.startswith(_BOM) else 0
    return [block.end() for block in _BLOCK.finditer(data, start) if _HAS_DATA.search(block[0])]


def _event(lines: list[str]) -> tuple[Event, ...]:
    data: list[str] = []
    name, last_id = "", None
    for line in lines:
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match key:
            case "data":
                data.append(value)
            case "event":
                name = value
            case "id":
                last_id = value
            case "error":
                name, data = "error", [*data, value]
    return (Event("\n".join(data), name, last_id),) if data else ()
