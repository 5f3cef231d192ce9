"""What is still open while a recording runs, as far as it came, in a folder of files beside the store.

A file an exchange: a line with all of it, then lines with what the body of its response grew by. The
recorder throws the file away once it has kept the whole exchange, and holds a lock on the folder while it
lives. What lies in a folder that nobody has locked was left by a kill: readers see it as `unfinished`, and
whoever next opens the store for writing folds it in.
"""

import base64
import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from abs_replay.exchange import Body, Chunk, Exchange
from abs_replay.store.lines import exchange_pieces, row_of_line
from abs_replay.store.modes import folder_mode_beside, make_folder
from abs_replay.store.rows import Row, exchange_of, exchange_row


class Unfinished:
    """The open exchanges of one running recording; every call may raise `OSError`.

    `by` tells those apart who each keep some of it.
    """

    def __init__(self, store_path: Path, recording_id: str, by: str = "") -> None:
        name = hashlib.sha256((recording_id + by).encode()).hexdigest()[:12]
        self.path = store_path.with_name(f"{store_path.name}.{name}.open")
        self._recording, self._store_path = recording_id, store_path
        self._lock: int | None = None

    def put(self, exchange: Exchange) -> None:
        """Keep an exchange as far as it came, in place of what was kept of it."""
        self._begin()
        path, pieces = self._file(exchange.id), exchange_pieces(exchange_row(self._recording, exchange))
        aside = path.with_suffix(".new")
        with aside.open("wb") as file:
            file.writelines(pieces)
            file.write(b"\n")
        aside.replace(path)

    def grow(self, id_: str, at: int, more: Body, ended_ms: float | None) -> None:
        """Add what the body of its response has grown by, from that byte on."""
        grown = {
            "at": at,
            "data": base64.b64encode(more.data).decode(),
            "chunks": [(chunk.end, chunk.at_ms) for chunk in more.chunks],
            "size": more.size,
            "ended_ms": ended_ms,
        }
        with self._file(id_).open("ab", buffering=0) as file:
            line = json.dumps(grown).encode() + b"\n"
            if file.write(line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def drop(self, ids: Iterable[str]) -> None:
        """Forget exchanges; whether they were there does not matter."""
        for id_ in ids:
            self._file(id_).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the folder; what is in it still is left for others."""
        if self._lock is not None:
            with suppress(OSError):  # not empty
                self.path.rmdir()
            os.close(self._lock)
            self._lock = None

    def _begin(self) -> None:
        if self._lock is None or not self.path.exists():
            self.close()
            make_folder(self.path.parent)
            self.path.mkdir(exist_ok=True, mode=folder_mode_beside(self._store_path))
            self._lock = _locked(self.path, fcntl.LOCK_EX)

    def _file(self, id_: str) -> Path:
        return self.path / (hashlib.sha256(id_.encode()).hexdigest()[:32] + ".lines")


def left_open(store_path: Path) -> list[Row]:
    """What killed recorders left of the exchanges of this store, as rows."""
    with _left(store_path, fcntl.LOCK_SH) as folders:
        return [row for folder in folders for row in _rows(folder)]


@contextmanager
def taking_left_open(store_path: Path) -> Iterator[list[Row]]:
    """The same; it is thrown away when the block ends well."""
    with _left(store_path, fcntl.LOCK_EX) as folders:
        yield [row for folder in folders for row in _rows(folder)]
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _left(store_path: Path, how: int) -> Iterator[Sequence[Path]]:
    """The folders that no recorder holds, locked."""
    locked: dict[Path, int] = {}
    try:
        for folder in _folders(store_path):
            with suppress(OSError):  # a recorder holds it, or it is gone
                locked[folder] = _locked(folder, how)
        yield tuple(locked)
    finally:
        for descriptor in locked.values():
            os.close(descriptor)


def _locked(folder: Path, how: int) -> int:
    """An open descriptor that holds the lock; raises `OSError` where another has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _folders(store_path: Path) -> list[Path]:
    start = store_path.name + "."
    with suppress(OSError), os.scandir(store_path.parent) as entries:
        names = sorted(each.name for each in entries)
        return [store_path.parent / n for n in names if n.startswith(start) and n.endswith(".open")]
    return []


def _rows(folder: Path) -> Iterator[Row]:
    for path in sorted(folder.glob("*.lines")):
        with suppress(OSError):
            if row := _row(path.read_bytes().split(b"\n")):
                yield row


def _row(lines: Sequence[bytes]) -> Row | None:
    """The row that the lines of a file come to; a torn last one was never promised."""
    try:
        row = row_of_line(lines[0])
    except ValueError:
        return None
    exchange = exchange_of(row)
    if exchange.response is None:
        return row
    bodies, ended_ms = [exchange.response.body], exchange.ended_ms
    for line in lines[1:]:
        if (grown := _grown(line, sum(len(body.data) for body in bodies))) is None:
            break
        bodies.append(grown[0])
        ended_ms = grown[1]
    response = replace(exchange.response, body=joined(bodies))
    return exchange_row(row[0], replace(exchange, response=response, ended_ms=ended_ms))


def _grown(line: bytes, at: int) -> tuple[Body, float | None] | None:
    """What one line adds at that byte; None for a torn one."""
    try:
        fields = json.loads(line)
        if fields["at"] != at:
            return None
        chunks = tuple(Chunk(end, at_ms) for end, at_ms in fields["chunks"])
        return Body(base64.b64decode(fields["data"]), chunks, fields["size"]), fields["ended_ms"]
    except (ValueError, KeyError, TypeError):
        return None


def joined(bodies: Sequence[Body]) -> Body:
    """Bodies one after the other as one; the last one knows the size."""
    chunks, start = list[Chunk](), 0
    for body in bodies:
        chunks += [Chunk(start + chunk.end, chunk.at_ms) for chunk in body.chunks]
        start += len(body.data)
    return Body(b"".join(body.data for body in bodies), tuple(chunks), bodies[-1].size)
