"""Bodies as their sender meant them: content-encoding undone, as far as the bytes allow.

Headers lie in both directions (proxies undo gzip and keep the header), so magic bytes decide
where a format has them. What is cut short gives what there is, with a remark; nothing raises.
Codings: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, Protocol

from abs_replay.exchange import Body, Exchange, Headers, header

LARGEST: Final = 128 * 1024 * 1024  # bytes; what unpacks to more is a bomb, and is kept as it came
_STEP: Final = 1024  # bytes unpacked at once, so that what precedes a broken place is kept
_ROOM: Final = 1024 * 1024  # bytes that one step may give: brotli packs 600 kB in one
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class Content:
    """A body without its content-encoding; `remarks` say what was wrong with it."""

    data: bytes
    remarks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace").removeprefix("\ufeff")


class _Unpacked(Protocol):
    def __call__(self, data: bytes) -> tuple[bytes, bool]: ...


def request_content(exchange: Exchange) -> Content:
    """Give the request's body, decoded."""
    return _content(exchange.request.headers, exchange.request.body)


def response_content(exchange: Exchange) -> Content:
    """Give the response's body, decoded; empty where nothing came."""
    response = exchange.response
    return _content(response.headers, response.body) if response else Content(b"")


def _content(headers: Headers, body: Body) -> Content:
    decoded = unpack(header(headers, "content-encoding") or "", body.data)
    if not body.cut:
        return decoded
    return Content(decoded.data, (f"kept cut at {len(body.data)} of {body.size} bytes", *decoded.remarks))


def unpack(coding: str, data: bytes) -> Content:
    """Undo a content-encoding header's codings, the last one first."""
    if not coding and not data.startswith(_GZIP):
        return Content(data)
    return unpacked(coding, data)


@lru_cache(2)  # several decoders look at one request and one response
def unpacked(coding: str, data: bytes) -> Content:
    names = [name.strip().lower() for name in coding.split(",") if name.strip()]
    content = Content(data)
    for name in reversed(names):
        step = _undo(name, content.data)
        content = Content(step.data, content.remarks + step.remarks)
    # Sniffed last: a gzip body whose header got lost is still gzip.
    return content if not content.data.startswith(_GZIP) else _undo("gzip", content.data)


def _undo(name: str, data: bytes) -> Content:
    name = {"x-gzip": "gzip"}.get(name, name)
    magic = _MAGIC.get(name, b"")
    if name == "gzip" and _is_zlib(data):
        return _attempt(name, _deflate, data)
    if name == "identity" or not data or not data.startswith(magic):
        return Content(data)
    undone = _CODINGS.get(name)
    if undone is None:
        return Content(data, (f"content-encoding {name} is not known; the body stays packed",))
    return _attempt(name, undone, data)


def _is_zlib(data: bytes) -> bool:
    """Say whether a body begins as zlib's do (RFC 1950 §2.2), which some servers call gzip."""
    return data[:1] == b"x" and int.from_bytes(data[:2]) % 31 == 0 and len(data) > 2


def _attempt(name: str, unpacked: _Unpacked, data: bytes) -> Content:
    try:
        plain, whole = unpacked(data)
    except ImportError:
        return Content(data, (f"no library for content-encoding {name}; the body stays packed",))
    except _Broken as broken:
        return Content(data, (f"content-encoding {name}: {broken}; the body is kept as it came",))
    return Content(plain, () if whole else (f"{name} ends early; {len(plain)} bytes could be unpacked",))


class _Broken(Exception):
    """Bytes that are not what their header says."""


class _Bomb(_Broken):
    """Bytes that are, and would take the memory."""


def _gunzip(data: bytes) -> tuple[bytes, bool]:
    """Unpack every member of a gzip body."""
    plain, at, whole = bytearray(), 0, True
    while whole and data.startswith(_GZIP, at):
        whole, at = _inflate(plain, data, zlib.MAX_WBITS | 16, at)
    return bytes(plain), whole


def _deflate(data: bytes) -> tuple[bytes, bool]:
    """Unpack `deflate`, which is zlib by the book and raw by some servers (RFC 9110 §8.4.1.2)."""
    plain = bytearray()
    try:
        whole, _ = _inflate(plain, data, zlib.MAX_WBITS)
    except _Bomb:
        raise
    except _Broken:
        plain.clear()
        whole, _ = _inflate(plain, data, -zlib.MAX_WBITS)
    return bytes(plain), whole


def _inflate(plain: bytearray, data: bytes, window: int, at: int = 0) -> tuple[bool, int]:
    """Unpack one member that starts at a byte; say whether it was whole, and where it ended."""
    machine = zlib.decompressobj(window)
    try:
        for start in range(at, len(data), _STEP):
            piece = data[start : start + _STEP]
            plain += machine.decompress(piece, LARGEST + 1 - len(plain))
            _bound(plain)
            if machine.eof:
                return True, start + len(piece) - len(machine.unused_data)
    except zlib.error as error:
        if not plain:
            raise _Broken(str(error)) from None
    return False, len(data)


def _bound(plain: bytearray) -> None:
    if len(plain) > LARGEST:
        raise _Bomb("unpacks to too much")


def _brotli(data: bytes) -> tuple[bytes, bool]:
    brotli = import_module("brotli")
    machine = brotli.Decompressor()
    if not hasattr(machine, "can_accept_more_data"):
        raise ImportError("before 1.2, a kilobyte may unpack to all the memory there is")

    def feed(piece: bytes) -> bytes:
        return bytes(machine.process(piece, output_buffer_limit=_ROOM))

    return _stream(feed, machine.can_accept_more_data, machine.is_finished, brotli.error, data)


def _zstd(data: bytes) -> tuple[bytes, bool]:
    zstd = import_module("backports.zstd")
    machine = zstd.ZstdDecompressor()

    def feed(piece: bytes) -> bytes:
        return bytes(machine.decompress(piece, _ROOM))

    return _stream(feed, lambda: machine.needs_input, lambda: machine.eof, zstd.ZstdError, data)


def _stream(
    feed: Callable[[bytes], bytes],
    hungry: Callable[[], bool],
    ended: Callable[[], bool],
    broken: Any,
    data: bytes,
) -> tuple[bytes, bool]:
    """Unpack step by step; a machine that is not hungry has more to give of what it got."""
    plain = bytearray()
    try:
        for start in range(0, len(data), _STEP):
            plain += feed(data[start : start + _STEP])
            while not ended() and not hungry():
                _bound(plain)
                plain += feed(b"")
            _bound(plain)
            if ended():
                return bytes(plain), True
    except broken as error:
        if not plain:
            raise _Broken(str(error)) from None
    return bytes(plain), False


_MAGIC: Final[Mapping[str, bytes]] = {"gzip": _GZIP, "zstd": _ZSTD}
_CODINGS: Final[Mapping[str, _Unpacked]] = {
    "gzip": _gunzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
