"""Headers as a cassette shows them: "name: value", or a pair where the name itself has `: `."""

from functools import lru_cache
from typing import Any

from abs_replay.cassette.document import Document, Wrong, take
from abs_replay.exchange import Headers


def header_lines(headers: Headers) -> list[str | list[str]]:
    """Show headers; `read_headers` of them are the same."""
    return [[name, value] if ": " in name else f"{name}: {value}" for name, value in headers]


def read_headers(document: Document, key: str, where: str) -> Headers:
    """Give the headers under a key; raises `Wrong`."""
    lines = take(document, key, list, where, [])
    try:
        return tuple(map(_header_line, lines))
    except (TypeError, ValueError):  # pairs, which no cache can keep, or wrong ones
        return tuple(_header(line, f"{where}.{key}[{number}]") for number, line in enumerate(lines))


def _header(line: Any, where: str) -> tuple[str, str]:
    try:
        return _header_line(line) if type(line) is str else _header_pair(*line)
    except (TypeError, ValueError):
        raise Wrong(where, 'expected "name: value", in latin-1 (RFC 9110 §5.5)') from None


# The same lines come again and again: a cassette of 1,000 exchanges has a few dozen.
@lru_cache(maxsize=4096)
def _header_line(line: str) -> tuple[str, str]:
    name, colon, value = line.partition(": ") if ": " in line else line.partition(":")
    if not colon:
        raise ValueError("no colon")
    return _header_pair(name, value)


def _header_pair(name: Any, value: Any) -> tuple[str, str]:
    if not isinstance(name, str) or not isinstance(value, str):
        raise TypeError("no text")
    (name + value).encode("latin-1")
    return name, value
