"""Writes frames of `application/vnd.amazon.eventstream`, for tests of what reads them."""

import base64
import json
import struct
from collections.abc import Mapping
from zlib import crc32


def frame(payload: object, headers: Mapping[str, str]) -> bytes:
    """Make one frame; a payload that is no bytes is written as JSON."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    head = b"".join(_header(name.encode(), value.encode()) for name, value in headers.items())
    lengths = struct.pack("!II", 16 + len(head) + len(data), len(head))
    checked = lengths + struct.pack("!I", crc32(lengths)) + head + data
    return checked + struct.pack("!I", crc32(checked))


def _header(name: bytes, value: bytes) -> bytes:
    return bytes([len(name)]) + name + b"\x07" + struct.pack("!H", len(value)) + value


def event(name: str, payload: object) -> bytes:
    """Make the frame of an event of that name."""
    return frame(
        payload,
        {":event-type": name, ":content-type": "application/json", ":message-type": "event"},
    )


def chunk(payload: object) -> bytes:
    """Make the frame in which InvokeModel wraps an event of the model's own."""
    return event("chunk", {"bytes": base64.b64encode(json.dumps(payload).encode()).decode(), "p": "abc"})


def exception(name: str, payload: object) -> bytes:
    """Make the frame of an exception, which ends its stream."""
    return frame(
        payload,
        {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"},
    )
