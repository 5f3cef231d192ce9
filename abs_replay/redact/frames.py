"""Streams of `application/vnd.amazon.eventstream`: texts taken out of frames, and put back in valid ones.

https://smithy.io/2.0/aws/amazon-eventstream.html. A frame is the lengths of the whole and of its headers
and their CRC-32, the headers, the payload, and the CRC-32 of all that. Bedrock puts an event's JSON into a
member `bytes` of the payload, in base64.
"""

import binascii
import re
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

from abs_replay.redact.bodies import Edit, edited

type Replace = Callable[[bytes, Sequence[int]], tuple[bytes, Sequence[int]]]

_PRELUDE = struct.Struct("!III")
_CHECKSUM = 4
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}  # of a header's value, by its type
_SIZED = (6, 7)  # bytes and text, behind two bytes of their length
_TEXT = 7
_INNER = re.compile(rb'"bytes"\s*:\s*"([A-Za-z0-9+/]*={0,2})"')


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a frame lies, its headers as they are, its payload, and what is in that."""

    start: int
    stop: int
    headers: bytes
    payload: bytes
    inner: tuple[int, int] | None  # where in the payload base64 lies that is looked into

    @property
    def plain(self) -> bytes:
        return b64decode(self.payload[slice(*self.inner)]) if self.inner else self.payload


def read(data: bytes) -> tuple[Frame, ...]:
    """The frames of a body, up to the first that is broken or cut off; none where it is no such stream."""
    found, at = list[Frame](), 0
    while (frame := _frame(data, at)) is not None:
        found.append(frame)
        at = frame.stop
    return tuple(found)


def _frame(data: bytes, at: int) -> Frame | None:
    if len(data) - at < _PRELUDE.size + _CHECKSUM:
        return None
    total, headers, checksum = _PRELUDE.unpack_from(data, at)
    stop, begin = at + total, at + _PRELUDE.size + headers
    if crc32(data[at : at + 8]) != checksum or not begin <= stop - _CHECKSUM <= len(data) - _CHECKSUM:
        return None
    payload = data[begin : stop - _CHECKSUM]
    return Frame(at, stop, data[at + _PRELUDE.size : begin], payload, _inner(payload))


def _inner(payload: bytes) -> tuple[int, int] | None:
    found = _INNER.search(payload) if payload.startswith(b"{") else None
    try:
        return found.span(1) if found and b64decode(found[1]) else None
    except binascii.Error:
        return None


def replaced(frames: Sequence[Frame], replace: Replace) -> Iterator[Edit]:
    """The edits that put what `replace` makes of all plain payloads, one a line, into the frames."""
    ends, plain = list[int](), list[bytes]()
    for frame in frames:
        plain += [frame.plain, b"\n"]
        ends.append((ends[-1] if ends else 0) + len(plain[-2]) + 1)
    joined = b"".join(plain)
    cleaned, new_ends = replace(joined, ends)
    start = 0
    for frame, end in zip(frames, new_ends, strict=True):
        text, start = cleaned[start:end], end
        if not text.endswith(b"\n"):  # its end is held back
            yield frame.start, frame.stop, b""
            continue
        headers = _headers(frame.headers, replace)
        payload = _payload(frame, text.removesuffix(b"\n"))
        if (headers, payload) != (frame.headers, frame.payload):
            yield frame.start, frame.stop, written(headers, payload)


def _payload(frame: Frame, plain: bytes) -> bytes:
    if frame.inner is None or plain == frame.plain:
        return frame.payload if frame.inner else plain
    start, stop = frame.inner
    return frame.payload[:start] + b64encode(plain) + frame.payload[stop:]


def written(headers: bytes, payload: bytes) -> bytes:
    """A frame of these headers, as they are on the wire, and this payload."""
    lengths = struct.pack("!II", _PRELUDE.size + len(headers) + len(payload) + _CHECKSUM, len(headers))
    frame = lengths + crc32(lengths).to_bytes(4) + headers + payload
    return frame + crc32(frame).to_bytes(4)


def _headers(headers: bytes, replace: Replace) -> bytes:
    """The headers, with what is replaced in those that are text."""
    edits = list[Edit]()
    try:
        for start, stop in _texts(headers):
            cleaned, _ = replace(headers[start:stop], ())
            if cleaned != headers[start:stop]:
                edits.append((start - 2, stop, len(cleaned).to_bytes(2) + cleaned))
    except (IndexError, KeyError):
        return headers
    return edited(headers, (), edits)[0]


def _texts(headers: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(headers):
        kind = headers[at + 1 + headers[at]]
        at += 2 + headers[at]
        size = int.from_bytes(headers[at : at + 2]) if kind in _SIZED else _SIZES[kind]
        at += 2 if kind in _SIZED else 0
        if kind == _TEXT:
            yield at, at + size
        at += size
