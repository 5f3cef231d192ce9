"""Copies a body while it flows past."""

import time
from itertools import accumulate, takewhile

from abs_replay.exchange import Body, Chunk


class Tee:
    """A copy of one body, taken on the way; what it gives back is always what it got."""

    __slots__ = ("_fault", "_limit", "_pieces", "_size", "_start", "kept")

    def __init__(self, start: float, limit: int) -> None:
        self._start, self._limit = start, limit
        self._pieces: list[tuple[float, bytes]] = []
        self._size = self.kept = 0
        self._fault: Exception | None = None

    def __call__(self, data: bytes) -> bytes:
        # mitmproxy drops the chunk when this raises, and the client waits for ever.
        try:
            self._note(data)
        except Exception as error:
            self._fault = error
        return data

    def _note(self, data: bytes) -> None:
        if not data:  # mitmproxy's end marker
            return
        self._size += len(data)
        room = self._limit - self.kept
        if room > 0:
            self._pieces.append((time.perf_counter(), data[:room]))
            self.kept += min(len(data), room)

    @property
    def pieces(self) -> int:
        return len(self._pieces)

    def body(self, since: int = 0, most: int | None = None) -> Body:
        """Give what was copied so far, from a piece on and about `most` bytes of it.

        Raises what went wrong while copying. Another thread may copy on meanwhile.
        """
        if self._fault is not None:
            raise self._fault
        pieces = self._some(since, most)
        chunks, end = [], 0
        for at, piece in pieces:
            end += len(piece)
            chunks.append(Chunk(end, (at - self._start) * 1000))
        data = b"".join(piece for _, piece in pieces)
        return Body(data, tuple(chunks), self._size if self._size > self._limit else None)

    def _some(self, since: int, most: int | None) -> list[tuple[float, bytes]]:
        pieces = self._pieces[since:]
        if most is None:
            return pieces
        ends = accumulate(len(piece) for _, piece in pieces)
        return pieces[: sum(1 for end in takewhile(lambda end: end <= most, ends)) or 1]
