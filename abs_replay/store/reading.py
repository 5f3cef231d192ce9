"""Reading recordings and exchanges. Each function takes all it needs into memory at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from abs_replay.exchange import WITHHELD, Channel, Exchange, Outcome, Recording, Role
from abs_replay.store import marks
from abs_replay.store.rows import EXCHANGE_COLUMNS, RECORDING_COLUMNS, exchange_of, recording_of
from abs_replay.store.schema import EXCHANGE_TABLES
from abs_replay.store.spool import Spooled
from abs_replay.store.summaries import ExchangeSummary, RecordingSummary
from abs_replay.store.writing import insert, insert_recording, new_rows

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

BATCH = 8_000_000  # bytes; each costs an opening and a scan of the ids
_RECORDING = ", ".join(f"r.{column}" for column in RECORDING_COLUMNS)
_EXCHANGE = ", ".join(EXCHANGE_COLUMNS)
# SDKs hang up after the last event, so a client that closed is no error.
_IS_ERROR = (
    "e.status IS NULL OR e.status >= 400 OR e.outcome NOT IN ('complete', 'client_closed') "
    f"OR starts_with(e.error, '{WITHHELD}')"
)
# A size stands there where a body or message was cut, and after redaction for some that were not: each body
# is a query, so that none is read but those. The fifth field of a message is its size.
_CUT = """
    SELECT recording, id FROM exchanges
    WHERE request_size IS NOT NULL AND request_size > octet_length(request_body)
    UNION SELECT recording, id FROM exchanges
    WHERE response_size IS NOT NULL AND response_size > octet_length(response_body)
    UNION SELECT recording, id FROM exchanges
    WHERE websocket IS NOT NULL AND len(json_extract(websocket, '$.messages[*][4]')) > 0
"""


def show_spooled(connection: DuckDBPyConnection, beside: Iterable[Spooled]) -> None:
    """Make this connection see what is spooled as if it were in the store."""
    shown: tuple[str, ...] = EXCHANGE_TABLES
    for some in beside:
        if some.recordings:
            _hide(connection, "recordings")
            for recording in some.recordings:
                insert_recording(connection, recording)
        if some.marks:
            _hide(connection, "marks")
            marks.add(connection, some.marks)
        if fresh := new_rows(connection, some.exchanges, shown):
            if shown is EXCHANGE_TABLES:
                shown = _with_spooled(connection)
            insert(connection, "spooled", fresh)


def _hide(connection: DuckDBPyConnection, table: str) -> None:
    """Put a copy before the store's own table, to which can be added."""
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {table} AS SELECT * FROM {table}")


def _with_spooled(connection: DuckDBPyConnection) -> tuple[str, ...]:
    """Make a table for what is spooled, and hide the store's own view of exchanges by one with it.

    It can not build on that one: DuckDB would take it for itself.
    """
    columns = ", ".join(f"{name} {type_}" for name, type_ in EXCHANGE_COLUMNS.items())
    connection.execute(f"CREATE TEMP TABLE spooled ({columns})")
    tables = (*EXCHANGE_TABLES, "spooled")
    every = " UNION ALL ".join(f"SELECT * FROM {table}" for table in tables)
    connection.execute(f"CREATE TEMP VIEW exchanges AS {every}")
    return tables


def recordings(connection: DuckDBPyConnection) -> list[Recording]:
    """Every recording, the oldest first."""
    query = f"SELECT {_RECORDING} FROM recordings r ORDER BY started_at, rowid"
    return _with_marks(connection, [recording_of(row) for row in connection.execute(query).fetchall()])


def _with_marks(connection: DuckDBPyConnection, found: Sequence[Recording]) -> list[Recording]:
    marked = marks.by_recording(connection)
    return [replace(each, marks=marked[each.id]) if each.id in marked else each for each in found]


def recording_summaries(connection: DuckDBPyConnection) -> tuple[RecordingSummary, ...]:
    """Every recording with its counts, the oldest first."""
    query = f"""
        SELECT {_RECORDING}, e.exchanges, e.errors, e.bytes, d.traces
        FROM recordings r
        LEFT JOIN (
            SELECT recording, count(*) AS exchanges, count(*) FILTER ({_IS_ERROR}) AS errors,
                sum(request_bytes + coalesce(response_bytes, 0)) AS bytes
            FROM exchanges e GROUP BY recording
        ) e ON e.recording = r.id
        LEFT JOIN (
            SELECT d.recording, count(t.id) AS traces
            FROM derivations d LEFT JOIN traces t ON t.recording = d.recording GROUP BY d.recording
        ) d ON d.recording = r.id
        ORDER BY r.started_at, r.rowid
    """
    rows = connection.execute(query).fetchall()
    found = _with_marks(connection, [recording_of(row[: len(RECORDING_COLUMNS)]) for row in rows])
    counts = [row[len(RECORDING_COLUMNS) :] for row in rows]
    return tuple(_recording_summary(*each) for each in zip(found, counts, strict=True))


def _recording_summary(recording: Recording, counts: Sequence[Any]) -> RecordingSummary:
    exchanges_, errors, bytes_, traces = counts
    return RecordingSummary(recording, exchanges_ or 0, errors or 0, int(bytes_ or 0), traces)


def exchanges(
    connection: DuckDBPyConnection, recording_id: str | None, ids: Sequence[str] | None
) -> tuple[Exchange, ...]:
    """Exchanges in start order."""
    query = f"""
        SELECT {_EXCHANGE} FROM exchanges
        WHERE (?::VARCHAR IS NULL OR recording = ?)
        AND (?::VARCHAR[] IS NULL OR id IN (SELECT unnest(?::VARCHAR[])))
    """
    asked = None if ids is None else list(ids)
    rows = connection.execute(query, [recording_id, recording_id, asked, asked]).fetchall()
    # Sorted here: a sort in DuckDB would move every body about.
    return tuple(sorted(map(exchange_of, rows), key=lambda each: (each.started_at, each.id)))


def batches(summaries: Iterable[ExchangeSummary]) -> Iterator[list[str]]:
    """Share exchanges out, as ids, so that the bodies of each batch are about `BATCH` bytes."""
    ids: list[str] = []
    size = 0
    for each in summaries:
        ids.append(each.id)
        size += each.request_bytes + (each.response_bytes or 0)
        if size >= BATCH:
            yield ids
            ids, size = [], 0
    if ids:
        yield ids


def exchange_ids(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    """The recording and the id of every exchange, the oldest first."""
    query = "SELECT recording, id FROM exchanges ORDER BY started_at, id"
    return [(recording, id_) for recording, id_ in connection.execute(query).fetchall()]


def exchange_summaries(
    connection: DuckDBPyConnection, recording_id: str | None
) -> tuple[ExchangeSummary, ...]:
    """Exchanges in start order, without headers and bodies."""
    query = f"""
        SELECT id, recording, role, channel, started_at, method, host, target, status, outcome,
            error, request_bytes, response_bytes, ended_ms,
            CASE WHEN websocket IS NOT NULL THEN json_array_length(websocket, '$.messages') END,
            (recording, id) IN ({_CUT})
        FROM exchanges WHERE (?::VARCHAR IS NULL OR recording = ?) ORDER BY started_at, id
    """
    rows = connection.execute(query, [recording_id, recording_id]).fetchall()
    return tuple(_exchange_summary(*row) for row in rows)


def _exchange_summary(id_: str, recording: str, role: str, name: str, *rest: Any) -> ExchangeSummary:
    started_at, method, host, target, status, outcome, *others = rest
    channel = Channel(Role(role), name)
    return ExchangeSummary(
        id_, recording, channel, started_at, method, host, target, status, Outcome(outcome), *others
    )
