"""Frames of `application/vnd.amazon.eventstream`, each checked by both of its checksums.

https://smithy.io/2.0/aws/amazon-eventstream.html. A frame is the lengths of the whole and of its headers
and their CRC-32, the headers, the payload, and the CRC-32 of all that. (The vendor's library reads 2 MB
a second and takes most of a second to load: this reads a recording of many such streams.)
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from zlib import crc32

_PRELUDE: Final = struct.Struct("!III")
_CHECKSUM: Final = 4  # bytes of it, behind the payload
_SIZES: Final = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # bytes of a header's value, by its type
_SIZED: Final = (6, 7)  # bytes and text, behind two bytes of their length
_TEXT: Final = 7


@dataclass(frozen=True, slots=True)
class Frame:
    """One message of a stream; `headers` are those that are text."""

    headers: Mapping[str, str]
    payload: bytes


@dataclass(frozen=True, slots=True)
class Stream:
    """The frames of a body up to the first that is broken, and what is wrong with that."""

    frames: tuple[Frame, ...]
    fault: str | None = None


class _Broken(Exception):
    """Bytes that are no frame."""


def is_stream(content_type: str, data: bytes) -> bool:
    """Say whether a body is such a stream: its first checksum fits, or its type is declared."""
    declared = "vnd.amazon.eventstream" in content_type.lower()
    return declared or (len(data) >= _PRELUDE.size and _PRELUDE.unpack_from(data)[2] == crc32(data[:8]))


def read(data: bytes) -> Stream:
    """Read a whole body. Nothing raises: what is broken ends the stream."""
    found: list[Frame] = []
    at, view = 0, memoryview(data)
    try:
        while at < len(data):
            end = _end(view, at)
            found.append(_frame(view[at:end]))
            at = end
    except _Broken as broken:
        return Stream(tuple(found), f"frame {len(found)}, at byte {at}, {broken}")
    return Stream(tuple(found))


def _end(view: memoryview, at: int) -> int:
    """Give where the frame at a byte ends, once both checksums fit."""
    if len(view) - at < _PRELUDE.size:
        raise _Broken("is cut off")
    total, headers, checksum = _PRELUDE.unpack_from(view, at)
    end: int = at + total
    if crc32(view[at : at + 8]) != checksum:
        raise _Broken("has lengths that their checksum does not fit")
    if total < _PRELUDE.size + headers + _CHECKSUM:
        raise _Broken("is shorter than its headers")
    if end > len(view):
        raise _Broken("is cut off")
    if crc32(view[at : end - _CHECKSUM]) != int.from_bytes(view[end - _CHECKSUM : end]):
        raise _Broken("has bytes that their checksum does not fit")
    return end


def _frame(view: memoryview) -> Frame:
    start = _PRELUDE.size + _PRELUDE.unpack_from(view)[1]
    return Frame(_headers(bytes(view[_PRELUDE.size : start])), bytes(view[start:-_CHECKSUM]))


@lru_cache(64)  # a stream has few kinds of frames
def _headers(data: bytes) -> Mapping[str, str]:
    try:
        return {name: value.decode() for name, kind, value in _values(data) if kind == _TEXT}
    except (IndexError, KeyError, UnicodeDecodeError):
        raise _Broken("has headers that can not be read") from None


def _values(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    at = 0
    while at < len(data):
        named = at + 1 + data[at]
        name, kind, at = data[at + 1 : named].decode(), data[named], named + 1
        size = int.from_bytes(data[at : at + 2]) if kind in _SIZED else _SIZES[kind]
        at += 2 if kind in _SIZED else 0
        if at + size > len(data):
            raise IndexError
        yield name, kind, data[at : at + size]
        at += size
