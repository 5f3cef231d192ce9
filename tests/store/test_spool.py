"""The spool loses nothing that it took, whoever dies when."""

from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.errors import StoreError
from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Role
from abs_replay.store import Spool, Store


def made(id_: str, at: float = 1.0) -> Exchange:
    body = Body(b"\x00\xff\n\r\n" + id_.encode())
    return Exchange(id_, Channel(Role.LLM, "openai"), at, Request("POST", "/v1", body=body))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    return store


def test_readers_count_and_find_what_is_spooled(store: Store) -> None:
    store.append("r", [made("e1")])
    Spool(store.path).append("r", [made("e2", 0.5), made("e1")])

    assert [each.id for each in store.exchanges()] == ["e2", "e1"]
    assert store.recordings()[0].exchanges == 2
    assert store.exchange("e2") == made("e2", 0.5)


def test_a_spool_is_folded_in_once(store: Store) -> None:
    spool = Spool(store.path)
    spool.append("r", [made("e1")])
    left = spool.path.read_bytes()
    store.append("r", [made("e1"), made("e2")])
    spool.path.write_bytes(left)  # as if killed after the commit, before the spool was removed
    store.append("r", [])

    assert [each.id for each in store.exchanges()] == ["e1", "e2"]
    assert not spool.path.exists()


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_torn_last_line_is_ignored_and_swallows_nothing(store: Store, cut: int) -> None:
    spool = Spool(store.path)
    spool.append("r", [made("e1"), made("torn")])
    spool.path.write_bytes(spool.path.read_bytes()[:-cut])
    assert [each.id for each in store.exchanges()] == ["e1"]

    spool.append("r", [made("e2")])

    assert [each.id for each in store.exchanges()] == ["e1", "e2"]
    store.append("r", [])
    assert [each.id for each in store.exchanges()] == ["e1", "e2"]


def test_the_digest_of_a_recording_is_the_same_spooled_or_stored(store: Store) -> None:
    Spool(store.path).append("r", [made("e1")])
    (spooled,) = store.derivations()
    store.append("r", [])
    (stored,) = store.derivations()

    assert spooled == stored


def test_a_spool_that_can_not_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"spool .*store.duckdb.spool can not be written: ") as caught:
        Spool(tmp_path / "file" / "store.duckdb").append("r", [made("e1")])
    assert "\n" not in str(caught.value)


def test_a_recording_that_began_in_the_spool_is_there_for_readers_and_folded_in(store: Store) -> None:
    spool, later = Spool(store.path), Recording("r2", "later", 5.0, tags={"a": "b"})
    spool.begin(later)
    spool.append("r2", [made("e9"), Mark(6.0, "next")])
    for _ in range(2):
        (summary,) = [each for each in store.recordings() if each.recording.id == "r2"]
        assert summary.recording == replace(later, marks=(Mark(6.0, "next"),))
        assert summary.exchanges == 1
        store.append("r", [made("e1")])
        assert not spool.path.exists()


def test_a_large_spool_is_read_a_part_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abs_replay.store.spool.AT_ONCE", 500)
    spool = Spool(store.path)
    for number in range(30):
        spool.append("r", [made(f"e{number % 10}")])
    assert max(len(some.exchanges) for some in spool.batches()) < 5
    assert [each.id for each in store.exchanges("r")] == [f"e{number}" for number in range(10)]
