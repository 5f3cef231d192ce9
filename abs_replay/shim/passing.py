"""Passes bytes on between a client and a server's process as if nothing stood between them.

Each direction has a thread with blocking reads and writes, so that a slow reader slows its writer and nobody
else. Where one end is closed, so is the other; where nobody reads any more, the writer is told at once.
"""

import os
import select
from collections.abc import Callable
from threading import Thread
from typing import Final

_PIECE: Final = 1 << 16
_IDLE_S: Final = 0.1
_GONE: Final = select.POLLERR | select.POLLHUP


class Pump(Thread):
    """Moves what comes at `source` to `target` until either ends.

    `note` is given each piece, and b"" at the source's end; `deaf` is called where nobody reads any more.
    """

    def __init__(
        self, source: int, target: int, note: Callable[[bytes], None], deaf: Callable[[], None]
    ) -> None:
        super().__init__(name=f"abs-shim-{source}-{target}", daemon=True)
        self._source, self._target, self._note, self._deaf = source, target, note, deaf
        self._is_busy, self._moved = False, 0

    def run(self) -> None:
        try:
            self._move()
        except BrokenPipeError:
            self._deaf()
        else:
            self._note(b"")
        self._is_busy = False
        _shut(self._source)
        _shut(self._target)

    def _move(self) -> None:
        """Give back at the source's end; raises `BrokenPipeError` where nobody reads any more."""
        while data := self._read():
            self._is_busy = True
            # Before it can be answered: an answer is not noted before what it answers.
            self._note(data)
            self._write(data)
            self._moved += 1
            self._is_busy = False

    def drain(self) -> None:
        """Wait until what came was moved. Whoever else holds the source open is not waited for."""
        while self.is_alive():
            before = self._moved
            self.join(_IDLE_S)
            if not self._is_busy and before == self._moved:
                return

    def _read(self) -> bytes:
        """Wait for what comes; empty at the end, which a reset or a terminal's end is, too."""
        poll = select.poll()
        poll.register(self._source, select.POLLIN)
        poll.register(self._target, 0)
        while True:
            if any(fd == self._target and event & _GONE for fd, event in poll.poll()):
                raise BrokenPipeError
            try:
                return os.read(self._source, _PIECE)
            except BlockingIOError:  # who gave us the descriptor may have made it so
                continue
            except OSError:
                return b""

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self._target, rest) :]
            except BlockingIOError:
                select.select([], [self._target], [])
            except OSError as error:
                raise BrokenPipeError from error


def _shut(descriptor: int) -> None:
    """Close a descriptor; a standard one leads nowhere then, and no other file gets its number."""
    if descriptor > 2:
        os.close(descriptor)
        return
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
