"""The way from the process that passes on to the one that records: what passed, with its time, in order.

`put` never waits: what the other side is too slow for is queued, up to a bound, and what is beyond that is
missed, and known to be.
"""

import os
import select
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import IntEnum
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Final

BOUND: Final = 128 << 20  # bytes that wait
_HEADER = struct.Struct("!BdI")
_PIECE = 1 << 20


class Kind(IntEnum):
    """What a frame says."""

    CLIENT = 0  # bytes of the client's
    SERVER = 1
    CLIENT_ENDED = 2  # no more will come
    SERVER_ENDED = 3
    CLIENT_MISSED = 4  # bytes are missing here
    SERVER_MISSED = 5
    OVER = 6  # the server's process has ended


_MISSED: Final = {Kind.CLIENT: Kind.CLIENT_MISSED, Kind.SERVER: Kind.SERVER_MISSED}

type Frame = tuple[Kind, float, bytes]


class Feed:
    """The writing end. `say` is told once where something is missed."""

    def __init__(self, writer: int, say: Callable[[str], None], bound: int = BOUND) -> None:
        self._writer, self._say, self._bound = writer, say, bound
        self._began = time.time() - time.monotonic()  # the clock may be set while this lives
        self._queue: SimpleQueue[Frame] = SimpleQueue()
        self._lock = Lock()
        self._waiting = 0
        self._missed: set[Kind] = set()
        self._said = False
        self._is_there = True
        Thread(target=self._write, name="abs-shim-feed", daemon=True).start()

    def put(self, kind: Kind, data: bytes = b"") -> None:
        """Queue a frame; its time is now."""
        at = self._began + time.monotonic()
        with self._lock:
            full = self._waiting + len(data) > self._bound
            if not full and kind in self._missed:
                self._missed.remove(kind)
                self._queue.put((_MISSED[kind], at, b""))
            if not full:
                self._waiting += len(data)
                self._queue.put((kind, at, data))
            else:
                self._missed.add(kind)
        if full:
            self._complain("recording falls behind: not everything is recorded")

    def finish(self, patience: float) -> None:
        """Say that it is over, and wait until the other side has ended, too."""
        self.put(Kind.OVER)
        poll = select.poll()
        poll.register(self._writer, 0)
        poll.poll(patience * 1000)

    def _write(self) -> None:
        while self._is_there:
            kind, at, data = self._queue.get()
            try:
                _write_all(self._writer, _HEADER.pack(kind, at, len(data)))
                _write_all(self._writer, data)
            except OSError as error:
                self._is_there = False
                self._complain(f"nothing is recorded any more: {error.strerror or error}")
            with self._lock:
                self._waiting -= len(data)
                if not self._is_there:
                    self._bound = -1

    def _complain(self, message: str) -> None:
        if not self._said:
            self._said = True
            self._say(message)


def _write_all(target: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


def frames(reader: int, idle: Callable[[], None]) -> Iterator[Frame]:
    """Read frames until the writing end is closed; `idle` is called where nothing waits to be read."""
    buffer = bytearray()
    while True:
        if not select.select([reader], [], [], 0)[0]:
            idle()
        piece = os.read(reader, _PIECE)
        if not piece:
            return
        buffer += piece
        yield from _whole(buffer)


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
