"""What is long is encoded a part at a time, and comes to the same bytes and rows."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Message,
    Recording,
    Request,
    Response,
    Role,
    WebSocket,
)
from abs_replay.store import Spool, Store, rows, spool

LONG = 'é"\\\n😀\x01 ' * 120_000


def large(id_: str) -> Exchange:
    chunks = tuple(Chunk(end, end / 3) for end in range(1, 1700))
    body = Body(bytes(range(256)) * 3000, (*chunks, Chunk(768_000, 1e4)))
    socket = WebSocket((Message(True, LONG.encode(), True, 1.5), Message(False, b"\0", False, 2.0)), 1000)
    request = Request("POST", "/v1", body=body)
    return Exchange(id_, Channel(Role.LLM, "llm"), 1.0, request, Response(200, body=body), websocket=socket)


def small(id_: str) -> Exchange:
    return Exchange(id_, Channel(Role.LLM, "llm"), 1.0, Request("POST", "/v1", body=Body(b"\xff" * 2000)))


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.booleans(), st.floats(), st.text())))
def test_values_in_pieces_are_what_one_encoding_of_them_is(values: dict[str, object]) -> None:
    before, rows.SLICE = rows.SLICE, 3
    try:
        assert b"".join(rows.json_pieces(values)) == json.dumps(values).encode()
    finally:
        rows.SLICE = before


def test_a_table_of_chunks_is_what_one_encoding_of_it_is() -> None:
    for count in (0, 1, 499, 500, 501, 1700):
        chunks = tuple(Chunk(end, end / 7) for end in range(count))
        assert rows._chunk_table(chunks) == json.dumps([(each.end, each.at_ms) for each in chunks])


def test_large_exchanges_come_back_as_they_were_from_the_store_the_spool_and_a_fold(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    store.append("r", [large("e1")])
    store.spool.append("r", [large("e2")])  # whose row is known when it is folded in
    Spool(store.path).append("r", [large("e3")])  # and whose is not
    expected = [large(f"e{number}") for number in (1, 2, 3)]
    assert list(store.exchanges("r")) == expected
    store.append("r", [])
    assert store.spool.is_empty
    assert list(store.exchanges("r")) == expected


def test_more_than_is_remembered_is_read_from_the_spool(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    before, spool.REMEMBERED = spool.REMEMBERED, 1000
    try:
        for number in (1, 2, 3):
            store.spool.append("r", [small(f"e{number}")])
    finally:
        spool.REMEMBERED = before
    assert (len(store.spool._known), store.spool.waiting) == (1, 3)
    store.append("r", [])
    assert (len(store.spool._known), store.spool.waiting) == (0, 0)
    assert [each.id for each in store.exchanges("r")] == ["e1", "e2", "e3"]


def test_what_a_kill_left_aside_is_seen_and_folded_in_with_what_came_since(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    store.spool.append("r", [small("e1")])
    store.spool.path.rename(store.spool._aside)
    Spool(store.path).append("r", [small("e2")])
    assert [each.id for each in store.exchanges("r")] == ["e1", "e2"]
    store.append("r", [])
    assert store.spool.is_empty
    assert [each.id for each in store.exchanges("r")] == ["e1", "e2"]


def test_others_append_to_a_new_spool_while_one_is_folded_in(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    store.begin(Recording("r", "demo", 1.0))
    store.spool.append("r", [small("e1")])
    with store.spool.draining() as batches:
        Spool(store.path).append("r", [small("e2")])
        store.spool.append("r", [small("e3")])
        assert [row[1] for some in batches for row in some.exchanges] == ["e1"]
    assert [row[1] for row in store.spool.rows()] == ["e2", "e3"]
    assert store.spool.waiting == 1
