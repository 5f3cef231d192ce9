"""Removing recordings with all they hold, single traces, and gradings with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abs_replay.store.opening import transaction
from abs_replay.store.schema import EXCHANGE_TABLES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

OF_RECORDINGS = (*EXCHANGE_TABLES, "derivations", "traces", "steps", "marks", "notes")
OF_GRADINGS = ("verdicts", "behaviors", "runs")


@dataclass(frozen=True, slots=True)
class Single:
    """One trace, with the exchanges that go with it."""

    recording: str
    trace: str
    exchanges: tuple[str, ...] = ()


def remove(
    connection: DuckDBPyConnection,
    recordings: Sequence[str],
    gradings: Sequence[str],
    traces: Sequence[Single] = (),
) -> None:
    """Remove these, all or nothing; their room in the file is used again.

    Gradings outlive the traces that they judged: a verdict has its evidence in words. With the last grading
    that rests on an answer, the answer goes, and its question.
    """
    with transaction(connection):
        _remove_answers(connection, list(gradings))
        for single in traces:
            _remove_trace(connection, single)
        for tables, column, whole, ids in (
            (OF_RECORDINGS, "recording", "recordings", list(recordings)),
            (OF_GRADINGS, "grading", "gradings", list(gradings)),
        ):
            for table, key in (*((table, column) for table in tables), (whole, "id")):
                connection.execute(f"DELETE FROM {table} WHERE list_contains(?::VARCHAR[], {key})", [ids])


def _remove_trace(connection: DuckDBPyConnection, single: Single) -> None:
    """A trace that branches off this one keeps all its steps, and branches off nothing from now on."""
    here = [single.recording, single.trace]
    connection.execute(
        "UPDATE traces SET branch_of = NULL, branch_step = NULL WHERE recording = ? AND branch_of = ?", here
    )
    connection.execute("DELETE FROM traces WHERE recording = ? AND id = ?", here)
    connection.execute("DELETE FROM steps WHERE recording = ? AND trace = ?", here)
    connection.execute("DELETE FROM notes WHERE recording = ? AND kind = 'trace' AND id = ?", here)
    exchanges = [single.recording, list(single.exchanges)]
    of_exchanges = "WHERE recording = ? AND list_contains(?::VARCHAR[], id)"
    for table in EXCHANGE_TABLES:
        connection.execute(f"DELETE FROM {table} {of_exchanges}", exchanges)
    connection.execute(f"DELETE FROM notes {of_exchanges} AND kind = 'exchange'", exchanges)


_UNUSED = """
    SELECT question FROM (
        SELECT question FROM verdicts WHERE list_contains(?::VARCHAR[], grading) AND question IS NOT NULL
        UNION SELECT question FROM answers WHERE list_contains(?::VARCHAR[], grading)
    ) ANTI JOIN (
        SELECT question FROM verdicts WHERE NOT list_contains(?::VARCHAR[], grading) AND question IS NOT NULL
    ) USING (question)
"""


def _remove_answers(connection: DuckDBPyConnection, gradings: list[str]) -> None:
    unused = [question for (question,) in connection.execute(_UNUSED, [gradings] * 3).fetchall()]
    for table, column in (("answers", "question"), ("attempts", "question"), ("questions", "digest")):
        connection.execute(f"DELETE FROM {table} WHERE list_contains(?::VARCHAR[], {column})", [unused])


def gradings_of(
    connection: DuckDBPyConnection, recordings: Sequence[str], traces: Sequence[str] = ()
) -> list[str]:
    """The gradings that judged traces of these recordings, or these traces."""
    query = """
        SELECT DISTINCT grading FROM runs
        WHERE list_contains(?::VARCHAR[], trace)
            OR trace IN (SELECT id FROM traces WHERE list_contains(?::VARCHAR[], recording)) ORDER BY grading
    """
    values = [list(traces), list(recordings)]
    return [grading for (grading,) in connection.execute(query, values).fetchall()]
