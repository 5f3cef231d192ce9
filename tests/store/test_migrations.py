"""A store of another version is brought up to date, or refused in one line."""

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
