"""What could not wait for the store: exchanges as JSON lines in a file beside it.

A line is on disk when `append` returns and stays there after `kill -9`. Whoever next opens the
store for writing folds the spool in. The spool's own lock is taken after DuckDB's, never before.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path

from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store import marks
from abs_replay.store.marks import Kept, MarkRow
from abs_replay.store.modes import make_folder, open_beside
from abs_replay.store.rows import (
    Row,
    exchange_pieces,
    exchange_row,
    recording_line,
    recording_of_line,
    row_of_line,
)

AT_ONCE = 16 << 20  # bytes of lines
PIECE = 256 << 10


@dataclass(frozen=True, slots=True)
class Spooled:
    """Some of what is spooled: recordings that the store does not know yet, exchanges, marks."""

    recordings: list[Recording] = field(default_factory=list)
    exchanges: list[Row] = field(default_factory=list)
    marks: list[MarkRow] = field(default_factory=list)

    def take(self, line: bytes) -> None:
        """Add what a line says; a torn one was never promised to anyone."""
        if row := _row(line):
            self.exchanges.append(row)
        elif mark := marks.row_of(line):
            self.marks.append(mark)
        elif recording := recording_of_line(line):
            self.recordings.append(recording)


class Spool:
    """The spool of one store."""

    def __init__(self, store_path: Path) -> None:
        self.path = store_path.with_name(store_path.name + ".spool")
        self._opener = partial(open_beside, store_path)

    def append(self, recording_id: str, kept: Sequence[Kept]) -> None:
        """Keep exchanges and marks until the store takes them; raises `StoreError`, then nothing was kept."""
        self._append(_pieces(recording_id, kept))

    def begin(self, recording: Recording) -> None:
        """Keep that a recording begins, likewise."""
        self._append([f"\n{recording_line(recording)}".encode()])

    def _append(self, pieces: Iterable[bytes]) -> None:
        try:
            make_folder(self.path.parent)
            with self._locked() as file:
                _add(file, _gathered(pieces))
        except OSError as error:
            raise StoreError(f"spool {self.path} can not be written: {error.strerror or error}") from error

    def rows(self) -> list[Row]:
        """What is spooled, each exchange as a row."""
        return [row for some in self.batches() for row in some.exchanges]

    def batches(self) -> Iterator[Spooled]:
        """What is spooled, some megabytes of it at a time."""
        some, size = Spooled(), 0
        for line in self._lines():
            some.take(line)
            size += len(line)
            if size > AT_ONCE:
                yield some
                some, size = Spooled(), 0
        if size:
            yield some

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                yield from (line.rstrip(b"\n") for line in file)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"spool {self.path} can not be read: {error.strerror or error}") from error

    @contextmanager
    def draining(self) -> Iterator[Iterator[Spooled]]:
        """What is spooled; it is thrown away when the block ends well. Nobody appends meanwhile."""
        if not self.path.exists():
            yield iter(())
            return
        with self._locked():
            yield self.batches()
            self.path.unlink()

    @contextmanager
    def _locked(self) -> Iterator[FileIO]:
        while True:
            with open(self.path, "ab", buffering=0, opener=self._opener) as file:
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


def _pieces(recording_id: str, kept: Sequence[Kept]) -> Iterator[bytes]:
    """The lines of exchanges and marks. The break stands before one: what a kill tore swallows no other."""
    for exchange in marks.exchanges_in(kept):
        yield b"\n"
        yield from exchange_pieces(exchange_row(recording_id, exchange))
    for mark in marks.rows_in(recording_id, kept):
        yield f"\n{marks.line_of(mark)}".encode()


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same, in fewer and larger pieces."""
    some = bytearray()
    for piece in pieces:
        some += piece
        if len(some) > PIECE:
            yield bytes(some)
            some.clear()
    yield bytes(some)


def _add(file: FileIO, pieces: Iterable[bytes]) -> None:
    before = os.fstat(file.fileno()).st_size
    try:
        for piece in pieces:
            rest = memoryview(piece)
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
