"""Steps come out as a table that any reader of Parquet understands."""

from pathlib import Path
from typing import Any

import duckdb

from abs_replay.exchange import Recording
from abs_replay.exporters import Content, render
from abs_replay.importers import Source, read
from abs_replay.trace import Trace

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"


def table(tmp_path: Path, traces: tuple[Trace, ...], query: str) -> list[tuple[Any, ...]]:
    path = tmp_path / "it's steps.parquet"
    path.write_bytes(render("parquet", Content(Recording("r", "n", 0.0), traces=traces)))
    with duckdb.connect() as connection:
        connection.from_parquet(str(path)).create_view("steps")
        return connection.execute(query).fetchall()


def traces_of(name: str) -> tuple[Trace, ...]:
    path = FIXTURES / name
    return read(path.parent.name, Source(path, path.read_bytes())).traces


def test_every_step_is_a_row_with_what_its_trace_says(tmp_path: Path) -> None:
    traces = traces_of("langfuse/trace-tr-1.json")
    rows = table(tmp_path, traces, "SELECT recording, trace, seq, actor, action, started_at, tags FROM steps")
    (trace,) = traces
    assert [row[:5] for row in rows] == [
        ("r", trace.id, step.seq, step.actor, step.action) for step in trace.steps
    ]
    assert {row[5] for row in rows} == {trace.started_at}
    assert all('"name":"order-agent"' in row[6] for row in rows)


def test_structures_are_json_and_numbers_stay_exact(tmp_path: Path) -> None:
    query = "SELECT content ->> 'status', content FROM steps WHERE actor = 'tool' ORDER BY seq"
    rows = table(tmp_path, traces_of("messages/chats.jsonl")[:1], query)
    assert rows[0] == ("shipped", '{"status":"shipped","weight":1.50}')


def test_tokens_and_times_are_numbers(tmp_path: Path) -> None:
    query = "SELECT sum(input_tokens), sum(output_tokens), max(at_ms) FROM steps"
    assert table(tmp_path, traces_of("langsmith/runs.json"), query) == [(60, 13, 4000.0)]


def test_no_traces_are_a_table_without_rows(tmp_path: Path) -> None:
    assert table(tmp_path, (), "SELECT count(*) FROM steps") == [(0,)]
