"""Bodies after an edit: where chunk ends come to lie, and what the headers say of the length."""

from collections.abc import Sequence
from dataclasses import replace

from abs_replay.exchange import Body, Chunk, Headers

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
