"""Headers as a cassette shows them: "name: value", or a pair where the name itself has `: `.

A program sends nearly the same ones again and again. Where an exchange before, in the same conversation, had
those of the same names in the same order, only what differs is said:

    "headers_as": "x1", "headers": ["content-length: 1234"]

are the headers of the request, or of the response, of `x1`, but for that length.
"""

from collections import Counter
from functools import lru_cache
from typing import Any

from abs_replay.cassette.document import Document, Wrong, maybe, take
from abs_replay.exchange import Channel, Headers

# What saves less is easier to read where it stands.
LEAST_SAVED = 200


def header_lines(headers: Headers) -> list[str | list[str]]:
    """Show headers; `read_headers` of them are the same."""
    return [[name, value] if ": " in name else f"{name}: {value}" for name, value in headers]


class Alike:
    """What a writer may point to: by channel, side and names, what stood first in a conversation."""

    def __init__(self) -> None:
        self._known: dict[tuple[Channel, str, tuple[str, ...]], tuple[str, Headers]] = {}

    def begin(self) -> None:
        """A conversation begins: what stands before it may move, or go."""
        self._known.clear()

    def document(self, id_: str | None, channel: Channel, side: str, headers: Headers) -> Document:
        """Show headers, by those of an earlier exchange if that saves enough; None is an id of several."""
        if not headers:
            return {}
        names = tuple(name for name, _ in headers)
        found = self._known.get((channel, side, names))
        if found is None:
            if id_ is not None:
                self._known[channel, side, names] = id_, headers
            return {"headers": header_lines(headers)}
        other = tuple(new for new, old in zip(headers, found[1], strict=True) if new != old)
        counted = Counter(name.lower() for name in names)
        saved = _length(headers) - _length(other)
        if saved < LEAST_SAVED or any(counted[name.lower()] > 1 for name, _ in other):
            return {"headers": header_lines(headers)}
        return {"headers_as": found[0], **({"headers": header_lines(other)} if other else {})}


def _length(headers: Headers) -> int:
    return sum(len(name) + len(value) for name, value in headers)


def read_said(document: Document, where: str, bases: dict[str, Headers]) -> Headers:
    """Give the headers of a request or a response, which may be said by those of an earlier one."""
    lines = read_headers(document, "headers", where)
    named = maybe(document, "headers_as", str, where)
    return lines if named is None else put_into(named, lines, where, bases)


def put_into(named: str, lines: Headers, where: str, bases: dict[str, Headers]) -> Headers:
    """Give the headers of an earlier exchange with these in place of those of their names; raises `Wrong`."""
    if named not in bases:
        what = "no exchange that stands before in this conversation, with headers here, is called"
        raise Wrong(where, f"{what} {named!r}", "headers_as")
    base, new = bases[named], {name.lower(): (name, value) for name, value in lines}
    counted = Counter(name.lower() for name, _ in base)
    for name, _ in lines:
        if counted[name.lower()] != 1 or len(new) != len(lines):
            raise Wrong(where, f"{name!r} must stand once here, and once in those of {named!r}", "headers")
    return tuple(new.get(name.lower(), (name, value)) for name, value in base) if new else base


def read_headers(document: Document, key: str, where: str) -> Headers:
    """Give the headers under a key; raises `Wrong`."""
    lines = take(document, key, list, where, [])
    try:
        return read_lines(tuple(lines))
    except (TypeError, ValueError):  # pairs, which no cache can keep, or wrong ones
        return tuple(_header(line, f"{where}.{key}[{number}]") for number, line in enumerate(lines))


# A program sends the same headers again and again, but for a few.
@lru_cache(maxsize=256)
def read_lines(lines: tuple[str, ...]) -> Headers:
    """Give the headers that these lines show; raises `ValueError`, or `TypeError` where one is no text."""
    return tuple(map(_header_line, lines))


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
