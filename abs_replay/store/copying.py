"""Copies of the whole file: one before its format changes, one that takes the place of a file full of holes.

DuckDB's lock is a POSIX one: closing any descriptor of the file lets go of all that a process has on it. So
the file is never copied while DuckDB has it open here; the same lock is taken instead.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING

from abs_replay.errors import StoreError
from abs_replay.store.modes import mode_beside, open_beside

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def log_of(path: Path) -> Path:
    """Where DuckDB keeps what is committed and not yet in the file."""
    return path.with_name(path.name + ".wal")


def keep_copy(path: Path, version: int) -> Path:
    """Copy a store of a version; raises `BlockingIOError` while it is held, or has a log."""
    copy = _free(path, version)
    aside = copy.with_name(copy.name + ".new")
    with _held(path) as file:
        if log_of(path).exists():
            raise BlockingIOError
        try:
            with open(aside, "wb", opener=partial(open_beside, path)) as target:
                shutil.copyfileobj(file, target, 1 << 20)
                target.flush()
                os.fsync(target.fileno())
            aside.replace(copy)
        except OSError as error:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            raise StoreError(
                f"store {path} has the older format {version}, and a copy of it, to be kept, can not "
                f"be written: {copy}: {error.strerror or error}; make room, or name another with --store"
            ) from error
    return copy


def _free(path: Path, version: int) -> Path:
    """A name that no file has."""
    for number in ("", *(f".{number}" for number in range(2, 1000))):
        copy = path.with_name(f"{path.name}.v{version}{number}.bak")
        if not copy.exists():
            return copy
    raise StoreError(f"store {path} has too many copies beside it: take some away")


def is_wasteful(connection: DuckDBPyConnection, path: Path) -> bool:
    """Whether more of the file is free than used. It is used again, but takes up the disk till then."""
    query = "SELECT used_blocks * block_size FROM pragma_database_size()"
    ((used,),) = connection.execute(query).fetchall()
    return bool(path.stat().st_size > 2 * used)


def rewrite(path: Path, settings: dict[str, str | bool | int | float | list[str]]) -> None:
    """Put a copy without free room in the file's place, unless someone else uses the file meanwhile."""
    import duckdb

    with suppress(OSError, duckdb.Error):  # in use, or no room for a copy: the file is whole as it is
        rewrite_or_fail(path, settings)


def rewrite_or_fail(path: Path, settings: dict[str, str | bool | int | float | list[str]]) -> None:
    """The same; raises `OSError` and `duckdb.Error`, `BlockingIOError` where someone else uses the file."""
    import duckdb

    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        aside.unlink(missing_ok=True)
        before = _state(path)
        with duckdb.connect(config=settings) as connection:
            connection.execute(f"ATTACH '{_quoted(str(path))}' AS store (READ_ONLY)")
            connection.execute(f"ATTACH '{_quoted(str(aside))}' AS rewritten")
            aside.chmod(mode_beside(path))
            connection.execute("COPY FROM DATABASE store TO rewritten")
            connection.execute("DETACH rewritten")
        with _held(path):
            if _state(path) != before or log_of(path).exists() or log_of(aside).exists():
                raise BlockingIOError
            shutil.copymode(path, aside)
            aside.replace(path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _quoted(text: str) -> str:
    return text.replace("'", "''")


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _held(path: Path) -> Iterator[IO[bytes]]:
    """The file, locked as DuckDB locks one that it writes; raises `BlockingIOError` where another has it."""
    with path.open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file
