"""What a store holds is for whoever may read the store, and one that is made is for its owner alone."""

import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from abs_replay.exchange import Channel, Exchange, Recording, Request, Role
from abs_replay.store import Spool, Store, Unfinished, copying
from abs_replay.store.opening import SETTINGS

EXCHANGE = Exchange("e1", Channel(Role.LLM, "llm"), 1.0, Request("POST", "/x"))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes_of_all(store: Store) -> dict[str, int]:
    """All that can lie beside a store, made; by the ends of their names."""
    store.begin(Recording("r", "demo", 1.0))
    unfinished = Unfinished(store.path, "r")
    unfinished.put(EXCHANGE)
    with store.writing() as writer:
        writer.append("r", [EXCHANGE])
        while_open = mode(copying.log_of(store.path))
    assert while_open == mode(copying.log_of(store.path))
    Spool(store.path).append("r", [replace(EXCHANGE, id="e2")])
    made = {path.suffix: mode(path) for path in store.path.parent.iterdir()}
    unfinished.drop(["e1"])
    unfinished.close()
    store.end("r", 2.0)
    made[".bak"] = mode(copying.keep_copy(store.path, 1))
    copying.rewrite_or_fail(store.path, SETTINGS)
    return made | {"rewritten": mode(store.path)}


def test_what_is_made_is_for_its_owner_alone(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "store.duckdb")

    assert modes_of_all(store) == {
        ".duckdb": 0o600,
        ".wal": 0o600,
        ".spool": 0o600,
        ".open": 0o700,
        ".bak": 0o600,
        "rewritten": 0o600,
    }
    assert mode(store.path.parent) == 0o700


def test_a_spool_that_comes_before_its_store_is_for_its_owner_alone(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "new" / "store.duckdb")
    spool.append("r", [EXCHANGE])

    assert (mode(spool.path), mode(spool.path.parent)) == (0o600, 0o700)


def test_a_store_that_is_there_keeps_its_mode_and_what_comes_beside_it_has_it_too(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with duckdb.connect(str(path)):
        pass
    path.chmod(0o640)

    modes = modes_of_all(Store(path))

    assert modes.pop(".open") == 0o750
    assert set(modes.values()) == {0o640}


def test_a_spool_beside_a_store_that_is_read_only_can_be_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    store.path.chmod(0o444)
    spool = Spool(store.path)
    spool.append("r", [EXCHANGE])

    assert mode(spool.path) == 0o644
