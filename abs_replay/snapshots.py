"""Keeps what is still open, about once a second, so that a kill takes no more of it than the last second.

Cheap by taking turns: a turn ends after 10 ms, whatever is left waits for the next. Of a stream only what is
new since the last time is made clean and written; a body in a content-encoding can only be read from its
beginning, so it is written whole, and the rarer the longer that took.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from abs_replay.exchange import Body, Chunk, Exchange, header
from abs_replay.redact import Redactor
from abs_replay.store import Unfinished

EVERY_S = 1.0
TURN_S = 0.01
CONTEXT = 8  # pieces that were written already and are read again: a secret may go on from there
MOST = 1 << 20  # bytes of a body at a time
PATIENCE = 20  # times as long as it took to write an exchange whole, until it is written whole again


class Open(Protocol):
    """An exchange that has not ended; any thread may ask it."""

    @property
    def id(self) -> str: ...

    def version(self) -> tuple[object, int]:
        """How many pieces the body of the response has, after what stands for all the rest."""

    def unfinished(self, since: int | None = None, most: int | None = None) -> Exchange:
        """As far as it came, of the response's body about `most` bytes; with `since`, of the bodies only
        that of the response, from that piece on."""


@dataclass(slots=True)
class _Kept:
    rest: object
    pieces: int
    bytes: int
    encoded: bool
    again: float


class Snapshots:
    """What is open in one recording, kept in turns, by one thread."""

    def __init__(
        self,
        unfinished: Unfinished,
        redactor: Redactor,
        opened: Callable[[], Sequence[Open]],
        complain: Callable[[str], None],
    ) -> None:
        self._unfinished, self._redactor, self._opened = unfinished, redactor, opened
        self._complain = complain
        self._kept: dict[str, _Kept] = {}
        self._due: deque[Open] = deque()
        self._next = time.monotonic() + EVERY_S

    def patience(self) -> float:
        """Seconds until the next turn."""
        return 0.0 if self._due else max(0.0, self._next - time.monotonic())

    def turn(self) -> None:
        """Keep some of what is due."""
        now = time.monotonic()
        if now >= self._next and not self._due:
            self._due.extend(self._opened())
            self._next = now + EVERY_S
        while self._due and time.monotonic() < now + TURN_S:
            self._keep(self._due.popleft())

    def ended(self, ids: Iterable[str]) -> None:
        """These are kept whole now."""
        try:
            self._unfinished.drop(id_ for id_ in ids if self._kept.pop(id_, None))
        except OSError as error:
            self._complain(f"{self._unfinished.path} can not be written: {error.strerror or error}")

    def close(self) -> None:
        self._unfinished.close()

    def _keep(self, opened: Open) -> None:
        try:
            self._keep_what_is_new(opened)
        except Exception as error:  # the exchange itself is to come; this was for a kill before that
            self._kept.pop(opened.id, None)
            why = error.strerror if isinstance(error, OSError) else repr(error)
            self._complain(f"what is still open can not be kept in {self._unfinished.path}: {why}")

    def _keep_what_is_new(self, opened: Open) -> None:
        rest, pieces = opened.version()
        kept = self._kept.get(opened.id)
        if kept is None:
            self._put(opened, rest, MOST)
        elif kept.rest != rest or (kept.encoded and kept.pieces != pieces):
            if time.monotonic() >= kept.again:
                self._put(opened, rest, None if kept.encoded else MOST)
        elif kept.pieces != pieces:
            self._grow(opened, kept)

    def _put(self, opened: Open, rest: object, most: int | None) -> None:
        began = time.monotonic()
        exchange = self._redacted(opened.unfinished(most=most))
        self._unfinished.put(exchange)
        ended = time.monotonic()
        body, encoded = Body(), False
        if exchange.response is not None:
            body = exchange.response.body
            encoded = header(exchange.response.headers, "content-encoding") is not None
        again = ended + (ended - began) * PATIENCE
        self._kept[opened.id] = _Kept(rest, len(body.chunks), len(body.data), encoded, again)

    def _grow(self, opened: Open, kept: _Kept) -> None:
        since = max(0, kept.pieces - CONTEXT)
        exchange = self._redacted(opened.unfinished(since, MOST))
        if exchange.response is None:
            return
        more = _after(exchange.response.body, kept.pieces - since)
        if more.chunks:
            self._unfinished.grow(opened.id, kept.bytes, more, exchange.ended_ms)
            kept.pieces += len(more.chunks)
            kept.bytes += len(more.data)

    def _redacted(self, exchange: Exchange) -> Exchange:
        return self._redactor.redact(exchange)


def _after(body: Body, pieces: int) -> Body:
    """What comes after so many pieces; what is no whole piece is left for the next time."""
    start = body.chunks[pieces - 1].end if pieces else 0
    chunks = tuple(replace(chunk, end=chunk.end - start) for chunk in body.chunks[pieces:])
    return Body(body.data[start : start + _end(chunks)], chunks, body.size)


def _end(chunks: Sequence[Chunk]) -> int:
    return chunks[-1].end if chunks else 0
