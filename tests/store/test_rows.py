"""Exchanges and recordings come back from the store as they were, whatever bytes they hold."""

import json
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Message,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    WebSocket,
)
from abs_replay.store import Spool, Store
from abs_replay.store.lines import exchange_line, row_of_line
from abs_replay.store.rows import EXCHANGE_COLUMNS, exchange_of, exchange_row

texts = st.text(st.characters(codec="utf-8"), max_size=20)
latin = st.text(st.characters(codec="latin-1"), max_size=20)
times = st.floats(min_value=0, max_value=1e9)
headers = st.lists(st.tuples(latin, latin), max_size=3).map(tuple)
channels = st.builds(Channel, st.sampled_from(Role), texts)
chunks = st.lists(st.builds(Chunk, st.integers(0, 2**40), times), max_size=4).map(tuple)
bodies = st.builds(Body, st.binary(max_size=60), chunks, st.none() | st.integers(0, 2**40))
requests = st.builds(Request, latin, texts, headers, bodies, texts, texts, texts)
responses = st.builds(Response, st.integers(100, 999), headers, bodies, latin, texts, headers)
messages = st.builds(
    Message,
    st.booleans(),
    st.binary(max_size=40) | texts.map(str.encode),
    st.booleans(),
    times,
    st.none() | st.integers(0, 2**40),
)
sockets = st.builds(
    WebSocket,
    st.lists(messages, max_size=4).map(tuple),
    st.none() | st.integers(0, 5000),
    texts,
    st.none() | st.booleans(),
)
exchanges = st.builds(
    Exchange,
    st.text(string.ascii_letters + string.digits + "-", min_size=1, max_size=20),
    channels,
    st.floats(min_value=0, max_value=2e9),
    requests,
    st.none() | responses,
    st.sampled_from(Outcome),
    st.none() | texts,
    st.none() | times,
    st.booleans(),
    st.none() | sockets,
)
batches = st.lists(exchanges, min_size=20, max_size=40, unique_by=lambda each: each.id)
recordings = st.builds(
    Recording,
    st.uuids().map(str),
    texts,
    times,
    st.none() | times,
    st.none() | texts,
    st.dictionaries(texts, texts, max_size=3),
    st.lists(st.builds(Upstream, channels, texts), max_size=2).map(tuple),
)


def in_start_order(found: list[Exchange]) -> tuple[Exchange, ...]:
    return tuple(sorted(found, key=lambda each: (each.started_at, each.id)))


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(recordings, batches, st.integers(0, 20))
def test_any_recording_comes_back_equal_from_store_and_spool(
    tmp_path_factory: pytest.TempPathFactory, recording: Recording, batch: list[Exchange], spooled: int
) -> None:
    path = tmp_path_factory.mktemp("store") / "store.duckdb"
    store = Store(path)
    store.begin(recording)
    store.append(recording.id, batch[spooled:])
    Spool(path).append(recording.id, batch[:spooled])

    assert store.exchanges(recording.id) == in_start_order(batch)
    assert store.recording("last") == recording

    store.end(recording.id, 7.5)

    assert not Spool(path).path.exists()
    assert store.exchanges(recording.id) == in_start_order(batch), "compressed"


@given(exchanges)
def test_a_spooled_line_gives_the_row_back(exchange: Exchange) -> None:
    row = exchange_row("r", exchange)

    assert row_of_line(exchange_line(row)) == row


@given(exchanges, exchanges)
def test_exchanges_have_one_digest_only_if_they_are_equal(one: Exchange, other: Exchange) -> None:
    first, second = exchange_row("r", one), exchange_row("another", other)

    assert (first[2] == second[2]) == (one == other)


def test_a_body_of_every_byte_is_kept(tmp_path: Path) -> None:
    data = bytes(range(256)) * 64
    exchange = Exchange("e", Channel(Role.TOOL, "x"), 1.0, Request("POST", "/", body=Body(data)))
    store = Store(tmp_path / "store.duckdb")
    store.append("r", [exchange])

    assert store.exchanges() == (exchange,)


def test_a_line_spooled_before_there_were_websockets_is_read() -> None:
    exchange = Exchange("e", Channel(Role.LLM, "x"), 1.0, Request("POST", "/", body=Body(b"{}")))
    line = json.loads(exchange_line(exchange_row("r", exchange)))
    del line["websocket"]

    assert exchange_of(row_of_line(json.dumps(line))) == exchange


def test_the_digest_of_an_exchange_without_websocket_is_the_one_it_had_before_there_were_any() -> None:
    plain = Exchange("e", Channel(Role.LLM, "x"), 1.0, Request("POST", "/", body=Body(b"{}")))

    assert exchange_row("r", plain)[2] == "7c8b6591c4bc3df30bbdeecbb69b5870bdb923e9b681350795aa9699ff992f95"


def test_what_a_side_said_in_messages_counts_to_its_bytes() -> None:
    said = Message(True, b"abc", True, 1.0), Message(False, b"", True, 2.0, size=9)
    exchange = Exchange(
        "e", Channel(Role.LLM, "x"), 1.0, Request("GET", "/"), Response(101), websocket=WebSocket(said)
    )
    values = dict(zip(EXCHANGE_COLUMNS, exchange_row("r", exchange), strict=True))

    assert (values["request_bytes"], values["response_bytes"]) == (3, 9)
