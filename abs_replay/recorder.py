"""Keeps what is put: a queue, a thread that takes secrets out and writes, and a spool for bad times.

`put` never waits and never raises; an exchange that has ended is on disk within 250 ms. The thread
opens the store for a second at a time at most, so that others can read it in between.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread

from abs_replay.errors import StoreError, StoreLocked
from abs_replay.exchange import Body, Chunk, Exchange, Outcome, Recording, header
from abs_replay.redact import Redactor
from abs_replay.store import Spool, Store

BATCH_S = 0.05  # what comes within this time becomes one transaction; readers try every 20 ms
BATCH_SIZE = 500
OPEN_S = 1.0  # at most; then readers get in for the time of a batch
LINGER_S = 0.2  # the file stays open for more: opening it costs 60 ms of processor time
LOCK_S = 0.15  # then the spool

STREAMS = ("text/event-stream", "application/x-ndjson", "application/vnd.amazon.eventstream")

type Made = Exchange | Callable[[], Exchange]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a recording came to. `errors` had no whole or no good answer; `lost` were not kept."""

    exchanges: int = 0
    streams: int = 0
    bytes: int = 0
    errors: int = 0
    lost: int = 0
    spooled: int = 0

    def plus(self, exchanges: Sequence[Exchange], spooled: bool) -> "Summary":
        return replace(
            self,
            exchanges=self.exchanges + len(exchanges),
            streams=self.streams + sum(map(is_stream, exchanges)),
            bytes=self.bytes + sum(map(size, exchanges)),
            errors=self.errors + sum(map(is_error, exchanges)),
            spooled=self.spooled + spooled * len(exchanges),
        )


def is_stream(exchange: Exchange) -> bool:
    """Whether the answer came as a stream of events."""
    response = exchange.response
    return response is not None and (header(response.headers, "content-type") or "").startswith(STREAMS)


def is_error(exchange: Exchange) -> bool:
    """Whether there was no whole answer, or none of success. SDKs hang up on whole streams, too."""
    whole = exchange.outcome in (Outcome.COMPLETE, Outcome.CLIENT_CLOSED)
    return exchange.response is None or exchange.response.status >= 400 or not whole


def size(exchange: Exchange) -> int:
    """The bytes of both bodies, as they were on the wire."""
    bodies = [exchange.request.body, *([exchange.response.body] if exchange.response else [])]
    return sum(len(body.data) if body.size is None else body.size for body in bodies)


def say_on_stderr(message: str) -> None:
    print(f"abs: {message}", file=sys.stderr, flush=True)


class Tee:
    """A copy of one body, taken on the way; what it gives back is always what it got."""

    __slots__ = ("_fault", "_kept", "_limit", "_pieces", "_size", "_start")

    def __init__(self, start: float, limit: int) -> None:
        self._start, self._limit = start, limit
        self._pieces: list[tuple[float, bytes]] = []
        self._size = self._kept = 0
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
        room = self._limit - self._kept
        if room > 0:
            self._pieces.append((time.perf_counter(), data[:room]))
            self._kept += min(len(data), room)

    def body(self) -> Body:
        """Give what was copied so far; raises what went wrong while copying."""
        if self._fault is not None:
            raise self._fault
        chunks, end = [], 0
        for at, piece in self._pieces:
            end += len(piece)
            chunks.append(Chunk(end, (at - self._start) * 1000))
        data = b"".join(piece for _, piece in self._pieces)
        return Body(data, tuple(chunks), self._size if self._size > end else None)


class Recorder:
    """One recording being written. Raises `StoreError` where it can not begin."""

    def __init__(
        self,
        store_path: Path,
        recording: Recording,
        *,
        say: Callable[[str], None] = say_on_stderr,
        on_kept: Callable[[Exchange], None] | None = None,
    ) -> None:
        self._store, self._spool = Store(store_path), Spool(store_path)
        self._id, self._say, self._on_kept = recording.id, say, on_kept
        self._said: set[str] = set()
        self._redactor = Redactor()
        self._queue: SimpleQueue[Made | None] = SimpleQueue()
        self._closing = False
        self.summary = Summary()
        self._store.begin(recording)
        self._thread = Thread(target=self._write, name="abs-recorder", daemon=True)
        self._thread.start()

    def put(self, made: Made) -> None:
        """Queue an exchange, or a function that makes one; it is called in the writer thread."""
        self._queue.put(made)

    def close(self) -> Summary:
        """Write what is queued, note the end, and say what the recording came to."""
        self._queue.put(None)
        self._thread.join()
        try:
            self._store.end(self._id, time.time())
        except StoreError as error:
            self._complain(f"the end of the recording is not noted: {error}")
        self._miss_what_is_gone()
        if self._spool.path.exists():
            self._complain(
                f"not all is in the store yet: {self._spool.path} waits beside it for the next to write"
            )
        return self.summary

    def _write(self) -> None:
        while not self._closing:
            if batch := self._gather(None):
                self._keep(batch)

    def _gather(self, patience: float | None) -> list[Exchange]:
        """Take what is queued, or comes within a batch's time; waits `patience` seconds for the first."""
        made: list[Made] = []
        until = None if patience is None else time.monotonic() + patience
        while len(made) < BATCH_SIZE:
            try:
                each = self._queue.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except Empty:
                break
            if each is None:
                self._closing = True
                break
            if not made:
                until = time.monotonic() + BATCH_S
            made.append(each)
        return [exchange for each in made if (exchange := self._redacted(each)) is not None]

    def _redacted(self, made: Made) -> Exchange | None:
        """The exchange without its secrets; None, and loud, where that fails: it is not written with them."""
        try:
            return self._redactor.redact(made() if callable(made) else made)
        except Exception as error:
            self._lose(1, f"an exchange could not be read: {error!r}")
            return None

    def _keep(self, batch: list[Exchange]) -> None:
        try:
            with self._store.writing(LOCK_S) as writer:
                self._miss_what_is_gone()
                until = time.monotonic() + OPEN_S
                while batch:
                    writer.append(self._id, batch)
                    self._kept(batch)
                    left = until - time.monotonic()
                    batch = self._gather(min(LINGER_S, left)) if left > 0 and not self._closing else []
        except StoreLocked:
            self._keep_in_spool(batch)
        except Exception as error:  # whatever it is, the thread goes on
            self._complain(str(error) if isinstance(error, StoreError) else repr(error))
            self._keep_in_spool(batch)

    def _keep_in_spool(self, batch: list[Exchange]) -> None:
        try:
            self._spool.append(self._id, batch)
        except Exception as error:
            self._lose(len(batch), str(error))
        else:
            self._kept(batch, spooled=True)

    def _kept(self, batch: list[Exchange], spooled: bool = False) -> None:
        self.summary = self.summary.plus(batch, spooled)
        for exchange in batch if self._on_kept else ():
            assert self._on_kept is not None
            self._on_kept(exchange)

    def _miss_what_is_gone(self) -> None:
        """Count as lost what was kept in a store that someone has deleted since."""
        left = self._store.begun_again.pop(self._id, None)
        if left is None or not (gone := self.summary.exchanges - left):
            return
        self.summary = replace(self.summary, exchanges=left)
        self._lose(gone, f"store {self._store.path} was deleted or moved while recording; a new one is there")

    def _lose(self, count: int, why: str) -> None:
        self.summary = replace(self.summary, lost=self.summary.lost + count)
        self._complain(f"LOST {count} exchange{'s' * (count != 1)}: {why}")

    def _complain(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            self._say(message)
