"""Taking over what another store holds: recordings whole, and gradings, each unless its id is there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abs_replay.store.marks import MARK_COLUMNS
from abs_replay.store.opening import transaction
from abs_replay.store.rows import EXCHANGE_COLUMNS, RECORDING_COLUMNS
from abs_replay.store.schema import (
    ANSWER_COLUMNS,
    ATTEMPT_COLUMNS,
    BEHAVIOR_COLUMNS,
    DERIVATION_COLUMNS,
    GRADING_COLUMNS,
    LABEL_COLUMNS,
    NOTE_COLUMNS,
    QUESTION_COLUMNS,
    RUN_COLUMNS,
    STEP_COLUMNS,
    TRACE_COLUMNS,
    VERDICT_COLUMNS,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# By what is taken over: its table and columns, and those of what belongs to it.
RECORDINGS = {
    "exchanges_kept": EXCHANGE_COLUMNS,
    "exchanges_recent": EXCHANGE_COLUMNS,
    "derivations": DERIVATION_COLUMNS,
    "traces": TRACE_COLUMNS,
    "steps": STEP_COLUMNS,
    "marks": MARK_COLUMNS,
    "notes": NOTE_COLUMNS,
}
GRADINGS = {"runs": RUN_COLUMNS, "behaviors": BEHAVIOR_COLUMNS, "verdicts": VERDICT_COLUMNS}
# By what tells a row from others: an answer that both stores have is there once.
ANSWERS = {
    "questions": (QUESTION_COLUMNS, ("digest",)),
    "answers": (ANSWER_COLUMNS, ("question", "judge", "sample", "made_at")),
    "labels": (LABEL_COLUMNS, ("id",)),
    "attempts": (ATTEMPT_COLUMNS, ("question", "judge", "sample", "attempt", "at")),
}


@dataclass(frozen=True, slots=True)
class Merged:
    """How many recordings and gradings were taken over, and how many were there already."""

    recordings: int
    gradings: int
    there: int


def merge(connection: DuckDBPyConnection, other: str) -> Merged:
    """Take over from an attached store, all or nothing."""
    with transaction(connection):
        recordings, known = _take(connection, other, "recordings", RECORDING_COLUMNS, "recording", RECORDINGS)
        gradings, judged = _take(connection, other, "gradings", GRADING_COLUMNS, "grading", GRADINGS)
        for table, (columns, keys) in ANSWERS.items():
            _add(connection, other, table, columns, keys)
    return Merged(recordings, gradings, known + judged)


def _take(
    connection: DuckDBPyConnection,
    other: str,
    whole: str,
    columns: dict[str, str],
    key: str,
    parts: dict[str, dict[str, str]],
) -> tuple[int, int]:
    """Copy what is not there yet; gives how many were taken and how many were there."""
    ids = [id_ for (id_,) in connection.execute(f"SELECT id FROM {other}.{whole}").fetchall()]
    there = {id_ for (id_,) in connection.execute(f"SELECT id FROM {whole}").fetchall()}
    fresh = [id_ for id_ in ids if id_ not in there]
    for table, its, column in (*((table, its, key) for table, its in parts.items()), (whole, columns, "id")):
        names = ", ".join(f'"{name}"' for name in its)
        connection.execute(
            f"INSERT INTO {table} ({names}) SELECT {names} FROM {other}.{table} "
            f"WHERE list_contains(?::VARCHAR[], {column}) ORDER BY rowid",
            [fresh],
        )
    return len(fresh), len(ids) - len(fresh)


def _add(
    connection: DuckDBPyConnection, other: str, table: str, columns: dict[str, str], keys: tuple[str, ...]
) -> None:
    names, same = ", ".join(f'"{name}"' for name in columns), ", ".join(f'"{key}"' for key in keys)
    connection.execute(
        f"INSERT INTO {table} ({names}) SELECT {names} FROM {other}.{table} "
        f"ANTI JOIN (SELECT {same} FROM {table}) USING ({same}) ORDER BY rowid"
    )
