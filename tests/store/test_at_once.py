"""Several readings through one opening."""

import threading
from pathlib import Path
from typing import Any

import pytest

from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store import Store, opening


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store.duckdb", patience=0.1)
    store.begin(Recording("r-1", "one", 0.0))
    return store


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Where the file was opened to be read, each time."""
    found: list[Path] = []
    reading = opening.reading

    def noted(path: Path, *rest: Any) -> Any:
        found.append(path)
        return reading(path, *rest)

    monkeypatch.setattr(opening, "reading", noted)
    return found


def test_what_is_read_at_once_takes_one_opening_and_what_is_read_after_it_another(
    store: Store, opened: list[Path]
) -> None:
    with store.at_once():
        with store.at_once():
            assert store.recording("last").id == "r-1"
        assert [each.recording.name for each in store.recordings()] == ["one"]
    assert len(opened) == 1
    store.begin(Recording("r-2", "two", 1.0))
    assert store.recording("last").id == "r-2"
    assert len(opened) == 2


def test_after_an_error_the_file_is_free(store: Store) -> None:
    with pytest.raises(StoreError, match="no recording"), store.at_once():
        store.recording("nothing")
    store.begin(Recording("r-2", "two", 1.0))


def test_another_thread_opens_it_for_itself(store: Store, opened: list[Path]) -> None:
    with store.at_once():
        beside = threading.Thread(target=store.recordings)
        beside.start()
        beside.join()
    assert len(opened) == 2
