"""Bytes that wait in a file until they are asked for: what a long recording says, while it is assembled.

The file has no name where the system can do without one, is nobody else's to read, and goes with the
process at the latest.
"""

import os
import tempfile
import weakref
from io import FileIO
from typing import Final

_AT_ONCE: Final = 64 * 1024  # bytes that are written together; fewer need no file


class Spilled:
    """A room of bytes (`decoders.Room`)."""

    def __init__(self) -> None:
        self._file: FileIO | None = None
        self._written = 0
        self._waiting = bytearray()
        self._full = False

    def append(self, data: bytes) -> bool:
        """Put bytes behind those that are there; False once the disk had no room."""
        if self._full:
            return False
        self._waiting += data
        if len(self._waiting) >= _AT_ONCE:
            self._write()
        return True

    def _write(self) -> None:
        try:
            file = self._opened()
            file.seek(self._written)
            while self._waiting:
                written = file.write(self._waiting)
                self._written += written
                del self._waiting[:written]
        except OSError:
            self._full = True  # what waits, waits in memory

    def _opened(self) -> FileIO:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 (it is open as long as this is)
            weakref.finalize(self, self._file.close)
        return self._file

    def read(self, start: int, size: int) -> bytes:
        """Give bytes that were put here."""
        if start >= self._written:
            start -= self._written
            return bytes(self._waiting[start : start + size])
        file = self._opened()
        if hasattr(os, "pread"):  # one call of the system for two
            found = os.pread(file.fileno(), size, start)
        else:
            file.seek(start)
            found = file.read(size)
        return found + bytes(self._waiting[: size - len(found)])
