"""Keeps what is still open, about once a second, so that a kill takes no more of it than the last second.

Cheap by taking turns: a turn ends after 10 ms, whatever is left waits for the next. What is seen open for the
first time is left until the next look, since most of it has ended by then. Of a stream only what is
new since the last time is made clean and written; a body in a content-encoding can only be read from its
beginning, so it is written whole, and the rarer the longer that took.
"""

import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from abs_replay.exchange import Body, Chunk, Exchange, header
from abs_replay.redact import Redactor
from abs_replay.store import Unfinished

EVERY_S = 0.9
LOOKS = 2  # in that time
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
    encoded: bool
    again: float  # not before that is it written whole once more
    pieces: int = 0  # of the response's body, that are on disk
    last_ms: float = -1.0  # when the last of them came; a piece may vanish into a placeholder
    bytes: int = 0


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
        self._next = time.monotonic() + EVERY_S / LOOKS
        self._look = 0
        self._turns: dict[str, int] = {}  # of what is open, the look at which it is to be kept

    def patience(self) -> float:
        """Seconds until the next turn."""
        return 0.0 if self._due else max(0.0, self._next - time.monotonic())

    def turn(self) -> None:
        """Keep some of what is due."""
        now = time.monotonic()
        if now >= self._next and not self._due:
            self._due.extend(self._whose_turn_it_is(self._opened()))
            self._next = now + EVERY_S / LOOKS
        while self._due and time.monotonic() < now + TURN_S:
            self._keep(self._due.popleft())

    def _whose_turn_it_is(self, opened: Sequence[Open]) -> list[Open]:
        self._look += 1
        turns = {each.id: self._turns.get(each.id, self._look + 1) for each in opened}
        due = [each for each in opened if turns[each.id] <= self._look]
        self._turns = turns | {each.id: self._look + LOOKS for each in due}
        return due

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
        raw = opened.unfinished(most=most)
        exchange, body, encoded = self._redactor.redact(raw), Body(), False
        if exchange.response is not None and raw.response is not None:
            encoded = header(raw.response.headers, "content-encoding") is not None
            body = exchange.response.body if encoded else _sure(exchange.response.body, raw.response.body)
            exchange = replace(exchange, response=replace(exchange.response, body=body))
        self._unfinished.put(exchange)
        took = time.monotonic() - began
        kept = self._kept[opened.id] = _Kept(rest, encoded, began + took * (PATIENCE + 1))
        if raw.response is not None:
            _count(kept, body, raw.response.body)

    def _grow(self, opened: Open, kept: _Kept) -> None:
        raw = opened.unfinished(max(0, kept.pieces - CONTEXT), MOST)
        exchange = self._redactor.redact(raw)
        if exchange.response is None or raw.response is None:
            return
        more = _after(_sure(exchange.response.body, raw.response.body), kept.last_ms)
        if more.chunks:
            self._unfinished.grow(opened.id, kept.bytes, more, exchange.ended_ms)
            _count(kept, more, raw.response.body)


def _sure(body: Body, raw: Body) -> Body:
    """Without its last piece, where the redactor has held back what may be the beginning of a secret."""
    if body.size is None or not body.cut or (raw.cut and len(body.data) == len(raw.data)):
        return body
    chunks = body.chunks[:-1]
    return Body(body.data[: _end(chunks)], chunks, raw.size)


def _after(body: Body, last_ms: float) -> Body:
    """What came after that time."""
    index = bisect_right(body.chunks, last_ms, key=lambda chunk: chunk.at_ms)
    start = _end(body.chunks[:index])
    chunks = tuple(replace(chunk, end=chunk.end - start) for chunk in body.chunks[index:])
    return Body(body.data[start:], chunks, body.size)


def _count(kept: _Kept, more: Body, raw: Body) -> None:
    """Note what is on disk now: the clean pieces, and which of the raw ones they are."""
    if not more.chunks:
        return
    before, kept.last_ms = kept.last_ms, more.chunks[-1].at_ms
    kept.pieces += sum(1 for chunk in raw.chunks if before < chunk.at_ms <= kept.last_ms)
    kept.bytes += len(more.data)


def _end(chunks: Sequence[Chunk]) -> int:
    return chunks[-1].end if chunks else 0
