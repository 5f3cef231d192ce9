"""Takes what is spooled into the store now and then, in a thread of its own: nobody waits for that.

To open a store and to commit cost some hundredths of a second of processor time, however little is written.
So under load it is done every few seconds, and otherwise as soon as there is a pause.
"""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from abs_replay.errors import StoreError, StoreLocked
from abs_replay.store import LongHold, Store

QUIET_S = 0.3  # without anything new
LONGEST_S = 5.0  # that something waits in the spool
BYTES = 12 << 20  # in the spool; then at once
LOCK_S = 0.15  # for others to let go of the store
AGAIN_S = 1.0  # between two tries, while the store can not be had
WATCH_S = 0.05


class Folding:
    """The way from one spool to its store. For one thread, as whose part `complain` and `folded` are called.

    `late` is how many exchanges the store did not take when it was to.
    """

    def __init__(
        self,
        store: Store,
        say: Callable[[str], None],
        complain: Callable[[str], None],
        folded: Callable[[], None],
    ) -> None:
        self._store, self._complain, self._folded = store, complain, folded
        self.hold = LongHold(store.path, store.spool.path, say)
        self._threads = ThreadPoolExecutor(1, "abs-recorder-store")
        self._running: Future[None] | None = None
        self._first = self._last = self._again = 0.0
        self._bytes = self._counted = self.late = 0
        self._waits = not store.spool.is_empty

    def came(self, size: int) -> None:
        """Take note that something of so many bytes was spooled just now."""
        self._last = time.monotonic()
        if not self._waits:
            self._first, self._waits = self._last, True
        self._bytes += size

    def patience(self) -> float:
        """Seconds until there is something to do here."""
        if self._running is not None:
            return WATCH_S
        return max(self._due() - time.monotonic(), self._again - time.monotonic(), 0.0)

    def turn(self) -> None:
        """Begin, if it is time, or see what came of it."""
        if self._running is None:
            if self.patience() <= 0.0:
                self._first, self._waits, self._bytes = time.monotonic(), False, 0
                self._running = self._threads.submit(self._fold)
        elif self._running.done():
            self.finish()

    def finish(self) -> None:
        """Wait for what has begun."""
        running, self._running = self._running, None
        if running is None:
            return
        try:
            running.result()
        except StoreLocked as error:
            self.missed()
            self.hold.goes_on(error)
        except Exception as error:  # whatever it is, the recorder goes on
            self.missed()
            self._complain(str(error) if isinstance(error, StoreError) else repr(error))
        else:
            self._counted = 0
            self._folded()

    def missed(self) -> None:
        """Take note that the store could not be had."""
        waiting = self._store.spool.waiting
        self.late += max(0, waiting - self._counted)
        self._counted, self._waits = max(waiting, self._counted), True
        self._again = time.monotonic() + AGAIN_S

    def close(self) -> None:
        """Wait for what has begun, and begin no more."""
        self.finish()
        self._threads.shutdown()

    def _fold(self) -> None:
        with self._store.writing(LOCK_S):  # which takes in what is spooled
            pass

    def _due(self) -> float:
        if not self._waits:
            return float("inf")
        return 0.0 if self._bytes > BYTES else min(self._last + QUIET_S, self._first + LONGEST_S)
