"""Labels stay what they are through merging, redaction and removal of what they are about."""

from dataclasses import replace
from pathlib import Path

from abs_replay.exchange import Recording
from abs_replay.labels import Label
from abs_replay.store import Store

LABEL = Label("l-1", 1.0, "eve", "S", "t-1", "evaluations[0]", "fail", "said sk-1234", "q", "q.d.1", "g-1")


def test_labels_of_another_store_are_taken_over_once(tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here.duckdb"), Store(tmp_path / "there.duckdb")
    other = replace(LABEL, id="l-2", who="max")
    here.add_labels([LABEL])
    there.add_labels([LABEL, other])

    here.merge(there.path)
    here.merge(there.path)

    assert here.labels() == (LABEL, other)


def test_a_note_is_redacted_and_outlives_what_it_is_about(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r-1", "demo", 1.0))
    store.add_labels([LABEL, replace(LABEL, id="l-2", note="\ud800")])

    assert store.change(lambda each: each, lambda text: text.replace("sk-1234", "<key:1>")).texts == 1
    store.remove(["r-1"])

    assert [label.note for label in store.labels()] == ["said <key:1>", "\ufffd"]
