"""Names, tags and notes; removing; and taking over what other stores hold."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.errors import StoreError
from abs_replay.exchange import Body, Channel, Exchange, Mark, Recording, Request, Role
from abs_replay.store import Found, Merged, Note, Spool, Store
from abs_replay.trace import Source, Step, Trace
from abs_replay.verdicts import Grading, Report, Result, Run

LLM = Channel(Role.LLM, "m")
RECORDING = Found("recording", "r1", "r1")
TRACE = Found("trace", "t1", "r1")


def exchange(id_: str) -> Exchange:
    return Exchange(id_, LLM, 2.0, Request("POST", "/v1", (), Body(b"{}")))


def grading(id_: str, trace: str) -> Grading:
    run = Run(session="s", file="s.abs.yaml", trace=trace, result=Result.PASSED, steps=())
    return Grading(id_, 5.0, Report((run,)), {})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two recordings with traces, the first with a grading and a mark; each test gets a copy."""
    store = Store(tmp_path_factory.mktemp("made") / "store.duckdb")
    for id_, tags in (("r1", {"build": "7", "agent_version": "1"}), ("r2", {})):
        recording = Recording(id_, f"name of {id_}", 1.0, tags=tags)
        store.begin(recording)
        store.append(id_, [exchange(f"e-{id_}"), Mark(1.5, "lamp")])
        store.end(id_, 3.0)
        trace = Trace(
            f"t{id_[1]}",
            (),
            recording=id_,
            tags={**tags, "own": "x"},
            agent_version=tags.get("agent_version"),
        )
        store.save_traces(id_, [trace], "digest", "decoders")
    store.save_grading(grading("g1", "t1"))
    return store.path


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    return Store(Path(shutil.copy(made, tmp_path / "store.duckdb")), patience=1.0)


def test_a_recordings_name_and_tags_are_changed_and_its_traces_follow(store: Store) -> None:
    store.annotate(RECORDING, "refunds", Note({"build": "8", "agent_version": "2", "new": "n"}, "by Ann"))

    recording = store.recording("refunds")
    assert (recording.id, recording.tags) == ("r1", {"build": "8", "agent_version": "2", "new": "n"})
    assert store.notes("recording") == {("r1", "r1"): Note({}, "by Ann")}
    trace = store.trace("t1")
    assert (trace.tags, trace.agent_version) == (recording.tags | {"own": "x"}, "2")
    assert store.trace("t2").tags == {"own": "x"}

    store.annotate(RECORDING, None, Note({"build": None, "agent_version": None}, ""))
    assert (store.recording("refunds").tags, store.notes("recording")) == ({"new": "n"}, {})
    assert (store.trace("t1").tags, store.trace("t1").agent_version) == ({"new": "n", "own": "x"}, None)


def test_a_tag_that_a_trace_has_by_itself_is_not_the_recordings_to_change(store: Store) -> None:
    store.annotate(RECORDING, None, Note({"own": "y"}))
    assert store.trace("t1").tags["own"] == "x"


def test_what_is_added_to_a_trace_outlives_deriving_it_again(store: Store) -> None:
    store.annotate(TRACE, "refund", Note({"own": None, "seen": "yes"}, "odd answer"))
    store.save_traces("r1", [replace(store.trace("t2"), id="t1", recording="r1")], "other", "decoders")

    trace = store.trace("t1")
    assert (trace.name, dict(trace.tags)) == ("refund", {"seen": "yes", "name": "refund"})
    assert store.notes("trace", "r1")["r1", "t1"].text == "odd answer"
    assert store.notes("trace", "r2") == {}


def told(id_: str, *exchanges: str) -> Trace:
    steps = [Step(n, "user", "says", sources=(Source(each),)) for n, each in enumerate(exchanges, 1)]
    return Trace(id_, tuple(steps), recording="r1")


def test_what_is_added_to_a_conversation_goes_on_with_it_when_it_grows(store: Store) -> None:
    store.save_traces("r1", [told("t1", "a", "b"), told("t9", "x")], "one", "decoders")
    store.annotate(TRACE, "refund", Note({"seen": "yes"}, "odd answer"))
    store.annotate(Found("trace", "t9", "r1"), None, Note({}, "gone"))

    store.save_traces("r1", [told("t2", "x2", "b"), told("t3", "a", "b", "c")], "two", "decoders")
    assert store.notes("trace", "r1") == {
        ("r1", "t3"): Note({"seen": "yes", "name": "refund"}, "odd answer"),
        ("r1", "t9"): Note({}, "gone"),
    }
    store.annotate(Found("trace", "t2", "r1"), None, Note({"seen": "no"}))
    store.save_traces("r1", [told("t4", "a", "b", "c", "x2")], "three", "decoders")
    assert store.notes("trace", "r1")["r1", "t4"].text == "odd answer"
    assert dict(store.trace("t4").tags)["name"] == "refund"


def test_a_removed_recording_leaves_nothing_but_the_gradings_of_its_traces(store: Store) -> None:
    store.annotate(TRACE, "refund", Note())
    assert store.gradings_of(["r1"]) == ("g1",)

    store.remove(["r1"])

    assert [each.recording.id for each in store.recordings()] == ["r2"]
    assert [each.id for each in store.exchanges()] == ["e-r2"]
    assert [each.id for each in store.traces()] == ["t2"]
    assert (store.notes("trace"), store.recording("r2").marks) == ({}, (Mark(1.5, "lamp"),))
    assert store.grading("g1") == grading("g1", "t1")


def test_a_removed_grading_leaves_no_verdict(store: Store) -> None:
    store.remove([], ["g1"])
    assert (store.gradings(), len(store.recordings())) == ((), 2)
    store.save_grading(grading("g1", "t2"))
    assert store.grading("g1") == grading("g1", "t2")


def test_a_merge_takes_over_each_thing_once(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "it's another.duckdb")
    other.begin(Recording("r3", "third", 9.0))
    other.append("r3", [exchange("e-r3"), Mark(9.5)])
    other.end("r3", 10.0)
    Spool(other.path).append("r3", [exchange("spooled")])
    other.save_traces("r3", [Trace("t3", (), recording="r3")], "digest", "decoders")
    other.annotate(Found("trace", "t3", "r3"), "third", Note())
    held = store.recordings(), store.exchanges(), store.traces(), store.grading("g1")

    assert other.merge(store.path) == Merged(2, 1, 0)
    assert other.merge(store.path) == Merged(0, 0, 3)
    assert store.merge(other.path) == Merged(1, 0, 3)

    assert (store.recordings(), store.exchanges(), store.traces()) == (
        other.recordings(),
        other.exchanges(),
        other.traces(),
    )
    assert store.recordings()[:2] == held[0]
    assert {each.id for each in store.exchanges("r3")} == {"e-r3", "spooled"}
    assert store.recording("r3").marks == (Mark(9.5),)
    assert store.trace("t3").name == "third"
    assert other.grading("g1") == held[3]


def test_a_merge_of_no_store_changes_nothing(store: Store, tmp_path: Path) -> None:
    before = store.recordings()
    with pytest.raises(StoreError, match="no store at"):
        store.merge(tmp_path / "none.duckdb")
    (tmp_path / "text.duckdb").write_text("no store")
    with pytest.raises(StoreError, match="it is no DuckDB file"):
        store.merge(tmp_path / "text.duckdb")
    assert store.recordings() == before


@pytest.mark.parametrize("name", ["other", "Other", "another"])
def test_a_merge_does_not_depend_on_what_the_files_are_called(tmp_path: Path, name: str) -> None:
    source = Store(tmp_path / "source" / f"{name}.duckdb")
    source.begin(Recording("r", "demo", 1.0))
    assert Store(tmp_path / f"{name}.duckdb").merge(source.path).recordings == 1
