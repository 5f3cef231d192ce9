"""Changing what is stored: exchanges as a whole, and every column in which something was said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abs_replay.exchange import Exchange
from abs_replay.store import reading
from abs_replay.store.opening import transaction
from abs_replay.store.rows import exchange_row
from abs_replay.store.schema import EXCHANGE_TABLES
from abs_replay.store.writing import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# Ids, digests, states and the places of evidence say nothing that was said.
TEXTS = {
    "recordings": ("name", "session", "tags", "upstreams"),
    "marks": ("name",),
    "notes": ("tags", "note"),
    "traces": ("session", "bindings", "vars", "tags", "agent_version"),
    "steps": ("target", "content", "arguments", "error"),
    "runs": ("bindings", "problem", "questions", "lines", "extra_labels"),
    "behaviors": ("target", "content"),
    "verdicts": ("reason", "label"),
    "gradings": ("warnings", "command", "refused"),
    "questions": ("criteria", "prompt", "evidence"),
    "answers": ("reason", "error", "details"),
    "labels": ("note",),
    "attempts": ("sent", "reply", "problem"),
}
ROWS = 1000  # of texts that are changed at once


@dataclass(frozen=True, slots=True)
class Changed:
    """How many exchanges a change was made to, of how many, and how many rows of other tables."""

    exchanges: int
    of: int
    texts: int


def change(
    connection: DuckDBPyConnection,
    exchange: Callable[[Exchange], Exchange],
    text: Callable[[str], str],
    keep: bool,
) -> Changed:
    """Change exchanges, the oldest first, then texts; a batch is one transaction. Without `keep`, only count.

    What a batch changed stays changed if a later one fails: who calls this again takes up there.
    """
    exchanges = count = 0
    for recording in reading.recordings(connection):
        for ids in reading.batches(reading.exchange_summaries(connection, recording.id)):
            before = reading.exchanges(connection, recording.id, ids)
            after = [new for old in before if (new := exchange(old)) != old]
            exchanges, count = exchanges + len(after), count + len(before)
            if after and keep:
                _replace(connection, recording.id, after)
    texts = sum(_change_texts(connection, table, columns, text, keep) for table, columns in TEXTS.items())
    return Changed(exchanges, count, texts)


def _replace(connection: DuckDBPyConnection, recording_id: str, exchanges: list[Exchange]) -> None:
    ids = [each.id for each in exchanges]
    with transaction(connection):
        for table in EXCHANGE_TABLES:
            connection.execute(
                f"DELETE FROM {table} WHERE recording = ? AND list_contains(?::VARCHAR[], id)",
                [recording_id, ids],
            )
        insert(connection, "exchanges_recent", [exchange_row(recording_id, each) for each in exchanges])


def _change_texts(
    connection: DuckDBPyConnection,
    table: str,
    columns: tuple[str, ...],
    text: Callable[[str], str],
    keep: bool,
) -> int:
    names = ", ".join(f'"{column}"' for column in columns)
    rows = connection.execute(f"SELECT rowid, {names} FROM {table}").fetchall()
    found = [(row[0], new) for row in rows if (new := _changed(row[1:], text)) != row[1:]]
    setting = ", ".join(f'"{column}" = ?' for column in columns)
    for batch in _batches(found) if keep else ():
        with transaction(connection):
            for rowid, values in batch:
                connection.execute(f"UPDATE {table} SET {setting} WHERE rowid = ?", [*values, rowid])
    return len(found)


def _changed(values: tuple[str | None, ...], text: Callable[[str], str]) -> tuple[str | None, ...]:
    return tuple(value if value is None else text(value) for value in values)


def _batches[Row](rows: list[Row]) -> Iterator[list[Row]]:
    for start in range(0, len(rows), ROWS):
        yield rows[start : start + ROWS]
