"""Where in an exchange's bytes a place stands that a decoder named: `response.choices[0].message`, or
`response.events[3-17]` (events of a stream, lines of NDJSON, frames, items of one array; see `events`).
"""

import json
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Final

from abs_replay.decoders import sse
from abs_replay.decoders.content import request_content, response_content
from abs_replay.exchange import Exchange, header

_PLACE: Final = re.compile(r"(?:^| )(request|response)((?:[.\[].*)?)$")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|\[(\d+)(?:-(\d+))?\]")
_EVENTS: Final = re.compile(r"\.events\[(\d+)(?:-(\d+))?\]$")
_BLANKS: Final = re.compile(r"[\s,:]*")
_BLOCK: Final = re.compile(r"(?:[^\r\n]+(?:\r\n|\r|\n|$))+")  # the lines of an event, up to a blank one
_DATA: Final = re.compile(r"^(?:data|error)(?::|[\r\n]|$)", re.MULTILINE)
_LINE: Final = re.compile(r"[^\n]*\S[^\n]*")
_BOUNDS: Final = json.JSONDecoder()

type _Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Bytes:
    """A range of a body's bytes, the last not included; `unpacked` where content-encoding was undone."""

    side: str
    start: int
    end: int
    unpacked: bool = False


def locate(exchange: Exchange, at: str) -> Bytes | None:
    """Give the bytes that a place names, the whole body where it names none in it; None for no body."""
    found = _PLACE.search(at)
    side, path = found.groups() if found else ("request", "")
    content = (request_content if side == "request" else response_content)(exchange)
    if not content.data:
        return None
    message = exchange.request if side == "request" else exchange.response
    assert message is not None  # it has a body
    start, end = _in(content.data, path, header(message.headers, "content-type") or "")
    return Bytes(side, start, end, content.data is not message.body.data)


def _in(data: bytes, path: str, content_type: str) -> _Range:
    # Each byte that is no UTF-8 is one character, so that offsets can be turned back.
    text = data.decode("utf-8", "surrogateescape")
    events = _EVENTS.match(path)
    if events:
        first, last = int(events[1]), int(events[2] or events[1])
        frames = list(_frames(data)) if b"\0" in data[:4] else []
        if frames:
            return _spanning(frames, first, last) or (0, len(data))
        found = _spanning(list(_events(text, content_type)), first, last)
    else:
        found = _json(text, path) if path else None
    if found is None:
        return 0, len(data)
    start = len(text[: found[0]].encode("utf-8", "surrogateescape"))
    return start, start + len(text[found[0] : found[1]].encode("utf-8", "surrogateescape"))


def _spanning(ranges: list[_Range], first: int, last: int) -> _Range | None:
    return (ranges[first][0], ranges[last][1]) if first <= last < len(ranges) else None


def _frames(data: bytes) -> Iterator[_Range]:
    """Give the frames of an AWS event stream: each begins with its length."""
    at = 0
    while at + 12 <= len(data):
        (length,) = struct.unpack_from("!I", data, at)
        if length < 16:
            return
        yield at, min(at + length, len(data))
        at += length


def _events(text: str, content_type: str) -> Iterator[_Range]:
    if sse.is_stream(content_type, text.removeprefix("\ufeff")):
        yield from (block.span() for block in _BLOCK.finditer(text) if _DATA.search(block[0]))
    elif text.lstrip("\ufeff \t\r\n").startswith("["):
        yield from _items(text, text.index("["))
    else:
        yield from (line.span() for line in _LINE.finditer(text))


def _items(text: str, start: int) -> Iterator[_Range]:
    """Give the items of the array that begins at a place, as far as they are whole."""
    at = _after(text, start + 1)
    while at < len(text) and text[at] != "]":
        try:
            _, end = _BOUNDS.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield at, end
        at = _after(text, end)


def _members(text: str, start: int) -> Iterator[tuple[str, _Range]]:
    """Give the members of the object that begins at a place."""
    at = _after(text, start + 1)
    while at < len(text) and text[at] == '"':
        try:
            key, after = scanstring(text, at + 1)
            begin = _after(text, after)
            _, end = _BOUNDS.raw_decode(text, begin)
        except (ValueError, RecursionError):
            return
        yield key, (begin, end)
        at = _after(text, end)


def _after(text: str, at: int) -> int:
    blanks = _BLANKS.match(text, at)
    return blanks.end() if blanks else at


def _json(text: str, path: str) -> _Range | None:
    """Follow a path into JSON, as far as it leads."""
    at = _after(text, 1 if text.startswith("\ufeff") else 0)
    found: _Range | None = None
    for key, first, last in _STEP.findall(path):
        inside = _inside(text, at, key, first, last or first)
        if inside is None:
            return found
        found = inside
        at = inside[0]
    return found


def _inside(text: str, at: int, key: str, first: str, last: str) -> _Range | None:
    if key:
        members = _members(text, at) if text[at : at + 1] == "{" else ()
        return next((span for name, span in members if name == key), None)
    items = list(_items(text, at)) if text[at : at + 1] == "[" else []
    return _spanning(items, int(first), int(last))
