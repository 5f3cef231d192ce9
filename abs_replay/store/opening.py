"""Opening the file: short, with patience for whoever else holds it, every failure in one line.

DuckDB lets no process open a file that another has open for writing, nor write one that is
being read. So nobody keeps it: open, do one thing, close. `duckdb` is imported here alone, and
only when a file is opened, since that takes 0.1 s.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.errors import StoreError, StoreLocked
from abs_replay.store import copying, migrations, modes
from abs_replay.store.copying import log_of
from abs_replay.store.holders import THIS_PROCESS, holder_in, locked

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RETRY = 0.02  # seconds between two tries for the lock

# A checkpoint writes the last 2,048 rows again (12 KB each: 0.15 s), a log is replayed at each open
# (8 MB: 30 ms). So a recorder that opens, appends and closes leaves small logs alone.
LOG_LIMIT = 8 << 20

# Nothing is fetched from anywhere, and no commit waits for a checkpoint: that is for the close.
type Settings = dict[str, str | bool | int | float | list[str]]
SETTINGS: Settings = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "checkpoint_threshold": "1GB",
}
# A store may come from strangers: a view in it can name files, or turn on a log. The lock goes last.
TO_READ: Settings = SETTINGS | {"enable_external_access": "false", "lock_configuration": "true"}


_guard = threading.Lock()
_threads: dict[Path, threading.Lock] = {}


def say_on_stderr(message: str) -> None:
    print(f"abs: {message}", file=sys.stderr, flush=True)


@contextmanager
def reading(
    path: Path,
    patience: float,
    say: Callable[[str], None] = say_on_stderr,
    settings: Settings = TO_READ,
) -> Iterator[DuckDBPyConnection]:
    """The store, to read from; raises `StoreError` where there is none, `StoreLocked` after `patience` s."""
    with _explaining(path):
        if not path.exists():
            raise StoreError(
                f"no store at {path}: record one with `abs record`, or name one with --store or ABS_STORE"
            )
        connection = _connect(path, True, patience, settings)
        if _version(connection, path) < migrations.CURRENT:
            connection.close()
            with writing(path, patience, say=say):
                pass
            connection = _connect(path, True, patience, settings)
        with connection:
            yield connection


@contextmanager
def writing(
    path: Path, patience: float, tidy: bool = True, say: Callable[[str], None] = say_on_stderr
) -> Iterator[DuckDBPyConnection]:
    """The store, to write to, made where there is none; one of an older format is copied and brought up.

    A commit is safe in DuckDB's log; `tidy` moves the log into the file at the close, else it may
    grow to `LOG_LIMIT` first.
    """
    with _explaining(path), _alone(path, patience):
        if not path.exists():
            _create(path)
        with _current(path, patience, say) as connection:
            if not tidy:
                connection.execute("PRAGMA disable_checkpoint_on_shutdown")
            try:
                yield connection
            finally:
                modes.match(log_of(path), path)
            if log_of(path).exists() and log_of(path).stat().st_size > LOG_LIMIT:
                connection.checkpoint()


def shrink(path: Path) -> None:
    """Give back what is free in the file, if that is most of it and nobody else uses the file now."""
    with suppress(StoreLocked), _explaining(path), _alone(path, RETRY):
        with _connect(path, False, RETRY) as connection:
            wasteful = copying.is_wasteful(connection, path)
        if wasteful:
            copying.rewrite(path, SETTINGS)


def compact(path: Path, patience: float) -> None:
    """Put a copy in the file's place that has nothing of what was deleted, however little that is.

    Raises `StoreLocked` where others use the file all the time, `StoreError` where there is no room.
    """
    deadline = time.monotonic() + patience
    with _explaining(path), _alone(path, patience):
        while True:
            with _connect(path, False, patience) as connection:
                connection.checkpoint()
            try:
                return copying.rewrite_or_fail(path, SETTINGS)
            except BlockingIOError as error:
                if time.monotonic() >= deadline:
                    raise locked(path, "another process") from error
            time.sleep(RETRY)


def _current(path: Path, patience: float, say: Callable[[str], None]) -> DuckDBPyConnection:
    """The store opened for writing, in the current format."""
    copied: tuple[int, Path] | None = None
    deadline = time.monotonic() + patience
    while True:
        connection = _connect(path, False, patience)
        found = _version(connection, path)
        if found == migrations.CURRENT:
            if copied:  # someone else has copied it, too, and was faster
                copied[1].unlink(missing_ok=True)
            return connection
        if not found or (copied and copied[0] == found):
            migrations.migrate(connection, found)
            if copied:
                say(f"store {path} had the older format {found}; it is kept as it was in {copied[1]}")
            return connection
        connection.close()  # which moves the log into the file
        try:
            copied = found, copying.keep_copy(path, found)
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise locked(path, "another process") from error
            time.sleep(RETRY)


def file_at(path: Path) -> tuple[int, int] | None:
    """Which file is at a path now; None without one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """All of what happens inside, or nothing."""
    import duckdb

    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):  # a failed commit has ended the transaction by itself
            connection.rollback()
        raise


@contextmanager
def _alone(path: Path, patience: float) -> Iterator[None]:
    """Keep the other threads of this process from writing: DuckDB's lock lets them in."""
    with _guard:
        lock = _threads.setdefault(path.absolute(), threading.Lock())
    if not lock.acquire(timeout=patience):
        raise locked(path, THIS_PROCESS)
    try:
        yield
    finally:
        lock.release()


def _version(connection: DuckDBPyConnection, path: Path) -> int:
    try:
        return migrations.version(connection, path)
    except BaseException:
        connection.close()
        raise


def _create(path: Path) -> None:
    """Make the file aside and link it into place, whole: DuckDB refuses one that a kill left half made."""
    aside = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        modes.make_folder(path.parent)
        log_of(path).unlink(missing_ok=True)  # of a store that someone deleted: it fits no other
        aside.unlink(missing_ok=True)
        with _connect(aside, False, 0) as connection:
            aside.chmod(modes.OWNERS)
            migrations.migrate(connection, 0)
        with suppress(FileExistsError):  # someone else was faster
            os.link(aside, path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _connect(
    path: Path, read_only: bool, patience: float, settings: Settings = SETTINGS
) -> DuckDBPyConnection:
    import duckdb

    name = _utf8(path)

    def opened() -> DuckDBPyConnection | None:
        before = file_at(path)
        connection = duckdb.connect(name, read_only=read_only, config=settings)
        if before in (None, file_at(path)):
            return connection
        connection.close()  # another file took its place meanwhile: nobody will look into this one
        return None

    return _insisting(path, patience, opened)


@contextmanager
def attached(connection: DuckDBPyConnection, path: Path, patience: float) -> Iterator[str]:
    """Another store, to read from beside the open one; gives the name of it in SQL."""
    name = _utf8(path).replace("'", "''")
    ((own,),) = connection.execute("SELECT current_database()").fetchall()  # the name of its file
    other = "another" if own.lower() == "other" else "other"
    _insisting(path, patience, lambda: connection.execute(f"ATTACH '{name}' AS {other} (READ_ONLY)"))
    try:
        yield other
    finally:
        connection.execute(f"DETACH {other}")


def _insisting[Got](path: Path, patience: float, get: Callable[[], Got | None]) -> Got:
    """Try until there is something, or someone else held the file for all that time."""
    import duckdb

    deadline = time.monotonic() + patience
    while True:
        try:
            if (got := get()) is not None:
                return got
        except duckdb.Error as error:
            if not (holder := holder_in(str(error))):
                raise
            if time.monotonic() >= deadline:
                raise locked(path, holder) from error
        time.sleep(RETRY)


def _utf8(path: Path) -> str:
    """The path as DuckDB needs it: UTF-8, whatever the locale's encoding has Python make of its bytes."""
    try:
        return os.fsencode(path).decode()
    except UnicodeDecodeError as error:
        raise StoreError(
            f"store {path} can not be used: its name is no UTF-8; name another with --store"
        ) from error


@contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Say what DuckDB or the file system said in one line, as a `StoreError`."""
    import duckdb

    try:
        yield
    except OSError as error:
        what = f"{error.strerror} ({error.filename})" if error.filename else str(error)
        raise StoreError(f"store {path} can not be used: {what}; name another with --store") from error
    except duckdb.Error as error:
        if isinstance(error, duckdb.ProgrammingError) and "configuration has been locked" not in str(error):
            raise  # our own SQL is wrong: a bug
        what = _first_line(str(error))
        raise StoreError(f"store {path} can not be used: {what}; name another with --store") from error


def _first_line(message: str) -> str:
    line = message.strip().splitlines()[0] if message.strip() else "DuckDB says nothing more"
    if "not a valid DuckDB database file" in line:
        return "it is no DuckDB file"
    return re.sub(r"^\w+(?: \w+)? Error: ", "", line)
