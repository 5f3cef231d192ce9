"""JSON values that follow each other in one body: lines of NDJSON, or the items of one array.

What was cut off in the middle gives the values that are whole.
"""

import json
import re
from typing import Any, Final

from abs_replay.decoders.fields import parse_or_none

_LINE_END: Final = re.compile(r"[\r\n]")  # texts may hold the other ends that Unicode has
_BLANKS: Final = re.compile(r"[\s,]*")
_BOUNDS: Final = json.JSONDecoder()  # says where a value ends; `fields` reads it


def values(text: str) -> list[Any]:
    """Give the values of a body in order; None stands for a line that is no JSON."""
    text = text.strip()
    whole = parse_or_none(text) if text[:1] in ("{", "[") else None
    if isinstance(whole, dict):
        return [whole]
    if text.startswith("["):
        return whole if isinstance(whole, list) else _items(text)
    return [parse_or_none(line) for line in _LINE_END.split(text) if line.strip()]


def _items(text: str) -> list[Any]:
    """Give the items of an array that breaks off."""
    found: list[Any] = []
    at = _after(text, 1)
    while at < len(text):
        try:
            _, end = _BOUNDS.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        found.append(parse_or_none(text[at:end]))
        at = _after(text, end)
    return found


def _after(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at
