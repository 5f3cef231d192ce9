"""A recording that has ended takes a part of the room that its traffic took."""

from pathlib import Path

from abs_replay.exchange import Recording
from abs_replay.store import Store, opening
from benchmarks.store_size import chats, ratio


def test_chats_that_repeat_their_history_take_a_third_at_most(tmp_path: Path) -> None:
    found, size = ratio(tmp_path, 12, 23)
    assert size > 5_000_000
    assert found <= 0.35
    assert len(Store(tmp_path / "store.duckdb").exchanges("r")) == 12 * 23


def test_a_store_that_someone_reads_is_left_as_it_is(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "chat", 1.0))
    exchanges = tuple(chats(4, 10))
    store.append("r", exchanges)
    before = store.path.stat().st_ino
    with opening.reading(store.path, 0.0):
        opening.shrink(store.path)
    assert store.path.stat().st_ino == before
    assert {each.id for each in store.exchanges("r")} == {each.id for each in exchanges}
    assert not list(tmp_path.glob("*.new"))
