"""What does not wait for the store: exchanges as JSON lines in a file beside it.

A line is on disk when `append` returns and stays there after `kill -9`. Whoever next opens the
store for writing folds the spool in: it is put aside first, so that others append to a new one meanwhile, and
is thrown away when all of it is in the store. The spool's own lock is taken after DuckDB's, never before.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from io import FileIO
from pathlib import Path
from threading import Lock
from typing import IO

from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store import marks
from abs_replay.store.lines import exchange_pieces, recording_line, recording_of_line, row_of_line
from abs_replay.store.marks import Kept, MarkRow
from abs_replay.store.modes import make_folder, open_beside
from abs_replay.store.rows import Row, exchange_row

AT_ONCE = 16 << 20  # bytes of lines
PIECE = 256 << 10
REMEMBERED = 64 << 20  # bytes of lines that need not be read to be folded in, since their rows are known
_HEAD = 4096  # bytes of a line in which the ids and the digest of its exchange are


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
    """The spool of one store. Threads may share one; so may processes, each with its own of these.

    `waiting` is how many exchanges this one appended since it was last put aside by it.
    """

    def __init__(self, store_path: Path) -> None:
        self.path = store_path.with_name(store_path.name + ".spool")
        self._aside = store_path.with_name(store_path.name + ".spool.folding")
        self._opener = partial(open_beside, store_path)
        self._alone = Lock()
        self._known: dict[bytes, Row] = {}
        self._known_bytes = self.waiting = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits beside the store."""
        return not self.files

    @property
    def files(self) -> list[Path]:
        """The files in which something waits beside the store."""
        return [path for path in (self._aside, self.path) if path.exists()]

    def append(self, recording_id: str, kept: Sequence[Kept]) -> None:
        """Keep exchanges and marks until the store takes them; raises `StoreError`, then nothing was kept."""
        rows = [exchange_row(recording_id, each) for each in marks.exchanges_in(kept)]
        known: dict[bytes, Row] = {}
        self._append(_pieces(rows, marks.rows_in(recording_id, kept), known), known)

    def begin(self, recording: Recording) -> None:
        """Keep that a recording begins, likewise."""
        self._append([f"\n{recording_line(recording)}".encode()], {})

    def _append(self, pieces: Iterable[bytes], known: Mapping[bytes, Row]) -> None:
        try:
            make_folder(self.path.parent)
            with self._alone, self._locked() as file:
                size = _add(file, _gathered(pieces))
                self.waiting += len(known)
                if self._known_bytes + size <= REMEMBERED or not self._known:
                    self._known |= known
                    self._known_bytes += size
        except OSError as error:
            raise StoreError(f"spool {self.path} can not be written: {error.strerror or error}") from error

    def rows(self) -> list[Row]:
        """What is spooled, each exchange as a row."""
        return [row for some in self.batches() for row in some.exchanges]

    def batches(self) -> Iterator[Spooled]:
        """What is spooled, some megabytes of it at a time."""
        yield from self._batches(self._aside, {})
        yield from self._batches(self.path, {})

    def _batches(self, path: Path, known: Mapping[bytes, Row]) -> Iterator[Spooled]:
        some, size = Spooled(), 0
        for line, row in self._lines(path, known):
            if row is None:
                some.take(line)
            else:
                some.exchanges.append(row)
            size += len(line) + sum(len(body) for body in row or () if isinstance(body, bytes))
            if size > AT_ONCE:
                yield some
                some, size = Spooled(), 0
        if size:
            yield some

    def _lines(self, path: Path, known: Mapping[bytes, Row]) -> Iterator[tuple[bytes, Row | None]]:
        try:
            with path.open("rb") as file:
                yield from _read(file, known)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"spool {path} can not be read: {error.strerror or error}") from error

    @contextmanager
    def draining(self) -> Iterator[Iterator[Spooled]]:
        """What is spooled now; it is thrown away when the block ends well. Others may append meanwhile.

        What a kill left aside comes first, and then once more, what was appended since: so twice is enough.
        Only for whoever has the store to write to: nobody else puts aside, then.
        """
        known = {} if self._aside.exists() else self._put_aside()
        yield self._batches(self._aside, known)
        self._aside.unlink(missing_ok=True)

    def taken(self) -> None:
        """Take note that others have folded in what this one appended, if they have."""
        with self._alone:
            if self.is_empty:
                self._known, self._known_bytes, self.waiting = {}, 0, 0

    def _put_aside(self) -> Mapping[bytes, Row]:
        """Let others append to a new file; gives the rows that are known of the old one."""
        with self._alone:
            if self.path.exists():
                with self._locked():
                    self.path.rename(self._aside)
            known, self._known = self._known, {}
            self._known_bytes = self.waiting = 0
            return known

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


def _pieces(rows: Iterable[Row], marked: Iterable[MarkRow], known: dict[bytes, Row]) -> Iterator[bytes]:
    """The lines of exchanges and marks. The break stands before one: what a kill tore swallows no other.

    `known` gets each row by how its line begins.
    """
    for row in rows:
        yield b"\n"
        pieces = exchange_pieces(row)
        first = next(pieces)
        known[_head(first)] = row
        yield first
        yield from pieces
    for mark in marked:
        yield f"\n{marks.line_of(mark)}".encode()


def _read(file: IO[bytes], known: Mapping[bytes, Row]) -> Iterator[tuple[bytes, Row | None]]:
    """The lines of a spool; of one whose row is known only the beginning, since most are long."""
    while line := file.readline(_HEAD):
        row, rest = known.get(_head(line)), line
        while not rest.endswith(b"\n") and (rest := file.readline(PIECE if row else -1)):
            line = line if row else line + rest
        yield line.rstrip(b"\n"), row


def _head(line: bytes) -> bytes:
    """How the line of an exchange begins: recording, id and digest, which stand for all of it."""
    return line[: line.find(b', "role": ', 0, _HEAD)]


def _gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same, in fewer and larger pieces."""
    some = bytearray()
    for piece in pieces:
        some += piece
        if len(some) > PIECE:
            yield bytes(some)
            some.clear()
    yield bytes(some)


def _add(file: FileIO, pieces: Iterable[bytes]) -> int:
    before, size = os.fstat(file.fileno()).st_size, 0
    try:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) :]
            size += len(piece)
    except OSError:
        os.ftruncate(file.fileno(), before)
        raise
    return size


def _row(line: bytes) -> Row | None:
    """A spooled row; None for a torn line, which was never promised to anyone."""
    try:
        return row_of_line(line) if line else None
    except ValueError:
        return None
