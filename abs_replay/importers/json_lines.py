"""The line at which a value stands in a JSON text, looked up only where a problem is told."""

import re
from collections.abc import Iterator
from contextlib import suppress
from json import JSONDecoder

_PARTS = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_DECODER = JSONDecoder()


def line_of(text: str, path: str) -> int | None:
    """Give the line, from 1, of the value at a path (`steps[3].seq`), or of the nearest one around it.

    None where the path is empty, or all of the text is one line, of which nobody needs the number.
    """
    if not path or "\n" not in text.strip():
        return None
    at = _skip(text, 0)
    # A number of thousands of digits, or what is nested too deep, can not be walked over: near enough.
    with suppress(ValueError, RecursionError):
        for index, key in _PARTS.findall(path):
            found = next((start for name, start in _entries(text, at) if name == (key or int(index))), None)
            if found is None:
                break
            at = found
    return text.count("\n", 0, at) + 1


def _entries(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Every value of the object or list that begins here, with its key or number, and where it begins."""
    opened, number = text[at], 0
    at = _skip(text, at + 1)
    while opened in "{[" and at < len(text) and text[at] not in "]}":
        key: str | int = number
        if opened == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, at)
        yield key, at
        at = _skip(text, _DECODER.raw_decode(text, at)[1])
        number += 1


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,:\ufeff":
        at += 1
    return at
