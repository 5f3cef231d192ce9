"""The way from the process that passes on to the one that records: what passed, with its time, in order.

`put` never waits: what the other side is too slow for is queued, up to a bound, and what is beyond that is
missed, and known to be.
"""

import os
import select
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntEnum
from queue import Empty, SimpleQueue
from threading import Condition, Thread
from typing import Final

BOUND: Final = 128 << 20  # bytes that wait
_HEADER = struct.Struct("!BdI")
_PIECE: Final = 1 << 20
_IDLE_S: Final = 1.0
_SENT_S: Final = 10.0  # all that waits is sent in a fraction of it, or never


class Kind(IntEnum):
    """What a frame says."""

    CLIENT = 0  # bytes of the client's
    SERVER = 1
    CLIENT_ENDED = 2  # no more will come
    SERVER_ENDED = 3
    CLIENT_DEAF = 4  # it reads no more
    SERVER_DEAF = 5
    CLIENT_MISSED = 6  # bytes are missing here
    SERVER_MISSED = 7
    OVER = 8  # the server's process has ended


_MISSED: Final = {Kind.CLIENT: Kind.CLIENT_MISSED, Kind.SERVER: Kind.SERVER_MISSED}

type Frame = tuple[Kind, float, bytes]


class Feed:
    """The writing end. `say` is told once where something is missed.

    What there is room for is sent before `put` returns, so that it is not lost with this process.
    """

    def __init__(self, writer: int, say: Callable[[str], None], bound: int = BOUND) -> None:
        os.set_blocking(writer, False)
        self._writer, self._say, self._bound = writer, say, bound
        self._began = time.time() - time.monotonic()  # the clock may be set while this lives
        self._changed = Condition()
        self._rest: deque[memoryview] = deque()  # what the pipe has no room for
        self._waiting = 0
        self._missed: set[Kind] = set()
        self._said = False
        Thread(target=self._send_rest, name="abs-shim-feed", daemon=True).start()

    def put(self, kind: Kind, data: bytes = b"") -> None:
        """Send a frame, now or when there is room for it; its time is now."""
        with self._changed:
            if self._waiting + len(data) > self._bound:
                self._missed.add(kind)
                self._complain("recording falls behind: not everything is recorded")
                return
            if kind in self._missed:
                self._missed.remove(kind)
                self._send(self._frame(_MISSED[kind], b""))
            self._send(self._frame(kind, data))

    def finish(self, patience: float) -> None:
        """Say that it is over, and wait until all is sent, then `patience` s for the other side's end."""
        self.put(Kind.OVER)
        with self._changed:
            self._changed.wait_for(lambda: not self._rest, _SENT_S)
        poll = select.poll()
        poll.register(self._writer, 0)
        poll.poll(patience * 1000)

    def _frame(self, kind: Kind, data: bytes) -> memoryview:
        at = self._began + time.monotonic()
        return memoryview(_HEADER.pack(kind, at, len(data)) + data)

    def _send(self, frame: memoryview) -> None:
        rest = frame if self._rest else self._written(frame)
        if rest:
            self._rest.append(rest)
            self._waiting += len(rest)
            self._changed.notify_all()

    def _written(self, data: memoryview) -> memoryview:
        """Write what there is room for, and give what is left; nothing is, where nobody reads any more."""
        try:
            while data:
                data = data[os.write(self._writer, data) :]
        except BlockingIOError:
            return data
        except OSError as error:
            self._bound = -1
            self._complain(f"nothing is recorded any more: {error.strerror or error}")
        return memoryview(b"")

    def _send_rest(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._rest)
            select.select([], [self._writer], [])
            with self._changed:
                first = self._rest.popleft()
                left = self._written(first)
                self._waiting -= len(first) - len(left)
                if left:
                    self._rest.appendleft(left)
                self._changed.notify_all()

    def _complain(self, message: str) -> None:
        if not self._said:
            self._said = True
            self._say(message)


class Intake:
    """The reading end: it takes what is sent at once, and so lets the writing end go, up to a bound."""

    def __init__(self, reader: int, bound: int = BOUND) -> None:
        self._reader, self._bound = reader, bound
        self._queue: SimpleQueue[Frame | None] = SimpleQueue()
        self._room = Condition()
        self._waiting = 0
        Thread(target=self._read, name="abs-shim-intake", daemon=True).start()

    def frames(self, idle: Callable[[], None]) -> Iterator[Frame]:
        """Give each frame until the writing end is closed; `idle` is called where none waits, and again."""
        while frame := self._next(idle):
            yield frame
            with self._room:
                self._waiting -= len(frame[2])
                self._room.notify()

    def _next(self, idle: Callable[[], None]) -> Frame | None:
        while True:
            if self._queue.empty():
                idle()
            with suppress(Empty):
                return self._queue.get(timeout=_IDLE_S)

    def _read(self) -> None:
        buffer = bytearray()
        while piece := os.read(self._reader, _PIECE):
            buffer += piece
            for frame in _whole(buffer):
                self._take(frame)
        self._queue.put(None)

    def _take(self, frame: Frame) -> None:
        with self._room:
            self._room.wait_for(lambda: self._waiting < self._bound)
            self._waiting += len(frame[2])
        self._queue.put(frame)


def _whole(buffer: bytearray) -> Iterator[Frame]:
    """Take whole frames from the front."""
    at = 0
    with suppress(struct.error):  # of a header that has not come yet
        while True:
            kind, when, length = _HEADER.unpack_from(buffer, at)
            end = at + _HEADER.size + length
            if end > len(buffer):
                break
            yield Kind(kind), when, bytes(buffer[end - length : end])
            at = end
    del buffer[:at]
