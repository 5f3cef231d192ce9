"""What could not wait for the store: exchanges as JSON lines in a file beside it.

A line is on disk when `append` returns and stays there after `kill -9`. Whoever next opens the
store for writing folds the spool in. The spool's own lock is taken after DuckDB's, never before.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from abs_replay.errors import StoreError
from abs_replay.store import marks
from abs_replay.store.marks import Kept, MarkRow
from abs_replay.store.rows import Row, exchange_line, exchange_row, row_of_line


class Spool:
    """The spool of one store."""

    def __init__(self, store_path: Path) -> None:
        self.path = store_path.with_name(store_path.name + ".spool")

    def append(self, recording_id: str, kept: Sequence[Kept]) -> None:
        """Keep exchanges and marks until the store takes them; raises `StoreError`, then nothing was kept."""
        # The break stands before a line: one that a kill has torn does not swallow the next.
        exchanges = [exchange_row(recording_id, each) for each in marks.exchanges_in(kept)]
        lines = [*map(exchange_line, exchanges), *map(marks.line_of, marks.rows_in(recording_id, kept))]
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked() as file:
                _add(file, "".join(f"\n{line}" for line in lines).encode())
        except OSError as error:
            raise StoreError(f"spool {self.path} can not be written: {error.strerror or error}") from error

    def rows(self) -> list[Row]:
        """What is spooled, each exchange as a row."""
        return [row for line in self._lines() if (row := _row(line))]

    def marks(self) -> list[MarkRow]:
        """The marks that are spooled."""
        return [row for line in self._lines() if (row := marks.row_of(line))]

    def _lines(self) -> list[bytes]:
        try:
            return self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"spool {self.path} can not be read: {error.strerror or error}") from error

    @contextmanager
    def draining(self) -> Iterator[list[Row]]:
        """What is spooled; it is thrown away when the block ends well. Nobody appends meanwhile."""
        if not self.path.exists():
            yield []
            return
        with self._locked():
            yield self.rows()
            self.path.unlink()

    @contextmanager
    def _locked(self) -> Iterator[FileIO]:
        while True:
            with self.path.open("ab", buffering=0) as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                if _is_at(file, self.path):
                    yield file
                    return


def _is_at(file: FileIO, path: Path) -> bool:
    """Whether the locked file is still the one at that place; it is not after a drain."""
    try:
        return path.stat().st_ino == os.fstat(file.fileno()).st_ino
    except FileNotFoundError:
        return False


def _add(file: FileIO, lines: bytes) -> None:
    before = os.fstat(file.fileno()).st_size
    try:
        rest = memoryview(lines)
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        os.ftruncate(file.fileno(), before)
        raise


def _row(line: bytes) -> Row | None:
    """A spooled row; None for a torn line, which was never promised to anyone."""
    try:
        return row_of_line(line) if line else None
    except ValueError:
        return None
