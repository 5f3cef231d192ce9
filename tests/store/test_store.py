"""What is put into the store is found again, by every way of naming it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from abs_replay.errors import StoreError
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Recording, Request, Response, Role, Upstream
from abs_replay.store import Store, default_path

LLM = Channel(Role.LLM, "openai")


def made(
    id_: str, at: float = 1.0, status: int | None = 200, outcome: Outcome = Outcome.COMPLETE
) -> Exchange:
    response = None if status is None else Response(status, body=Body(b"answer"))
    return Exchange(id_, LLM, at, Request("POST", "/v1", body=Body(b"ask")), response, outcome)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "new" / "store.duckdb")


@pytest.mark.parametrize(
    ("flag", "environ", "path"),
    [
        (None, {}, ".abs/store.duckdb"),
        (None, {"ABS_STORE": "a.duckdb"}, "a.duckdb"),
        (None, {"ABS_STORE": ""}, ".abs/store.duckdb"),
        (Path("b.duckdb"), {"ABS_STORE": "a.duckdb"}, "b.duckdb"),
    ],
)
def test_the_flag_ranks_over_the_environment_over_the_default(
    flag: Path | None, environ: Mapping[str, str], path: str
) -> None:
    assert default_path(flag, environ) == Path(path)


def test_a_recording_is_summed_up_without_decoding(store: Store) -> None:
    recording = Recording("r-1", "demo", 1.0, upstreams=(Upstream(LLM, "http://h/v1"),), tags={"a": "b"})
    store.begin(recording)
    refused = made("e4", status=None, outcome=Outcome.REFUSED)
    hung_up = made("e2", outcome=Outcome.CLIENT_CLOSED)
    store.append("r-1", [made("e1"), hung_up, made("e3", status=500), refused])

    (summary,) = store.recordings()

    assert summary.recording == recording
    assert (summary.exchanges, summary.errors, summary.bytes) == (4, 2, 4 * 3 + 3 * 6)
    assert summary.traces is None


def test_the_wire_size_counts_for_a_cut_body(store: Store) -> None:
    store.begin(Recording("r", "demo", 1.0))
    cut = Exchange("e", LLM, 1.0, Request("POST", "/", body=Body(b"abc", size=1000)))
    store.append("r", [cut])

    assert store.recordings()[0].bytes == 1000
    assert store.exchanges()[0].request.body.cut


def test_an_exchange_that_is_there_already_is_ignored(store: Store) -> None:
    store.append("r", [made("e1"), made("e2"), made("e1")])
    store.append("r", [made("e2"), made("e3")])

    assert [each.id for each in store.exchanges("r")] == ["e1", "e2", "e3"]


def test_two_recordings_may_hold_the_same_exchange(store: Store) -> None:
    store.append("r-1", [made("e1")])
    store.append("r-2", [made("e1")])

    assert len(store.exchanges("r-1")) == len(store.exchanges("r-2")) == 1
    assert store.exchange("e1") == made("e1")


def test_exchanges_come_in_the_order_in_which_they_started(store: Store) -> None:
    store.append("r", [made("late", 3.0), made("early", 1.0), made("middle", 2.0)])

    assert [each.id for each in store.exchanges()] == ["early", "middle", "late"]
    assert [each.id for each in store.exchange_summaries("r")] == ["early", "middle", "late"]
    assert [each.id for each in store.exchanges(ids=["late", "early", "none"])] == ["early", "late"]
    assert store.exchanges("other") == ()


def test_several_batches_go_through_one_open_file(store: Store) -> None:
    with store.writing() as writer:
        writer.append("r", [made("e1")])
        writer.append("r", [made("e2")])

    assert len(store.exchanges("r")) == 2


def test_a_recording_is_named_by_id_name_place_or_beginning(store: Store) -> None:
    for id_, name, at in [("r-10", "demo", 1.0), ("r-20", "demo", 2.0), ("s-30", "r-1", 3.0)]:
        store.begin(Recording(id_, name, at))

    found = {ref: store.recording(ref).id for ref in ("r-10", "demo", "last", "last~2", "r-2", "r-1")}

    assert found == {
        "r-10": "r-10",
        "demo": "r-20",
        "last": "s-30",
        "last~2": "r-10",
        "r-2": "r-20",
        "r-1": "s-30",
    }


def test_an_end_is_noted_and_what_was_recorded_stays(store: Store) -> None:
    store.begin(Recording("r", "demo", 1.0))
    store.append("r", [made("e1")])
    store.end("r", 9.5)
    store.append("r", [made("e1"), made("e2")])

    assert store.recording("r").ended_at == 9.5
    assert [each.id for each in store.exchanges("r")] == ["e1", "e2"]


def test_a_recording_that_ended_gives_its_place_to_the_next(store: Store) -> None:
    """What is written while recording is not compressed; what ended is, and the file stops growing."""
    sizes = []
    for recording in ("r-1", "r-2", "r-3", "r-4"):
        store.begin(Recording(recording, "demo", 1.0))
        body = Body(b"the same words again and again " * 1000)
        for nth in range(4):
            ids = [f"{recording}-{nth}-{each}" for each in range(25)]
            store.append(recording, [Exchange(id_, LLM, 1.0, Request("POST", "/", body=body)) for id_ in ids])
        store.end(recording, 2.0)
        sizes.append(store.path.stat().st_size)

    assert sizes[-1] < sizes[0] * 1.5
    assert len(store.exchanges()) == 400


def test_nothing_is_lost_if_the_file_is_deleted_under_a_recorder_but_what_it_held(store: Store) -> None:
    store.begin(Recording("r", "demo", 1.0))
    store.append("r", [made("e1")])
    store.path.unlink()
    store.append("r", [made("e2")])
    store.end("r", 2.0)

    assert store.recording("demo").ended_at == 2.0
    assert [each.id for each in store.exchanges("r")] == ["e2"]


def test_beginning_twice_is_refused(store: Store) -> None:
    store.begin(Recording("r", "demo", 1.0))

    with pytest.raises(StoreError, match=r"recording r is already in .*: give it another id"):
        store.begin(Recording("r", "other", 2.0))


def test_ending_what_never_began_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=r"no recording r in .*: begin it first"):
        store.end("r", 2.0)
