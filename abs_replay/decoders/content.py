"""Bodies as their sender meant them: content-encoding undone, as far as the bytes allow.

Headers lie in both directions (proxies undo gzip and keep the header), so magic bytes decide
where a format has them. What is cut short gives what there is, with a remark; nothing raises.
Codings: https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1
"""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Protocol

from abs_replay.exchange import Body, Exchange, Headers, header

LARGEST: Final = 256 * 1024 * 1024  # bytes; what unpacks to more is a bomb, and is kept as it came
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
    remarks = (f"kept cut at {len(body.data)} of {body.size} bytes",) if body.cut else ()
    decoded = unpack(header(headers, "content-encoding") or "", body.data)
    return Content(decoded.data, remarks + decoded.remarks)


def unpack(coding: str, data: bytes) -> Content:
    """Undo a content-encoding header's codings, the last one first."""
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
    if name == "identity" or not data or not data.startswith(magic):
        return Content(data)
    unpacked = _CODINGS.get(name)
    if unpacked is None:
        return Content(data, (f"content-encoding {name} is not known; the body stays packed",))
    return _attempt(name, unpacked, data)


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


def _gunzip(data: bytes) -> tuple[bytes, bool]:
    """Unpack every member of a gzip body."""
    plain = bytearray()
    while data.startswith(_GZIP):
        part, whole, data = _inflate(data, zlib.MAX_WBITS | 16)
        plain += part
        if not whole:
            return bytes(plain), False
        if len(plain) > LARGEST:
            raise _Broken("unpacks to too much")
    return bytes(plain), True


def _deflate(data: bytes) -> tuple[bytes, bool]:
    """Unpack `deflate`, which is zlib by the book and raw by some servers (RFC 9110 §8.4.1.2)."""
    try:
        plain, whole, _ = _inflate(data, zlib.MAX_WBITS)
    except _Broken:
        plain, whole, _ = _inflate(data, -zlib.MAX_WBITS)
    return plain, whole


def _inflate(data: bytes, window: int) -> tuple[bytes, bool, bytes]:
    """Unpack one member: its bytes, whether it was whole, and what stands behind it."""
    machine = zlib.decompressobj(window)
    plain = bytearray()
    try:
        # In small steps, so that what precedes a broken place is kept.
        for start in range(0, len(data), 1024):
            piece = machine.unconsumed_tail + data[start : start + 1024]
            plain += machine.decompress(piece, LARGEST + 1 - len(plain))
            if machine.eof:
                return bytes(plain), True, machine.unused_data + data[start + 1024 :]
            if len(plain) > LARGEST:
                raise _Broken("unpacks to too much")
    except zlib.error as error:
        if not plain:
            raise _Broken(str(error)) from None
    return bytes(plain), False, b""


def _brotli(data: bytes) -> tuple[bytes, bool]:
    brotli = import_module("brotli")
    machine = brotli.Decompressor()
    return _stream(machine.process, lambda: bool(machine.is_finished()), brotli.error, data)


def _zstd(data: bytes) -> tuple[bytes, bool]:
    zstd = import_module("backports.zstd")
    machine = zstd.ZstdDecompressor()
    return _stream(machine.decompress, lambda: bool(machine.eof), zstd.ZstdError, data)


def _stream(
    feed: Callable[[bytes], bytes], ended: Callable[[], bool], broken: Any, data: bytes
) -> tuple[bytes, bool]:
    plain = bytearray()
    for start in range(0, len(data), 1024):
        try:
            plain += feed(data[start : start + 1024])
        except broken as error:
            if plain:
                break
            raise _Broken(str(error)) from None
        if ended():
            return bytes(plain), True
        if len(plain) > LARGEST:
            raise _Broken("unpacks to too much")
    return bytes(plain), False


_MAGIC: Final[Mapping[str, bytes]] = {"gzip": _GZIP, "zstd": _ZSTD}
_CODINGS: Final[Mapping[str, _Unpacked]] = {
    "gzip": _gunzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
