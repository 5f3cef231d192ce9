"""`abs sql`, as it is called: where the query comes from, how the answer is written, when it gives up."""

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay.cli import cli, sql
from abs_replay.cli.failure import run
from abs_replay.derivation import traces_of
from abs_replay.exchange import Recording
from abs_replay.store import Store

type Calls = Callable[..., tuple[int, str, str]]
VALUES = """
    SELECT 1 AS n, 1.50::DECIMAL(5, 2) AS d, 'nan'::DOUBLE AS nan, true AS yes, NULL AS nothing,
        'a,"b"\n' AS text, '{"a": 1.10}'::JSON AS json, TIMESTAMP '2026-05-31 12:00:00.5' AS at,
        [1, 2] AS list, 'ab'::BLOB AS bytes
"""
ALL_LOADED = """
import sys
import duckdb, abs_replay.store
from abs_replay.cli import main

print("loaded", flush=True)
main()
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sql") / "store.duckdb"
    Store(path).begin(Recording("r-1", "demo\x1b[2J", 1.5))
    traces_of(Store(path))
    return path


@pytest.fixture
def abs_(store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    monkeypatch.setenv("ABS_STORE", str(store))

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def test_an_answer_is_a_table_for_people(abs_: Calls) -> None:
    assert abs_("sql", "SELECT id, name, ended_at, 12 AS n FROM recordings") == (
        0,
        "id   name         ended_at   n\nr-1  demo\\x1b[2J  –         12\n",
        "",
    )


def test_an_answer_is_json_with_values_as_they_are(abs_: Calls) -> None:
    status, out, _ = abs_("sql", VALUES, "--format", "json")

    assert '"a": 1.10' in out
    assert (status, json.loads(out)) == (
        0,
        [
            {
                "n": 1,
                "d": 1.5,
                "nan": "nan",
                "yes": True,
                "nothing": None,
                "text": 'a,"b"\n',
                "json": {"a": 1.1},
                "at": "2026-05-31T12:00:00.500000",
                "list": [1, 2],
                "bytes": "YWI=",
            }
        ],
    )
    assert abs_("sql", "SELECT 1 AS a, 2 AS a", "--format", "json")[0] == 2


def test_an_answer_is_csv_that_reads_back(abs_: Calls, tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(f"-- what there is\n{VALUES};\n")
    out = tmp_path / "out.csv"

    assert abs_("sql", "--file", str(tmp_path / "q.sql"), "--format", "csv", "--output", str(out))[:2] == (
        0,
        "",
    )
    (row,) = csv.DictReader(io.StringIO(out.read_text()))
    assert list(row.values()) == [
        *("1", "1.50", "nan", "true", "", 'a,"b"\n', '{"a": 1.10}'),
        *("2026-05-31 12:00:00.500000", "[1,2]", "YWI="),
    ]


def test_the_views_are_listed_without_a_store(abs_: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ABS_STORE", "/nowhere/at/all")
    status, out, _ = abs_("sql", "--schema")

    assert (status, "\ncurrent_verdicts: each evaluation as it stands" in out) == (0, True)
    rows = json.loads(abs_("sql", "--schema", "--format", "json")[1])
    assert {"view": "traces", "column": "tool_calls", "type": "BIGINT"}.items() <= rows[
        [row["column"] for row in rows].index("tool_calls")
    ].items()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give one query, or the --file"),
        (("SELECT 1", "--file", "q.sql"), "give one query, or the --file"),
        (("--file", "nowhere.sql"), "nowhere.sql: can not be read"),
        (("SELECT 1", "--schema"), "leave the query out"),
        (("SELECT nope",), 'abs sql: Referenced column "nope" was not found'),
        (("COPY (SELECT 1) TO 'a.csv'",), "abs sql: a statement of type COPY: the store is only read"),
        (
            ("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b", "--time-limit", "0.1"),
            "abs sql: it took longer than 0.1 s",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_line(abs_: Calls, arguments: tuple[str, ...], said: str) -> None:
    status, out, err = abs_("sql", *arguments)

    assert (status, out, err.count("\n"), said in err) == (2, "", 1, True), err


def test_long_texts_do_not_fill_the_memory(abs_: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "MEMORY", 400 << 20)
    before = resource.getrlimit(resource.RLIMIT_AS)

    status, _, err = abs_("sql", "SELECT repeat('x', 10000000) FROM range(2000)")

    assert (status, "memory" in err, err.count("\n")) == (2, True, 1)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def _processor_time(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(sys.platform != "linux", reason="whether a query is at work is seen in /proc")
def test_control_c_ends_a_query_of_huge_joins(store: Path) -> None:
    query = "SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b"
    environment = os.environ | {"ABS_STORE": str(store)}
    call = [sys.executable, "-c", ALL_LOADED, "sql", query]
    with subprocess.Popen(call, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        at_work = _processor_time(process.pid) + 1.0  # to open the store takes a third of that
        while _processor_time(process.pid) < at_work:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)

    assert (process.returncode, err.decode().strip()) == (130, "abs: stopped")
