"""How a cassette lies on the page: two-space indent, short things on one line, one event a line.

Characters that a terminal obeys or that turn the reading direction are escaped, so that a
review shows what the file says.
"""

import re
from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any

from abs_replay.json_styles import write

WIDTH = 100

# DEL and C1 controls, line separators, bidirectional marks, and halves of surrogate pairs (no UTF-8).
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


class Line(dict[str, Any]):
    """An object that stands on one line however long it is."""


def on_a_line(value: Any) -> Any:
    """Put an object on one line if it would stand there but for a single text, as a chat's messages do."""
    if not isinstance(value, dict):
        return value
    longest = max(map(len, _texts(value)), default=0)
    return Line(value) if _weight(value, WIDTH + longest) >= 0 else value


def _texts(value: Any) -> Iterator[str]:
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict | list):
            yield from _texts(item)


def lay_out(document: Any) -> str:
    """Write a JSON value as text that ends with a newline."""
    return harmless(_render(document, 0) + "\n")


def harmless(text: str) -> str:
    """Escape what a terminal obeys, as JSON does; newlines stay."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def one_line(text: str) -> str:
    """Escape what a terminal obeys, and newlines."""
    return harmless(text).replace("\n", "\\n")


def _render(value: Any, indent: int) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if not isinstance(value, dict | list) or not value or isinstance(value, Line):
        return write(value, "spaced")
    # The document's own two levels always stand open, so that every exchange begins on a new line.
    if indent >= 4 and not _holds_lines(value) and _weight(value, WIDTH - indent) >= 0:
        flat = write(value, "spaced")
        if len(flat) + indent <= WIDTH:
            return flat
    blank = " " * (indent + 2)
    if isinstance(value, dict):
        inner = [
            f"{blank}{encode_basestring(key)}: {_render(item, indent + 2)}" for key, item in value.items()
        ]
        return "{\n" + ",\n".join(inner) + "\n" + " " * indent + "}"
    inner = [blank + _render(item, indent + 2) for item in value]
    return "[\n" + ",\n".join(inner) + "\n" + " " * indent + "]"


def _weight(value: Any, room: int) -> int:
    """The room that is left behind a value at best; below 0, and not looked at further, where it is too long.

    It is cheaper than to write at every level what is too long for a line.
    """
    if isinstance(value, str):
        return room - len(value) - 2
    if not isinstance(value, dict | list):
        return room - 1
    room -= 2 * len(value)
    for item in value.items() if isinstance(value, dict) else value:
        if room < 0:
            break
        if isinstance(value, dict):
            room, item = room - len(item[0]) - 4, item[1]
        room = _weight(item, room)
    return room


def _holds_lines(value: Any) -> bool:
    return isinstance(value, list) and isinstance(value[0], Line)
