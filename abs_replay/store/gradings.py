"""Gradings: every verdict a row with its provenance, and all that is needed to read them back equal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abs_replay.errors import StoreError
from abs_replay.store.grading_rows import behavior_rows, grading_row, run_row, verdict_rows
from abs_replay.store.grading_values import Values, judging, provenance, runs_of
from abs_replay.store.opening import transaction
from abs_replay.store.schema import BEHAVIOR_COLUMNS, GRADING_COLUMNS, RUN_COLUMNS, VERDICT_COLUMNS
from abs_replay.store.summaries import GradingSummary
from abs_replay.store.texts import json_value
from abs_replay.store.writing import append
from abs_replay.verdicts import (
    Grading,
    Report,
    Result,
    Status,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def save(connection: DuckDBPyConnection, grading: Grading, path: Path) -> None:
    """Add a grading; raises `StoreError` where its id is taken, since nothing is overwritten."""
    if connection.execute("SELECT id FROM gradings WHERE id = ?", [grading.id]).fetchall():
        raise StoreError(f"grading {grading.id} is already in {path}: give it another id")
    runs = list(enumerate(grading.report.runs))
    with transaction(connection):
        append(connection, "gradings", [grading_row(grading)])
        append(connection, "runs", [run_row(grading.id, *each) for each in runs])
        append(connection, "behaviors", [row for each in runs for row in behavior_rows(grading.id, *each)])
        carried = grading.report.carried
        append(
            connection,
            "verdicts",
            [row for each in runs for row in verdict_rows(grading.id, carried, *each)],
        )


def summaries(connection: DuckDBPyConnection) -> tuple[GradingSummary, ...]:
    """Every grading with its counts, the oldest first."""
    names = ", ".join(f'g."{name}"' for name in GRADING_COLUMNS)
    query = f"""
        WITH of_runs AS (
            SELECT grading, map_from_entries(list((result, n))) AS counts
            FROM (SELECT grading, result, count(*) AS n FROM runs GROUP BY ALL) GROUP BY grading
        ), of_verdicts AS (
            SELECT grading, map_from_entries(list((status, n))) AS counts, sum(m)::BIGINT AS carried
            FROM (
                SELECT grading, status, count(*) AS n, count_if(carried) AS m
                FROM verdicts WHERE parent IS NULL GROUP BY grading, status
            ) GROUP BY grading
        )
        SELECT r.counts, v.counts, coalesce(v.carried, 0), {names}
        FROM gradings g LEFT JOIN of_runs r ON r.grading = g.id LEFT JOIN of_verdicts v ON v.grading = g.id
        ORDER BY g.made_at, g.rowid
    """
    return tuple(_summary(*row) for row in connection.execute(query).fetchall())


def _summary(runs: Any, verdicts: Any, carried: int, *values: Any) -> GradingSummary:
    row: Values = dict(zip(GRADING_COLUMNS, values, strict=True))
    return GradingSummary(
        row["id"],
        row["made_at"],
        Result(row["result"]),
        _counts(Result, runs or {}),
        _counts(Status, verdicts or {}),
        carried,
        json_value(row["files"]),
        provenance(row),
        judging(row["judging"]),
    )


def _counts[Kind](kind: Callable[[str], Kind], counted: Mapping[str, int]) -> dict[Kind, int]:
    return {kind(name): count for name, count in sorted(counted.items())}


def ids(connection: DuckDBPyConnection) -> list[str]:
    """The id of every grading, the oldest first."""
    return [
        id_ for (id_,) in connection.execute("SELECT id FROM gradings ORDER BY made_at, rowid").fetchall()
    ]


def last_comparable(
    connection: DuckDBPyConnection,
    sessions: Collection[str],
    traces: Collection[str],
    before: str | None = None,
    accepted: bool = False,
) -> str | None:
    """The newest grading of all these sessions, else of one, else (renamed since) of one of these traces; of
    those that were made before the one of that id, where it is given, and, if `accepted`, that no gate
    refused."""
    query = """
        SELECT g.id FROM gradings g JOIN runs r ON r.grading = g.id
        SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS name) AS wanted ON wanted.name = r.{column}
        WHERE (
            ?::VARCHAR IS NULL
            OR (g.made_at, g.rowid) < (SELECT (made_at, rowid) FROM gradings WHERE id = ?)
        ) AND (g.refused IS NULL OR NOT ?)
        GROUP BY g.id, g.made_at, g.rowid
        ORDER BY {all_of_them} g.made_at DESC, g.rowid DESC LIMIT 1
    """
    for column, names, all_of_them in (
        ("session", sessions, f"count(DISTINCT r.session) = {len(sessions)} DESC,"),
        ("trace", traces, ""),
    ):
        query_of = query.format(column=column, all_of_them=all_of_them)
        found: list[tuple[str]] = connection.execute(
            query_of, [list(names), before, before, accepted]
        ).fetchall()
        if found:
            return found[0][0]
    return None


def grading(connection: DuckDBPyConnection, grading_id: str) -> Grading:
    """A grading as it was saved."""
    (row,) = _select(connection, "gradings", GRADING_COLUMNS, grading_id, "id", key="id")
    verdicts = _select(connection, "verdicts", VERDICT_COLUMNS, grading_id, "run, verdict")
    behaviors = _select(connection, "behaviors", BEHAVIOR_COLUMNS, grading_id, "run, behavior")
    runs = _select(connection, "runs", RUN_COLUMNS, grading_id, "run")
    report = Report(
        runs=runs_of(runs, behaviors, verdicts),
        grading=row["report_grading"],
        warnings=tuple(json_value(row["warnings"])),
        ungraded_sessions=tuple(json_value(row["ungraded_sessions"])),
        carried=frozenset((one["session"], one["trace"], one["at"]) for one in verdicts if one["carried"]),
        judging=judging(row["judging"]),
    )
    return Grading(grading_id, row["made_at"], report, json_value(row["files"]), provenance(row))


def _select(
    connection: DuckDBPyConnection,
    table: str,
    columns: Mapping[str, str],
    grading_id: str,
    order: str,
    key: str = "grading",
) -> list[Values]:
    names = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT {names} FROM {table} WHERE {key} = ? ORDER BY {order}"
    return [
        dict(zip(columns, row, strict=True)) for row in connection.execute(query, [grading_id]).fetchall()
    ]
