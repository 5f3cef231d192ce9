"""Archives say what was exchanged, in HAR 1.2's fields, and our own reader takes them back."""

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay import importers
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
    WebSocket,
)
from abs_replay.exporters import Content, render
from abs_replay.importers import Source
from abs_replay.importers.har_messages import STRANGE

LLM = Channel(Role.LLM, "openai")
ASKED = Request(
    "POST",
    "/v1/chat?a=1&b=%20x&empty=",
    (("Content-Type", "application/json"), ("Cookie", "k=v; other=2")),
    Body('{"ü": 1}'.encode()),
    "HTTP/2.0",
    "https",
    "api.example.com:8443",
)
ANSWER = Response(
    200,
    (("content-type", "text/event-stream"), ("x-twice", "1"), ("x-twice", "2")),
    Body(b"data: 1\n\ndata: 2\n\n", (Chunk(9, 20.0), Chunk(18, 50.0))),
    "OK",
    "HTTP/2.0",
)
ONE = Exchange("e1", LLM, 1_777_629_600.125, ASKED, ANSWER, ended_ms=60.0)


def written(*exchanges: Exchange) -> Any:
    return json.loads(render("har", Content(Recording("r", "n", 0.0), tuple(exchanges))))


def back(*exchanges: Exchange) -> tuple[Exchange, ...]:
    text = render("har", Content(Recording("r", "n", 0.0), tuple(exchanges)))
    source = Source(Path("x.har"), text)
    assert importers.recognise(source) == "har"
    return importers.read("har", source).exchanges


def without_loss(exchange: Exchange) -> Exchange:
    """An exchange without what an archive can not say."""
    response = exchange.response
    if response is not None:
        response = replace(response, body=replace(response.body, chunks=()))
    return replace(
        exchange,
        id="",
        channel=importers.UNPLACED,
        request=replace(exchange.request, body=replace(exchange.request.body, chunks=())),
        response=response,
    )


def test_an_exchange_comes_back_but_for_its_chunks() -> None:
    assert back(ONE) == (without_loss(ONE),)


def test_the_fields_are_those_of_the_specification() -> None:
    log = written(ONE)["log"]
    assert (log["version"], log["creator"]["name"], log["pages"]) == ("1.2", "abs-replay", [])
    (entry,) = log["entries"]
    assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= entry.keys()
    assert entry["startedDateTime"] == "2026-05-01T10:00:00.125000+00:00"
    assert entry["timings"] == {"send": 0, "wait": 20.0, "receive": 40.0}
    assert {
        "method",
        "url",
        "httpVersion",
        "cookies",
        "headers",
        "queryString",
        "headersSize",
        "bodySize",
    } <= (entry["request"].keys())
    assert entry["request"]["url"] == "https://api.example.com:8443/v1/chat?a=1&b=%20x&empty="
    assert entry["request"]["queryString"] == [
        {"name": "a", "value": "1"},
        {"name": "b", "value": " x"},
        {"name": "empty", "value": ""},
    ]
    assert entry["request"]["cookies"] == [{"name": "k", "value": "v"}, {"name": "other", "value": "2"}]
    assert {"status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL"} <= (
        entry["response"].keys()
    )
    assert entry["response"]["content"]["mimeType"] == "text/event-stream"
    assert [one["value"] for one in entry["response"]["headers"] if one["name"] == "x-twice"] == ["1", "2"]


def test_a_compressed_body_is_shown_as_its_sender_meant_it() -> None:
    packed = gzip.compress(b'{"ok":true}')
    headers = (("content-type", "application/json"), ("content-encoding", "gzip"))
    (entry,) = written(replace(ONE, response=Response(200, headers, Body(packed))))["log"]["entries"]
    assert entry["response"]["content"]["text"] == '{"ok":true}'
    assert entry["response"]["content"]["size"] == 11
    assert entry["response"]["bodySize"] == len(packed)


def test_what_only_begins_like_a_compressed_body_stays_as_it_came() -> None:
    for headers in ((), (("content-encoding", "gzip"),)):
        broken = replace(ONE, response=Response(200, headers, Body(gzip.compress(b"x" * 99)[:-9])))
        assert back(broken) == (without_loss(broken),)


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.COMPLETE])
def test_a_failure_is_named_as_browsers_name_it(outcome: Outcome) -> None:
    failed = replace(ONE, response=None, outcome=outcome, error="it broke")
    (found,) = back(failed)
    assert found.response is None
    assert found.outcome is outcome
    assert "it broke" in (found.error or "")


BYTES = st.binary(max_size=60) | st.text(max_size=30).map(lambda text: text.encode("utf-8", "surrogatepass"))
TOKENS = st.text("abcXYZ-_", min_size=1, max_size=8)
VALUES = st.text(st.characters(min_codepoint=33, max_codepoint=255, exclude_characters="\x7f"), max_size=12)
# What is about the body's own coding or length is remarked and changed on the way back.
HEADERS = st.lists(st.tuples(TOKENS.map(lambda name: f"x-{name}"), VALUES), max_size=3).map(tuple)


@settings(max_examples=50)
@given(BYTES, BYTES, HEADERS, st.integers(100, 599), st.floats(1, 4e9), st.floats(0, 1e6))
def test_any_bytes_and_headers_come_back(
    sent: bytes,
    got: bytes,
    headers: tuple[tuple[str, str], ...],
    status: int,
    started: float,
    took: float,
) -> None:
    request = replace(ASKED, body=Body(sent), headers=headers)
    exchange = Exchange(
        "e", LLM, round(started, 3), request, Response(status, headers, Body(got)), ended_ms=round(took, 3)
    )
    (found,) = back(exchange)
    assert found.request == request
    assert found.response == exchange.response
    assert abs(found.started_at - exchange.started_at) < 1e-5
    assert found.ended_ms == exchange.ended_ms


def test_messages_of_a_websocket_come_back_as_chrome_has_them() -> None:
    messages = (
        Message(True, '{"ü": 1}'.encode(), True, 12.5),
        Message(False, b"\x00\xff", False, 13.0),
        Message(False, b"cut", True, 14.0, size=9),
    )
    socket = replace(
        ONE,
        request=replace(ASKED, method="GET", body=Body()),
        response=Response(101, (), Body(), "Switching Protocols"),
        websocket=WebSocket(messages, 1000, "bye", False),
    )
    (entry,) = written(socket)["log"]["entries"]
    assert entry["request"]["url"].startswith("wss://api.example.com:8443/")
    assert entry["_resourceType"] == "websocket"
    assert entry["_webSocketMessages"][:2] == [
        {"type": "send", "time": 1_777_629_600.1375, "opcode": 1, "data": '{"ü": 1}'},
        {"type": "receive", "time": 1_777_629_600.138, "opcode": 2, "data": "AP8="},
    ]
    assert back(socket) == (without_loss(socket),)


def test_frames_that_are_no_messages_are_left_out_and_remarked() -> None:
    (entry,) = written(replace(ONE, websocket=WebSocket()))["log"]["entries"]
    frames = [{"type": "error", "time": 1, "opcode": -1, "data": "broken"}, {"type": "send", "opcode": 9}]
    entry["_webSocketMessages"] = frames
    imported = importers.read(
        "har", Source(Path("x.har"), json.dumps({"log": {"entries": [entry]}}).encode())
    )
    assert imported.exchanges[0].websocket == WebSocket()
    assert [each for each in imported.remarks if "WebSocket" in each] == [STRANGE, STRANGE]
