"""Reads of TCP connections become exchanges with the chunks and the ends that they had."""

import json
from pathlib import Path

import pytest

from abs_replay import importers
from abs_replay.errors import UsageError
from abs_replay.exchange import Chunk, Exchange, Outcome
from abs_replay.importers import Imported, Source
from abs_replay.importers.tcp_capture import COUNTED, SWITCHED, UNASKED

ASK = "GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n"
TOLD = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
BASE = 1_800_000_000


def read(*lines: tuple[float, str, str | None], conn: int = 1) -> Imported:
    written = [
        {"t": t, "conn": conn, "dir": side, **({"eof": True} if text is None else {"text": text})}
        for t, side, text in lines
    ]
    data = "".join(json.dumps(line) + "\n" for line in written)
    return importers.read("tcp", Source(Path("x.jsonl"), data.encode()))


def one(*lines: tuple[float, str, str | None]) -> Exchange:
    (exchange,) = read(*lines).exchanges
    return exchange


def test_each_piece_of_a_body_is_a_chunk_with_its_time() -> None:
    exchange = one((BASE, "c2s", ASK), (BASE + 1, "s2c", TOLD + "ab"), (BASE + 2, "s2c", "cd"))
    assert exchange.response is not None
    assert exchange.response.body.chunks == (Chunk(2, 1000.0), Chunk(4, 2000.0))
    assert (exchange.started_at, exchange.ended_ms, exchange.request.host) == (BASE, 2000.0, "h:1")


@pytest.mark.parametrize(
    ("lines", "outcome", "error"),
    [
        ([(BASE + 1, "s2c", TOLD + "ab"), (BASE + 2, "s2c", None)], Outcome.UPSTREAM_CLOSED, None),
        ([(BASE + 1, "s2c", TOLD + "ab"), (BASE + 2, "c2s", None)], Outcome.CLIENT_CLOSED, None),
        ([(BASE + 1, "s2c", TOLD + "ab")], Outcome.UPSTREAM_CLOSED, "the capture ended first"),
        ([(BASE + 1, "s2c", "HTTP/1.1 200 OK\r\n\r\nab"), (BASE + 2, "s2c", None)], Outcome.COMPLETE, None),
        ([(BASE + 1, "c2s", None)], Outcome.CLIENT_CLOSED, None),
        ([], Outcome.UPSTREAM_CLOSED, "the capture ended first"),
    ],
)
def test_who_hung_up_says_how_it_ended(
    lines: list[tuple[float, str, str | None]], outcome: Outcome, error: str | None
) -> None:
    exchange = one((BASE, "c2s", ASK), *lines)
    assert (exchange.outcome, exchange.error) == (outcome, error)


def test_requests_on_one_connection_have_their_answers_in_order() -> None:
    imported = read(
        (BASE, "c2s", ASK + ASK.replace("/a", "/b")),
        (BASE + 1, "s2c", "HTTP/1.1 100 Continue\r\n\r\n" + TOLD + "aaaa" + TOLD + "bbbb"),
    )
    got = [(each.request.target, each.response and each.response.body.data) for each in imported.exchanges]
    assert got == [("/a", b"aaaa"), ("/b", b"bbbb")]


def test_an_answer_to_head_has_no_body_and_the_next_one_does() -> None:
    imported = read(
        (BASE, "c2s", ASK.replace("GET", "HEAD")),
        (BASE + 1, "s2c", TOLD),
        (BASE + 2, "c2s", ASK),
        (BASE + 3, "s2c", TOLD + "abcd"),
    )
    assert [each.response and each.response.body.data for each in imported.exchanges] == [b"", b"abcd"]
    assert {each.outcome for each in imported.exchanges} == {Outcome.COMPLETE}


def test_a_change_of_protocol_ends_what_is_read() -> None:
    upgrade = ASK.replace("\r\n\r\n", "\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n")
    switched = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n"
    imported = read((BASE, "c2s", upgrade), (BASE + 1, "s2c", switched), (BASE + 2, "c2s", "\x01\x02"))
    assert [each.response and each.response.status for each in imported.exchanges] == [101]
    assert SWITCHED in imported.remarks


def test_an_answer_that_nobody_asked_for_is_left_out_and_small_times_stay_small() -> None:
    imported = read((1.5, "s2c", TOLD + "abcd"), (2.5, "c2s", ASK), (3.5, "s2c", TOLD + "efgh"))
    assert UNASKED in imported.remarks
    assert COUNTED in imported.remarks
    (exchange,) = imported.exchanges
    assert (exchange.started_at, exchange.response and exchange.response.body.data) == (2.5, b"efgh")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"t": 1, "conn": 1, "dir": "c2s", "text": "no HTTP\\r\\n\\r\\n"}', r":2: is no HTTP/1.1"),
        ('{"t": "x", "conn": 1, "dir": "c2s", "text": ""}', r":2: t: expected seconds"),
        ('{"t": 1, "conn": 1, "dir": "up", "text": ""}', r":2: dir: expected c2s or s2c"),
        ('{"t": 1, "conn": 1, "dir": "c2s", "b64": "x"}', r":2: b64: is no base64"),
        ("[]", r":2: expected an object"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(line: str, message: str) -> None:
    first = json.dumps({"t": 1, "conn": 1, "dir": "c2s", "text": ASK})
    with pytest.raises(UsageError, match=f"^x{message}"):
        importers.read("tcp", Source(Path("x"), f"{first}\n{line}\n".encode()))
