"""Keeps what is put: a queue, a thread that takes secrets out and spools it, and the way to the store.

`put` never waits and never raises; an exchange that has ended is on disk within 250 ms, in the spool, which
any reader sees and which is folded into the store in its turn (`folding`). Where the spool can not be
written, it goes into the store; where that fails, too, it waits in memory, up to a bound. What is open is
kept about once a second (`snapshots`).
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread

from abs_replay.batches import Batch, Made, weight_of
from abs_replay.errors import StoreError, StoreLocked
from abs_replay.exchange import Exchange, Mark, Recording
from abs_replay.folding import AGAIN_S, LOCK_S, Folding
from abs_replay.redact import Redactor
from abs_replay.snapshots import Open, Snapshots
from abs_replay.store import Kept, Store, Unfinished, exchanges_in
from abs_replay.summary import Summary

BATCH_S = 0.05  # what comes within this time is written together
BATCH_SIZE = 500
BATCH_BYTES = 8 << 20
SWITCH_S = (
    0.001  # how long this thread keeps Python from the loop that carries the traffic; 5 ms is Python's own
)
MEMORY = 128 << 20  # bytes that may wait to be written
AT_ONCE_S = 0.5  # to begin; then in the spool
AT_LAST_S = 3.0  # how long it is tried at the end


def say_on_stderr(message: str) -> None:
    print(f"abs: {message}", file=sys.stderr, flush=True)


class Recorder:
    """One recording being written. Raises `StoreError` where it can not begin: nothing could be kept.

    `opened` tells what is open now. `memory` is how many bytes may wait to be written.
    """

    def __init__(
        self,
        store_path: Path,
        recording: Recording,
        *,
        say: Callable[[str], None] = say_on_stderr,
        on_kept: Callable[[Exchange], None] | None = None,
        opened: Callable[[], Sequence[Open]] = tuple,
        memory: int = MEMORY,
        redactor: Redactor | None = None,
    ) -> None:
        self._store = Store(store_path, say=say)
        self._id, self._say, self._on_kept = recording.id, say, on_kept
        self._said: set[str] = set()
        self._redactor = redactor or Redactor()
        self._snapshots = Snapshots(
            Unfinished(store_path, recording.id), self._redactor, opened, self._complain
        )
        self._queue: SimpleQueue[tuple[Made, int] | None] = SimpleQueue()
        self._waiting: deque[Batch] = deque()
        self._again = 0.0  # not before that is it tried again, while nothing can be written
        self._memory, self._held, self._refused = memory, 0, 0
        self._holding = Lock()
        self._closing = False
        self.summary = Summary()
        self._folding = Folding(self._store, say, self._complain, self._is_in_the_store)
        self._begin(self._redactor.recording(recording))
        self._thread = Thread(target=self._write, name="abs-recorder", daemon=True)
        self._thread.start()

    def _begin(self, recording: Recording) -> None:
        try:
            self._store.begin(recording, AT_ONCE_S)
        except StoreLocked as error:
            self._store.begin_later(recording)
            self._folding.hold.begins(error)

    @property
    def recording(self) -> str:
        """The id of what is written."""
        return self._id

    def put(self, made: Made) -> None:
        """Queue an exchange, or a function that makes one; it is called in the writer thread."""
        weight = weight_of(made)
        with self._holding:
            if self._held and self._held + weight > self._memory:
                self._refused += 1
                return
            self._held += weight
        self._queue.put((made, weight))

    def mark(self, name: str | None = None) -> Mark:
        """Let the conversations end here, and those that follow be called by this name."""
        mark = Mark(time.time(), name)
        self.put(mark)
        return mark

    def close(self) -> Summary:
        """Write what is queued, note the end, and say what the recording came to."""
        self._queue.put(None)
        self._thread.join()
        self._folding.close()
        self._snapshots.close()
        if withheld := self._redactor.withheld:
            self._lose(withheld, "a rule of `redact:` failed; they are kept without their content")
        try:
            self._store.end(self._id, time.time())
            self._is_in_the_store()
        except Exception as error:  # whatever it is, what was recorded is told of
            self._folding.missed()
            why = str(error) if isinstance(error, StoreError) else repr(error)
            self._complain(f"the end of the recording is not noted: {why}")
            self._miss_what_is_gone()
            if waits := " and ".join(map(str, self._store.spool.files)):
                self._complain(f"not all is in the store yet: {waits} waits beside it for the next to write")
        self.summary = replace(self.summary, spooled=self._folding.late)
        return self.summary

    def _write(self) -> None:
        sys.setswitchinterval(SWITCH_S)
        while not self._closing:
            self._gather(max(0.0, min(self._patience(), self._snapshots.patience())))
            self._turn()
            self._flush()
            self._folding.turn()
            self.summary = replace(self.summary, spooled=self._folding.late)
        self._flush_at_last()

    def _patience(self) -> float:
        """Seconds until there is something to write."""
        return self._again - time.monotonic() if self._waiting else self._folding.patience()

    def _turn(self) -> None:
        """Do what is to be done now and then."""
        self._snapshots.turn()
        with self._holding:
            refused, self._refused = self._refused, 0
        if refused:
            self._lose(refused, f"more than {self._memory >> 20} MiB waited to be written")

    def _gather(self, patience: float) -> None:
        """Let wait what is queued, or comes within a batch's time; waits `patience` seconds for the first."""
        kept: list[Kept] = []
        weight = count = 0
        until = time.monotonic() + patience
        while count < BATCH_SIZE and weight < BATCH_BYTES:
            try:
                each = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                break
            if each is None:
                self._closing = True
                break
            if not count:
                until = time.monotonic() + BATCH_S
            count, weight = count + 1, weight + each[1]
            if (redacted := self._redacted(each[0])) is not None:
                kept.append(redacted)
            if time.monotonic() >= until:  # what is clean does not wait for what is not
                break
        if count:
            self._waiting.append(Batch(kept, weight))

    def _redacted(self, made: Made) -> Kept | None:
        """The exchange without its secrets; None, and loud, where that fails: it is not written with them."""
        if isinstance(made, Mark):
            return replace(made, name=made.name and self._redactor.text(made.name))
        try:
            return self._redactor.redact(made() if callable(made) else made)
        except Exception as error:
            self._lose(1, f"an exchange could not be read: {self._redactor.text(repr(error))}")
            return None

    def _flush(self) -> None:
        """Write what waits: into the spool, else into the store, else let it wait on."""
        if not self._waiting or time.monotonic() < self._again:
            return
        try:
            while self._waiting:
                self._store.spool.append(self._id, self._waiting[0].kept)
                self._folding.came(self._waiting[0].weight)
                self._kept()
        except Exception as error:  # whatever it is, the thread goes on
            self._flush_past_the_spool(error)

    def _flush_past_the_spool(self, error: Exception) -> None:
        self._folding.finish()
        try:
            with self._store.writing(LOCK_S) as writer:
                self._miss_what_is_gone()
                while self._waiting:
                    writer.append(self._id, self._waiting[0].kept)
                    self._kept()
        except Exception as another:
            self._again = time.monotonic() + AGAIN_S
            if not isinstance(another, StoreLocked):
                self._complain(str(another) if isinstance(another, StoreError) else repr(another))
            self._complain(f"{error}; what is recorded waits in memory")
        else:
            self._is_in_the_store()

    def _is_in_the_store(self) -> None:
        """The store was had, with all that was spooled."""
        self._said.clear()
        self._folding.hold.is_over()
        self._miss_what_is_gone()

    def _flush_at_last(self) -> None:
        until = time.monotonic() + AT_LAST_S
        while self._waiting:
            self._again = 0.0
            self._flush()
            if self._waiting and time.monotonic() > until:
                count = sum(len(exchanges_in(batch.kept)) for batch in self._waiting)
                self._lose(count, "neither the store nor its spool could be written until the end")
                return
            time.sleep(AGAIN_S / 10 if self._waiting else 0)

    def _kept(self) -> None:
        """The first that waited is on disk."""
        batch = self._waiting.popleft()
        with self._holding:
            self._held -= batch.weight
        self.summary = self.summary.plus(batch.kept)
        exchanges = exchanges_in(batch.kept)
        self._snapshots.ended(exchange.id for exchange in exchanges)
        for exchange in exchanges if self._on_kept else ():
            assert self._on_kept is not None
            self._on_kept(exchange)

    def _miss_what_is_gone(self) -> None:
        """Count as lost what was kept in a store that someone has deleted since."""
        left = self._store.begun_again.pop(self._id, None)
        if left is None:
            return
        left += self._store.spool.waiting  # which came since
        if not (gone := self.summary.exchanges - left):
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
