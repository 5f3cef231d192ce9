"""The spool loses nothing that it took, whoever dies when."""

import json
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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


def test_an_exchange_that_has_no_body_is_folded_in_by_who_spooled_it(store: Store) -> None:
    bare = replace(made("bare"), request=Request("POST", "/v1"))
    store.spool.append("r", [bare])
    assert list(store.exchanges()) == [bare]
    store.append("r", [])
    assert list(store.exchanges()) == [bare]


BODIES = st.sampled_from([b"", b"short", b"long" * 10_000])
NUMBERS = count()


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["here", "elsewhere", "fold"]), st.lists(BODIES, max_size=4)), max_size=4
    )
)
def test_whatever_was_spooled_is_read_at_once_and_folded_in(
    tmp_path: Path, batches: list[tuple[str, list[bytes]]]
) -> None:
    store, said = Store(tmp_path / f"{next(NUMBERS)}.duckdb"), dict[str, Exchange]()
    store.begin(Recording("r", "demo", 1.0))
    for where, bodies in batches:
        new = [
            replace(made(f"e{n}"), request=Request("P", "/", body=Body(b)))
            for n, b in enumerate(bodies, len(said))
        ]
        said |= {each.id: each for each in new}
        if where == "fold":
            store.append("r", new)
        else:
            (store.spool if where == "here" else Spool(store.path)).append("r", new)
    assert {each.id: each for each in store.exchanges()} == said
    store.append("r", [])
    assert {each.id: each for each in store.exchanges()} == said
    assert store.spool.is_empty


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


def test_bytes_that_are_no_text_keep_no_exchange_out_of_the_store(store: Store) -> None:
    odd = made("odd")
    request = replace(odd.request, target="/caf\udce9", host="h\udcff", headers=(("x\udcfe", "\ud800"),))
    Spool(store.path).append(
        "r", [replace(odd, request=request, error="\udcff"), made("e2", 2.0), Mark(3.0, "\udcff")]
    )

    assert [each.id for each in store.exchanges()] == ["odd", "e2"]
    store.append("r", [])
    kept = store.exchange("odd")
    assert (kept.request.target, kept.request.host, kept.error) == ("/caf%E9", "h\ufffd", "\ufffd")
    assert kept.request.headers == request.headers
    assert store.recording("r").marks == (Mark(3.0, "\ufffd"),)


@pytest.mark.parametrize(
    "damage",
    [
        {"status": "abc"},
        {"status": 2**31},
        {"request_body": 5},
        {"recording": {"a": 1}},
        {"id": None},
        {"started_at": None},
        {"role": "nobody"},
        {"request_headers": "no json"},
        {"request_chunks": "[[1]]"},
    ],
)
def test_a_line_of_which_no_exchange_can_be_made_keeps_no_other_out(
    store: Store, damage: dict[str, object]
) -> None:
    spool = Spool(store.path)
    spool.append("r", [made("e1")])
    good = spool.path.read_bytes()
    broken = json.dumps(json.loads(good) | {"id": "broken"} | damage).encode()
    foreign = [
        b"[" * 100_000,
        b'{"id": 1}',
        b'{"mark": "x", "recording": 1, "name": 2}',
        b'{"begins": {"id": 1}}',
    ]
    spool.path.write_bytes(b"\n".join([broken, *foreign, good]))

    assert [each.id for each in store.exchanges()] == ["e1"]
    store.append("r", [made("e2")])
    assert [each.id for each in store.exchanges()] == ["e1", "e2"]
    assert [each.recording.id for each in store.recordings()] == ["r"]


def test_what_others_folded_in_no_longer_waits(store: Store) -> None:
    store.spool.append("r", [made("e1")])
    Store(store.path).append("r", [])
    assert store.spool.waiting == 1  # nobody told
    store.append("r", [])
    assert store.spool.waiting == 0
