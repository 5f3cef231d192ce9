"""Content-encodings and wide charsets opened and packed anew, chunk by chunk (RFC 9110 §8.4.1, RFC 8878).

br and zstd need libraries that come with mitmproxy; where one is absent, or bytes are not what their header
says, a body can not be looked into. A chunk's text can be read from that chunk on after packing, too.
"""

import codecs
import zlib
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NamedTuple, Protocol

PLAIN_LIMIT = 64 * 1024 * 1024  # what a compressed body may come to; a larger one is not looked into
WIDE = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")  # charsets in which ASCII is not one byte each
STEP = 1024  # bytes fed at once to libraries that can not be told when to stop


class Opened(NamedTuple):
    """What is in a compressed body, where its chunks end, and whether it was whole."""

    plain: bytes
    ends: Sequence[int]
    whole: bool


class _Opener(Protocol):
    def feed(self, data: bytes) -> bytes: ...
    def whole(self) -> bool: ...


class _Packer(Protocol):
    def add(self, data: bytes) -> bytes: ...
    def flush(self) -> bytes: ...
    def finish(self) -> bytes: ...


class _Broken(Exception):
    """Bytes that are not what their header says, or come to too much; has what came before them."""

    def __init__(self, plain: bytearray) -> None:
        super().__init__()
        self.plain = plain


class _ZlibOpener:
    def __init__(self, bits: int) -> None:
        self._bits, self._machine = bits, zlib.decompressobj(bits)

    def feed(self, data: bytes) -> bytes:
        plain = bytearray()
        while data:
            if self._machine.eof:  # gzip members may follow each other
                self._machine = zlib.decompressobj(self._bits)
            try:
                plain += self._machine.decompress(data, PLAIN_LIMIT - len(plain) + 1)
            except zlib.error as error:
                raise _Broken(plain) from error
            data = self._machine.unused_data
            if len(plain) > PLAIN_LIMIT:
                raise _Broken(plain)
        return bytes(plain)

    def whole(self) -> bool:
        return self._machine.eof


class _ZlibPacker:
    def __init__(self, bits: int) -> None:
        machine = zlib.compressobj(wbits=bits)
        self.add = machine.compress
        self.flush = lambda: machine.flush(zlib.Z_SYNC_FLUSH)
        self.finish = machine.flush


class _BrotliOpener:
    def __init__(self) -> None:
        brotli = import_module("brotli")
        self._machine, self._error = brotli.Decompressor(), brotli.error

    def feed(self, data: bytes) -> bytes:
        return _in_steps(self._machine.process, data, self._error)

    def whole(self) -> bool:
        return bool(self._machine.is_finished())


class _BrotliPacker:
    def __init__(self) -> None:
        machine = import_module("brotli").Compressor(quality=5)
        self.add, self.flush, self.finish = machine.process, machine.flush, machine.finish


class _ZstdOpener:
    def __init__(self) -> None:
        zstd = import_module("backports.zstd")
        self._machine, self._error = zstd.ZstdDecompressor(), zstd.ZstdError

    def feed(self, data: bytes) -> bytes:
        return _in_steps(self._machine.decompress, data, self._error)

    def whole(self) -> bool:
        return bool(self._machine.eof)


class _ZstdPacker:
    def __init__(self) -> None:
        machine = import_module("backports.zstd").ZstdCompressor()
        self.add, self.finish = machine.compress, machine.flush
        self.flush = lambda: machine.flush(machine.FLUSH_BLOCK)


class _WideOpener:
    def __init__(self, charset: str) -> None:
        self._machine = codecs.getincrementaldecoder(charset)()

    def feed(self, data: bytes) -> bytes:
        try:
            return self._machine.decode(data).encode()
        except UnicodeDecodeError as error:
            raise _Broken(bytearray()) from error

    def whole(self) -> bool:
        return not self._machine.getstate()[0]


class _WidePacker:
    def __init__(self, charset: str) -> None:
        self._charset, self._machine = charset, codecs.getincrementaldecoder("utf-8")("replace")
        self.flush = self.finish = bytes  # nothing is kept back

    def add(self, data: bytes) -> bytes:
        return self._machine.decode(data).encode(self._charset)


def _in_steps(feed: Callable[[bytes], bytes], data: bytes, broken: type[Exception]) -> bytes:
    plain = bytearray()
    for start in range(0, len(data), STEP):
        try:
            plain += feed(data[start : start + STEP])
        except (broken, EOFError) as error:
            raise _Broken(plain) from error
        if len(plain) > PLAIN_LIMIT:
            raise _Broken(plain)
    return bytes(plain)


def unpacked(coding: str, data: bytes, ends: Sequence[int]) -> Opened | None:
    """Open a compressed body, whole or cut off; None where nothing can be read of it."""
    plain, plain_ends, at = bytearray(), list[int](), 0
    try:
        opener = _opener(coding, data)
        if opener is None:
            return None
        for end in ends:
            plain += opener.feed(data[at:end])
            if len(plain) > PLAIN_LIMIT:
                return None
            plain_ends.append(len(plain))
            at = end
        whole = opener.whole()
    except ImportError:
        return None
    except _Broken as broken:
        plain += broken.plain
        if len(plain) > PLAIN_LIMIT:
            return None
        plain_ends += [len(plain)] * (len(ends) - len(plain_ends))
        whole = False
    return Opened(bytes(plain), plain_ends, whole) if plain else None


def packed(coding: str, data: bytes, opened: Opened) -> tuple[bytes, list[int]]:
    """Compress what was opened of `data`, perhaps edited since: the bytes, and where its chunks end."""
    packer, wire, wire_ends, at = _packer(coding, data), bytearray(), list[int](), 0
    for number, end in enumerate(opened.ends, 1):
        wire += packer.add(opened.plain[at:end])
        wire += packer.finish() if number == len(opened.ends) and opened.whole else packer.flush()
        wire_ends.append(len(wire))
        at = end
    return bytes(wire), wire_ends


def _opener(coding: str, data: bytes) -> _Opener | None:
    if coding in WIDE:
        return _WideOpener(coding)
    if coding in ("br", "zstd"):
        return _BrotliOpener() if coding == "br" else _ZstdOpener()
    bits = _window_bits(coding, data)
    return None if bits is None else _ZlibOpener(bits)


def _packer(coding: str, data: bytes) -> _Packer:
    if coding in WIDE:
        return _WidePacker(coding)
    if coding in ("br", "zstd"):
        return _BrotliPacker() if coding == "br" else _ZstdPacker()
    return _ZlibPacker(_window_bits(coding, data) or zlib.MAX_WBITS)


def _window_bits(coding: str, data: bytes) -> int | None:
    """zlib's word for a content-encoding; None for one that it does not know."""
    if coding in ("gzip", "x-gzip"):
        return zlib.MAX_WBITS | 16
    if coding != "deflate":
        return None
    # RFC 9110 §8.4.1.2: some send a deflate stream without the zlib header that belongs to it.
    has_header = len(data) > 1 and data[0] & 15 == 8 and (data[0] * 256 + data[1]) % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS
