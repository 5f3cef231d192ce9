"""Writing recordings and exchanges, through DuckDB's appender, a transaction a batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store import marks, modes
from abs_replay.store.copying import log_of
from abs_replay.store.marks import Kept, MarkRow
from abs_replay.store.opening import file_at, transaction
from abs_replay.store.rows import EXCHANGE_COLUMNS, Row, exchange_row, recording_row
from abs_replay.store.schema import EXCHANGE_TABLES
from abs_replay.store.spool import Spool
from abs_replay.store.unfinished import taking_left_open

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LARGE = 256 << 10  # bytes of bodies
AT_ONCE = 32  # rows; DuckDB lets no other thread run while it takes them over (0.03 ms each)
ROW_GROUP = 122_880  # rows; DuckDB compresses an unfinished group again whenever it grows
_RECORDING, _ID = list(EXCHANGE_COLUMNS).index("recording"), list(EXCHANGE_COLUMNS).index("id")


# Not through the view: to expand all its columns doubles the time of a small batch.
_KNOWN = "SELECT recording, id FROM {} WHERE list_contains(?::VARCHAR[], id)"


class Writer:
    """An open store; each batch is one transaction, and on disk when `append` returns."""

    def __init__(self, connection: DuckDBPyConnection, path: Path) -> None:
        self._connection, self._path, self._file = connection, path, file_at(path)

    def append(self, recording_id: str, kept: Sequence[Kept]) -> None:
        """Keep these exchanges and marks; those that the recording already has are ignored.

        Raises `StoreError` where the open file is no longer the one at its path: nobody will find what
        is in it.
        """
        rows = [exchange_row(recording_id, each) for each in marks.exchanges_in(kept)]
        insert_kept(self._connection, rows, marks.rows_in(recording_id, kept))
        modes.match(log_of(self._path), self._path)
        _see_that_it_is_there(self._path, self._file)


def _see_that_it_is_there(path: Path, file: tuple[int, int] | None) -> None:
    if file_at(path) != file:
        raise StoreError(f"store {path} was deleted or moved while it was written")


def append(connection: DuckDBPyConnection, table: str, rows: Iterable[Row]) -> None:
    """Append rows that have no bodies to a table."""
    with connection.appender(table) as appender:
        for some in batched(rows, AT_ONCE):
            appender.append_rows(some)


def insert(connection: DuckDBPyConnection, table: str, rows: Iterable[Row]) -> None:
    """Append rows to a table; those with large bodies as parameters, which DuckDB takes over ten times as
    fast: no other thread runs meanwhile."""
    large: list[Row] = []
    with connection.appender(table) as appender:
        for some in batched(rows, AT_ONCE):
            large += [row for row in some if _weight(row) > LARGE]
            for few in _few([row for row in some if _weight(row) <= LARGE]):
                appender.append_rows(few)
    for row in large:
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row))


def _weight(row: Row) -> int:
    return sum(len(value) for value in row if isinstance(value, bytes))


def _few(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows in groups whose bodies come to little more than `LARGE`."""
    few, weight = list[Row](), 0
    for row in rows:
        few.append(row)
        weight += _weight(row)
        if weight > LARGE:
            yield few
            few, weight = [], 0
    if few:
        yield few


def insert_kept(connection: DuckDBPyConnection, rows: Sequence[Row], marked: Sequence[MarkRow] = ()) -> None:
    """Append the exchanges and marks that are not there yet, in one transaction."""
    with transaction(connection):
        insert(connection, "exchanges_recent", new_rows(connection, rows))
        marks.add(connection, marked)


def new_rows(
    connection: DuckDBPyConnection, rows: Sequence[Row], tables: Sequence[str] = EXCHANGE_TABLES
) -> list[Row]:
    """Those rows, each once, whose (recording, id) is in none of the tables."""
    ids = [row[_ID] for row in rows]
    query = " UNION ALL ".join(map(_KNOWN.format, tables))
    known = set(connection.execute(query, [ids] * len(tables)).fetchall())
    fresh = {(row[_RECORDING], row[_ID]): row for row in reversed(rows)}
    return [row for key, row in reversed(fresh.items()) if key not in known]


def insert_recording(connection: DuckDBPyConnection, recording: Recording) -> bool:
    """Add a recording, unless it is there."""
    known = has_recording(connection, recording.id)
    if not known:
        insert(connection, "recordings", [recording_row(recording)])
        marks.add(connection, marks.rows_in(recording.id, recording.marks))
    return not known


def has_recording(connection: DuckDBPyConnection, recording_id: str) -> bool:
    """Whether a recording is there."""
    return bool(connection.execute("SELECT id FROM recordings WHERE id = ?", [recording_id]).fetchall())


def fold(connection: DuckDBPyConnection, path: Path, spool: Spool) -> None:
    """Take in what was spooled: what a kill left aside, and what came since.

    Raises `StoreError` where the open file is no longer the one at the store's path; all stays spooled.
    """
    file = file_at(path)
    for _ in range(2):
        if spool.is_empty:
            spool.taken()
            return
        with spool.draining() as batches:
            for some in batches:
                for recording in some.recordings:
                    insert_recording(connection, recording)
                insert_kept(connection, some.exchanges, some.marks)
            _see_that_it_is_there(path, file)


def fold_left_open(connection: DuckDBPyConnection, path: Path) -> None:
    """Take in what killed recorders left of exchanges that had not ended, unless they have ended since."""
    with taking_left_open(path) as rows:
        if rows:
            insert_kept(connection, rows)


def count(connection: DuckDBPyConnection, recording_id: str) -> int:
    """How many exchanges a recording has."""
    query = "SELECT count(*) FROM exchanges WHERE recording = ?"
    return int(connection.execute(query, [recording_id]).fetchall()[0][0])


def end_recording(connection: DuckDBPyConnection, recording_id: str, ended_at: float) -> bool:
    """Note a recording's end, and compress; False where there is no such recording."""
    query = "UPDATE recordings SET ended_at = ? WHERE id = ? RETURNING id"
    found = bool(connection.execute(query, [ended_at, recording_id]).fetchall())
    compress(connection)
    return found


def compress(connection: DuckDBPyConnection) -> None:
    """Compress what has ended, if it is worth that."""
    if _worth_compressing(connection):
        _compress(connection)


_ENDED = "recording IN (SELECT id FROM recordings WHERE ended_at IS NOT NULL)"


def _worth_compressing(connection: DuckDBPyConnection) -> bool:
    """Whether the ended exchanges weigh up what must be compressed again with them (0.2 ms a row)."""
    (ended,) = connection.execute(f"SELECT count(*) FROM exchanges_recent WHERE {_ENDED}").fetchall()[0]
    (kept,) = connection.execute("SELECT count(*) FROM exchanges_kept").fetchall()[0]
    return bool(ended * 8 >= kept % ROW_GROUP)


def _compress(connection: DuckDBPyConnection) -> None:
    connection.checkpoint()  # rows that are still in the log would leave their place in the file unused
    with transaction(connection):
        connection.execute(f"INSERT INTO exchanges_kept SELECT * FROM exchanges_recent WHERE {_ENDED}")
        connection.execute(f"DELETE FROM exchanges_recent WHERE {_ENDED}")
