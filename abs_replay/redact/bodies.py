"""Bodies after an edit: where chunk ends come to lie, and compressed ones opened and packed anew."""

import zlib
from collections.abc import Sequence
from dataclasses import replace

from abs_replay.exchange import Body, Chunk, Headers

PLAIN_LIMIT = 64 * 1024 * 1024  # what a compressed body may come to; a larger one is not looked into

type Edit = tuple[int, int, bytes]


def edited(data: bytes, ends: Sequence[int], edits: Sequence[Edit]) -> tuple[bytes, tuple[int, ...]]:
    """Put each edit's text in place of what stands from its start to its stop; edits do not overlap."""
    pieces, at = [], 0
    for start, stop, text in edits:
        pieces += [data[at:start], text]
        at = stop
    return b"".join([*pieces, data[at:]]), tuple(_moved(end, edits) for end in ends)


def _moved(end: int, edits: Sequence[Edit]) -> int:
    """Where an end comes to lie; one inside a secret lies as far inside its placeholder, or at its end."""
    shift = 0
    for start, stop, text in edits:
        if end <= start:
            break
        shift += len(text) - (stop - start) if end >= stop else min(end - start, len(text)) - (end - start)
    return end + shift


def rebuilt(body: Body, data: bytes, ends: Sequence[int]) -> Body:
    """The body with other bytes. A chunk that vanished into a placeholder is one no more."""
    chunks: list[Chunk] = []
    for chunk, end in zip(body.chunks, ends, strict=True):
        if end > (chunks[-1].end if chunks else 0):
            chunks.append(Chunk(end, chunk.at_ms))
    size = None if body.size is None else body.size + len(data) - len(body.data)
    return replace(body, data=data, chunks=tuple(chunks), size=size)


def resized(headers: Headers, delta: int) -> Headers:
    """The headers of a body that became longer or shorter."""
    return tuple(
        (name, str(int(value) + delta) if name.lower() == "content-length" and value.isdecimal() else value)
        for name, value in headers
    )


def window_bits(encoding: str, data: bytes) -> int | None:
    """zlib's word for a content-encoding; None for one that can not be opened."""
    if encoding in ("gzip", "x-gzip"):
        return 31
    if encoding != "deflate":
        return None
    # RFC 9110 §8.4.1.2: some send a deflate stream without the zlib header that belongs to it.
    has_header = len(data) > 1 and data[0] & 15 == 8 and (data[0] * 256 + data[1]) % 31 == 0
    return 15 if has_header else -15


def inflate(data: bytes, ends: Sequence[int], bits: int) -> tuple[bytes, list[int], bool] | None:
    """Open a compressed body, whole or cut off: what is in it, where its chunks end, whether it was whole.

    None where nothing can be read of it, or it comes to too much.
    """
    opener, plain, plain_ends, at = zlib.decompressobj(bits), bytearray(), [], 0
    try:
        for end in ends:
            rest = data[at:end]
            while rest:
                if opener.eof:  # gzip members may follow each other
                    opener = zlib.decompressobj(bits)
                plain += opener.decompress(rest, PLAIN_LIMIT - len(plain) + 1)
                rest = opener.unused_data
                if len(plain) > PLAIN_LIMIT:
                    return None
            plain_ends.append(len(plain))
            at = end
    except zlib.error:
        plain_ends += [len(plain)] * (len(ends) - len(plain_ends))
    return (bytes(plain), plain_ends, opener.eof) if plain else None


def deflate(plain: bytes, ends: Sequence[int], bits: int, whole: bool) -> tuple[bytes, list[int]]:
    """Compress, so that what stood in a chunk can again be read from that chunk on."""
    packer, packed, packed_ends, at = zlib.compressobj(wbits=bits), bytearray(), [], 0
    for number, end in enumerate(ends, 1):
        packed += packer.compress(plain[at:end])
        last = number == len(ends)
        packed += packer.flush(zlib.Z_FINISH if last and whole else zlib.Z_SYNC_FLUSH)
        packed_ends.append(len(packed))
        at = end
    return bytes(packed), packed_ends
