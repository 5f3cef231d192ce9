"""Traces come back from the store as they were derived."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from abs_replay import exact_json
from abs_replay.errors import StoreError
from abs_replay.exchange import Recording
from abs_replay.store import Store
from abs_replay.trace import Branch, Source, Step, Trace, Usage, Visibility

CONTENT = exact_json.loads(
    '{"price": 1.10, "big": 12345678901234567890, "half": "\\ud83d", "list": [null, {}]}'
)
FULL_STEP = Step(
    seq=2,
    actor="assistant",
    action="calls",
    target="Order MCP",
    content=CONTENT,
    arguments={"orderId": "1\n2"},
    call_id="c1",
    at_ms=1.5,
    duration_ms=2.25,
    visibility=Visibility.INTERNAL,
    parallel_group="p1",
    sources=(Source("e1", "response.choices[0]"), Source("e2")),
    model="gpt",
    usage=Usage(3, 4, 2, 1),
    error="broke",
    retries=2,
    segment="compacted",
)
FULL = Trace(
    id="t-1",
    steps=(Step(1, "user", "says", content="Where?"), FULL_STEP),
    session="Refund — approved",
    recording="r-1",
    started_at=10.5,
    bindings={"cases.userMessage": CONTENT},
    vars={"a": None},
    tags={"agent_version": "1.4"},
    agent_version="1.4",
    branch_of=Branch("t-0", 3),
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r-1", "demo", 1.0))
    store.begin(Recording("r-2", "other", 2.0))
    return store


def test_the_example_fills_every_field() -> None:
    for value in (FULL, FULL_STEP):
        unset = [each.name for each in fields(value) if getattr(value, each.name) == each.default]
        assert unset == []


def test_a_trace_comes_back_equal(store: Store) -> None:
    empty = Trace("t-0", ())
    store.save_traces("r-1", (FULL, empty), "digest", "1")

    assert store.traces() == (empty, FULL)
    assert store.trace("t-1") == FULL
    content = store.trace("t-1").steps[1].content
    assert isinstance(content, dict)
    assert exact_json.dumps(content["price"]) == "1.10"


def test_traces_are_chosen_by_recording_id_session_and_start(store: Store) -> None:
    second = replace(FULL, id="t-2", recording="r-2", session=None, started_at=20.0)
    store.save_traces("r-1", (FULL,), "digest", "1")
    store.save_traces("r-2", (second,), "digest", "1")

    assert store.traces("r-2") == (second,)
    assert store.traces(ids=["t-1", "t-9"]) == (FULL,)
    assert store.traces(session="Refund — approved") == (FULL,)
    assert store.traces(since=10.5) == (FULL, second)
    assert store.traces(since=10.6) == (second,)
    assert store.traces("r-1", since=10.6) == ()
    assert store.trace("last") == second


def test_traces_derived_again_replace_those_before(store: Store) -> None:
    store.save_traces("r-1", (FULL, replace(FULL, id="t-9")), "before", "1")
    store.save_traces("r-2", (replace(FULL, id="t-2"),), "other", "1")
    again = replace(FULL, steps=FULL.steps[:1])
    store.save_traces("r-1", (again,), "after", "2")

    assert store.traces("r-1") == (again,)
    assert [(each.derived_from, each.decoders_version) for each in store.derivations()] == [
        ("after", "2"),
        ("other", "1"),
    ]
    assert [each.traces for each in store.recordings()] == [1, 1]


def test_a_recording_without_a_conversation_counts_as_derived(store: Store) -> None:
    store.save_traces("r-1", (), "digest", "1")

    assert [each.traces for each in store.recordings()] == [0, None]


def test_a_trace_that_is_not_there_is_said(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no trace 't-1' in .*: it has no traces"):
        store.trace("t-1")


def test_half_a_surrogate_pair_in_a_name_is_shown_as_such(store: Store) -> None:
    step = Step(1, "assistant", "calls", target="tool \ud83d")
    store.save_traces("r-1", (Trace("t", (step,)),), "digest", "1")

    assert store.trace("t").steps[0].target == "tool \ufffd"
