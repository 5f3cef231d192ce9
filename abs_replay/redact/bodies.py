"""Bodies after an edit: where chunk ends come to lie, and what the headers say of the length."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from abs_replay.exchange import Body, Chunk, Headers
from abs_replay.redact.slices import pieces

type Edit = tuple[int, int, bytes]


def edited(data: bytes, ends: Sequence[int], edits: Sequence[Edit]) -> tuple[bytes, tuple[int, ...]]:
    """Put each edit's text in place of what stands from its start to its stop; edits do not overlap."""
    parts, at = list[bytes](), 0
    for start, stop, text in edits:
        parts += [*pieces(data, at, start), text]
        at = stop
    return b"".join([*parts, *pieces(data, at, len(data))]), tuple(_moved(ends, edits))


def _moved(ends: Sequence[int], edits: Sequence[Edit]) -> Iterator[int]:
    """Where ends come to lie; one inside a secret lies as far inside its placeholder, or at its end."""
    shift, index = 0, 0
    for end in ends:
        while index < len(edits) and end >= edits[index][1]:
            start, stop, text = edits[index]
            shift += len(text) - (stop - start)
            index += 1
        inside = 0
        if index < len(edits) and end > edits[index][0]:
            start, _, text = edits[index]
            inside = min(end - start, len(text)) - (end - start)
        yield end + shift + inside


def rebuilt(body: Body, data: bytes, ends: Sequence[int], held: int = 0) -> Body:
    """The body with other bytes, of which so many at its end are held back: it is one that was cut.

    A chunk that vanished into a placeholder is one no more.
    """
    chunks: list[Chunk] = []
    for chunk, end in zip(body.chunks, ends, strict=True):
        if end > (chunks[-1].end if chunks else 0):
            chunks.append(Chunk(end, chunk.at_ms))
    size = sized(body) + len(data) - len(body.data) + held
    return replace(
        body, data=data, chunks=tuple(chunks), size=size if held or body.size is not None else None
    )


def sized(body: Body) -> int:
    """How long a body was on the wire."""
    return len(body.data) if body.size is None else body.size


def resized(headers: Headers, delta: int) -> Headers:
    """The headers of a body that became longer or shorter."""
    return tuple(
        (name, str(int(value) + delta) if name.lower() == "content-length" and value.isdecimal() else value)
        for name, value in headers
    )
