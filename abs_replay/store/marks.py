"""Marks: where the conversations of a recording end. They are kept with the exchanges, in the same ways."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from abs_replay.exchange import Exchange, Mark
from abs_replay.store.texts import plain

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MARK_COLUMNS = {"recording": "VARCHAR", "marked_at": "DOUBLE", "name": "VARCHAR"}

type Kept = Exchange | Mark  # what a recorder keeps
type MarkRow = tuple[str, float, str | None]

_ADDED = """
    INSERT INTO marks SELECT $1, $2, $3 WHERE NOT EXISTS (
        SELECT 1 FROM marks WHERE recording = $1 AND marked_at = $2 AND name IS NOT DISTINCT FROM $3
    )
"""


def exchanges_in(kept: Iterable[Kept]) -> list[Exchange]:
    """The exchanges among what is kept."""
    return [each for each in kept if isinstance(each, Exchange)]


def rows_in(recording_id: str, kept: Iterable[Kept]) -> list[MarkRow]:
    """The marks among what is kept, as rows of their table."""
    return [(recording_id, each.at, plain(each.name)) for each in kept if isinstance(each, Mark)]


def add(connection: DuckDBPyConnection, rows: Sequence[MarkRow]) -> None:
    """Add those marks that are not there yet."""
    for row in rows:
        connection.execute(_ADDED, list(row))


def by_recording(connection: DuckDBPyConnection) -> dict[str, tuple[Mark, ...]]:
    """The marks of each recording that has some, in the order of their times."""
    found: dict[str, list[Mark]] = defaultdict(list)
    rows = connection.execute(
        "SELECT recording, marked_at, name FROM marks ORDER BY marked_at, rowid"
    ).fetchall()
    for recording, at, name in rows:
        found[recording].append(Mark(at, name))
    return {recording: tuple(marks) for recording, marks in found.items()}


def digests(marks: Iterable[Mark]) -> list[str]:
    """What stands for each mark among the digests of what traces are derived from."""
    return [f"mark {mark.at!r} {json.dumps(mark.name)}" for mark in marks]


def line_of(row: MarkRow) -> str:
    """A mark as a line of a spool, which `row_of_line` of exchanges takes for none."""
    recording, at, name = row
    return json.dumps({"mark": at, "recording": recording, "name": name})


def row_of(line: bytes) -> MarkRow | None:
    """The mark of such a line; None for any other line, and for a torn one."""
    if not line.startswith(b'{"mark"'):
        return None
    try:
        values: dict[str, Any] = json.loads(line)
        recording, at, name = values["recording"], values["mark"], values["name"]
    except (ValueError, KeyError, RecursionError):
        return None
    known = isinstance(recording, str) and isinstance(at, float | int) and isinstance(name, str | None)
    return (recording, at, name) if known else None
