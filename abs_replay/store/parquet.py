"""Steps of traces as the bytes of a Parquet file, made in a database of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store.opening import SETTINGS
from abs_replay.store.schema import STEP_COLUMNS
from abs_replay.store.texts import json_text, plain
from abs_replay.store.traces import step_row
from abs_replay.store.writing import insert
from abs_replay.trace import Trace

# What a trace says of each of its steps; times are Unix seconds.
_OF_TRACE = {"session": "VARCHAR", "started_at": "DOUBLE", "tags": "VARCHAR", "agent_version": "VARCHAR"}
COLUMNS = STEP_COLUMNS | _OF_TRACE


def steps_as_parquet(recording: Recording, traces: Sequence[Trace]) -> bytes:
    """Give a table with the columns of `steps` and of their trace; raises `StoreError`."""
    import duckdb

    columns = ", ".join(f'"{name}" {kind}' for name, kind in COLUMNS.items())
    rows = [
        (
            *step_row(trace.recording or recording.id, trace.id, step),
            plain(trace.session),
            trace.started_at,
            json_text(trace.tags),
            plain(trace.agent_version),
        )
        for trace in traces
        for step in trace.steps
    ]
    with tempfile.TemporaryDirectory() as folder, duckdb.connect(":memory:", config=SETTINGS) as connection:
        path = Path(folder, "steps.parquet")
        try:
            connection.execute(f"CREATE TABLE steps ({columns})")
            insert(connection, "steps", rows)
            connection.execute(f"COPY steps TO '{_quoted(path)}' (FORMAT parquet, COMPRESSION zstd)")
            return path.read_bytes()
        except (duckdb.Error, OSError) as error:
            what = str(error).partition("\n")[0]
            raise StoreError(f"the steps can not be written as Parquet: {what}; is the disk full?") from error


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")
