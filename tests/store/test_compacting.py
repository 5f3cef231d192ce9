"""A store that was compacted holds what it held, and nothing of what was deleted in it."""

import os
from pathlib import Path

import pytest

from abs_replay.errors import StoreError, StoreLocked
from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Role
from abs_replay.store import Store, opening

SECRET = b"canary-7f3a"


def exchange(id_: str, body: bytes) -> Exchange:
    return Exchange(id_, Channel(Role.LLM, "m"), 2.0, Request("POST", "/v1", (), Body(body)))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """With one exchange that stays and one that was deleted."""
    store = Store(tmp_path / "it's a store.duckdb", patience=0.2)
    store.begin(Recording("r1", "kept", 1.0))
    store.append(
        "r1", [exchange("e1", b"stays"), exchange("e2", SECRET + os.urandom(2_000_000)), Mark(1.5, "lamp")]
    )
    store.end("r1", 3.0)
    with opening.writing(store.path, 1.0) as connection:
        connection.execute("DELETE FROM exchanges_recent WHERE id = 'e2'")
        connection.execute("DELETE FROM exchanges_kept WHERE id = 'e2'")
    return store


def test_nothing_of_what_was_deleted_is_left_and_all_else_is(store: Store) -> None:
    held = store.recordings(), store.exchanges()
    assert SECRET in store.path.read_bytes()

    before, after = store.compact()

    assert after == store.path.stat().st_size < before
    assert SECRET not in store.path.read_bytes()
    assert (store.recordings(), store.exchanges()) == held
    assert [each.name for each in store.path.parent.iterdir()] == [store.path.name]


def test_a_store_that_is_being_read_is_not_replaced(store: Store) -> None:
    before = store.path.stat()
    with opening.reading(store.path, 1.0), pytest.raises(StoreLocked, match="held by"):
        store.compact()
    assert store.path.stat().st_ino == before.st_ino


def test_where_there_is_no_store_none_is_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store at"):
        Store(tmp_path / "none.duckdb").compact()
    assert not list(tmp_path.iterdir())
