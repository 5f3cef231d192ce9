"""A store of another version is brought up to date, or refused in one line."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from abs_replay.errors import StoreError
from abs_replay.exchange import Channel, Exchange, Message, Recording, Request, Response, Role, WebSocket
from abs_replay.store import Store
from abs_replay.store.migrations import CURRENT, MIGRATIONS
from abs_replay.store.rows import exchange_row
from abs_replay.store.writing import insert
from abs_replay.trace import Branch, Step, Trace
from abs_replay.verdicts import Grading, Judged, Report, Result, Run, Status, Verdict


def test_versions_count_up_from_one() -> None:
    assert [migration.version for migration in MIGRATIONS] == list(range(1, CURRENT + 1))


def test_an_empty_duckdb_file_becomes_a_store_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    duckdb.connect(path).close()

    assert Store(path).recordings() == ()
    with duckdb.connect(path, read_only=True) as connection:
        assert connection.execute("SELECT max(version) FROM schema_versions").fetchall() == [(CURRENT,)]


def test_a_store_of_a_newer_version_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    store = Store(path)
    store.begin(Recording("r", "demo", 1.0))
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO schema_versions VALUES (99, 'of tomorrow')")

    for call in (store.recordings, lambda: store.end("r", 2.0)):
        with pytest.raises(StoreError) as caught:
            call()
        assert str(caught.value) == (
            f"store {path} has format 99, this abs-replay knows formats up to {CURRENT}: "
            "upgrade abs-replay, or name another store with --store or ABS_STORE"
        )


def made_by(path: Path, version: int) -> None:
    """A store as that version left it."""
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE schema_versions (version INTEGER, name VARCHAR)")
        for migration in MIGRATIONS[:version]:
            for statement in migration.statements:
                connection.execute(statement)
            connection.execute(
                "INSERT INTO schema_versions VALUES (?, ?)", [migration.version, migration.name]
            )
        connection.execute(
            "INSERT INTO recordings (id, name, started_at, tags, upstreams) "
            "VALUES ('r', 'demo', 1, '{}', '[]')"
        )


def test_a_copy_of_an_older_store_is_kept_and_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, copy = tmp_path / "store.duckdb", tmp_path / "store.duckdb.v3.bak"
    made_by(path, 3)
    before = path.read_bytes()

    assert [each.recording.name for each in Store(path).recordings()] == ["demo"]

    said = f"abs: store {path} had the older format 3; it is kept as it was in {copy}\n"
    assert capsys.readouterr().err == said
    assert copy.read_bytes() == before
    Store(path).append("r", [])
    assert capsys.readouterr().err == ""
    assert sorted(each.name for each in tmp_path.iterdir() if each.suffix == ".bak") == [copy.name]


def test_what_is_still_in_the_log_of_an_older_store_is_in_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    made_by(path, 3)
    with duckdb.connect(path) as connection:
        connection.execute("PRAGMA disable_checkpoint_on_shutdown")
        connection.execute("UPDATE recordings SET name = 'renamed'")
    assert path.with_name("store.duckdb.wal").exists()

    Store(path, say=lambda _: None).append("r", [])

    with duckdb.connect(tmp_path / "store.duckdb.v3.bak", read_only=True) as connection:
        assert connection.execute("SELECT name FROM recordings").fetchall() == [("renamed",)]


def test_a_copy_that_is_there_already_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    made_by(path, 3)
    (tmp_path / "store.duckdb.v3.bak").write_text("precious")

    Store(path, say=lambda _: None).append("r", [])

    assert (tmp_path / "store.duckdb.v3.bak").read_text() == "precious"
    assert (tmp_path / "store.duckdb.v3.2.bak").exists()


def test_a_store_that_can_not_be_copied_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.duckdb"
    made_by(path, 3)
    before = path.read_bytes()
    (tmp_path / "store.duckdb.v3.bak.new").mkdir()  # in the way of the copy

    with pytest.raises(StoreError) as caught:
        Store(path).recordings()

    assert str(caught.value).startswith(
        f"store {path} has the older format 3, and a copy of it, to be kept, can not be written: "
    )
    assert path.read_bytes() == before


def test_those_who_open_an_older_store_at_once_all_get_in_and_one_copies_it(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    made_by(path, 3)
    said: list[str] = []
    with ThreadPoolExecutor(4) as threads:
        names = [
            threads.submit(lambda: Store(path, say=said.append).recording("last").name) for _ in range(4)
        ]
        assert [each.result() for each in names] == ["demo"] * 4
    assert len(said) == 1
    assert len(list(tmp_path.glob("*.bak"))) == 1


READ = "import sys; from abs_replay.store import Store; print(Store(sys.argv[1]).recording('last').name)"


@pytest.mark.processes
def test_so_do_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    made_by(path, 3)
    command = [sys.executable, "-c", READ, str(path)]
    readers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    ended = [reader.communicate(timeout=60) for reader in readers]
    assert [out for out, _ in ended] == [b"demo\n"] * 3
    assert sum(b"older format 3" in err for _, err in ended) == 1
    assert len(list(tmp_path.glob("*.bak"))) == 1


def test_a_store_of_the_first_version_keeps_its_traces_and_takes_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE schema_versions (version INTEGER, name VARCHAR)")
        connection.execute("INSERT INTO schema_versions VALUES (1, 'first')")
        for statement in MIGRATIONS[0].statements:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO recordings (id, name, started_at, tags, upstreams) "
            "VALUES ('r', 'demo', 1, '{}', '[]')"
        )
        connection.execute("INSERT INTO derivations VALUES ('r', 'd', '1')")
        connection.execute(
            "INSERT INTO traces (recording, id, position, bindings, vars, tags) "
            "VALUES ('r', 't', 0, '{}', '{}', '{}')"
        )
        connection.execute(
            "INSERT INTO steps (recording, trace, seq, actor, action, visibility, sources) "
            "VALUES ('r', 't', 1, 'user', 'says', 'user', '[]')"
        )
    store = Store(path)

    (old,) = store.traces()
    assert (old.branch_of, old.steps) == (None, (Step(1, "user", "says"),))
    new = Trace("n", (Step(1, "user", "says", retries=1, segment="compacted"),), branch_of=Branch("t", 1))
    store.save_traces("r", (new,), "d", "2")
    assert store.traces() == (new,)


def test_a_store_from_before_websockets_keeps_its_exchanges_and_takes_messages(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    old = Exchange("old", Channel(Role.LLM, "llm"), 1.0, Request("GET", "/"), Response(200))
    socket = WebSocket((Message(True, b"hello", True, 1.5), Message(False, b"\xff", False, 2.5)), 1000)
    new = replace(old, id="new", started_at=2.0, response=Response(101), websocket=socket)
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE schema_versions (version INTEGER, name VARCHAR)")
        for migration in MIGRATIONS[:3]:
            for statement in migration.statements:
                connection.execute(statement)
        connection.execute("INSERT INTO schema_versions VALUES (3, 'third')")
        insert(connection, "exchanges_kept", [exchange_row("r", old)[:-1]])
    store = Store(path)
    store.append("r", [new])

    assert store.exchanges("r") == (old, new)


def test_a_store_from_before_answers_keeps_its_gradings_and_takes_judged_ones(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    made_by(path, 6)
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO gradings VALUES ('g-1', 1, 'passed', '{}', 'g-1', '[]', '[]')")
        connection.execute(
            "INSERT INTO runs (grading, run, session, trace, result, bindings, extra, extra_labels, "
            "questions, require_match, strict_user, lines) "
            "VALUES ('g-1', 0, 's', 't', 'passed', '{}', [], '[]', '[]', true, false, '{}')"
        )
        connection.execute(
            "INSERT INTO verdicts VALUES ('g-1', 0, NULL, 0, NULL, 't', 's', 'evaluations[0]', 'contains', "
            "'f', 'passed', 1, NULL, false, 'yes', [1], 0.5, NULL, false, 'contains', false)"
        )
    store = Store(path, say=lambda _: None)
    verdict = Verdict(
        *("evaluations[0]", "contains", Status.PASSED, "yes", 1.0),
        evidence=(1,),
        duration_ms=0.5,
        fingerprint="f",
        label="contains",
    )
    run = Run("s", None, "t", Result.PASSED, (), (verdict,))
    old = Grading("g-1", 1.0, Report((run,), "g-1"))

    assert store.grading("g-1") == old
    judged = replace(verdict, judged=Judged("d", "f", (1.0,)))
    new = replace(
        old, id="g-2", report=Report((replace(run, chain_evaluations=(judged,), trace_digest="t"),))
    )
    store.save_grading(new)
    assert store.grading("g-2") == new
