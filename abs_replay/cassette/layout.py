"""How a cassette lies on the page: two-space indent, short things on one line, one event a line.

Characters that a terminal obeys or that turn the reading direction are escaped, so that a
review shows what the file says.
"""

import re
from typing import Any

from abs_replay.json_styles import write

WIDTH = 100

# DEL and C1 controls, line separators, bidirectional marks, and halves of surrogate pairs (no UTF-8).
_UNSAFE = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)


class Line(dict[str, Any]):
    """An object that stands on one line however long it is."""


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
    flat = write(value, "spaced")
    if not isinstance(value, dict | list) or not value or isinstance(value, Line):
        return flat
    # The document's own two levels always stand open, so that every exchange begins on a new line.
    if indent >= 4 and len(flat) + indent <= WIDTH and not _holds_lines(value):
        return flat
    blank = " " * (indent + 2)
    if isinstance(value, dict):
        inner = [f"{blank}{write(key, 'spaced')}: {_render(item, indent + 2)}" for key, item in value.items()]
        return "{\n" + ",\n".join(inner) + "\n" + " " * indent + "}"
    inner = [blank + _render(item, indent + 2) for item in value]
    return "[\n" + ",\n".join(inner) + "\n" + " " * indent + "]"


def _holds_lines(value: Any) -> bool:
    return isinstance(value, list) and isinstance(value[0], Line)
