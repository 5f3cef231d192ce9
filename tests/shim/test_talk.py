"""Lines become exchanges of Streamable HTTP, which the decoder of MCP reads."""

import json
import re
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.decoders import decode
from abs_replay.exchange import Exchange, Outcome, Recording, Upstream, header
from abs_replay.redact import Redactor
from abs_replay.shim.lines import Line
from abs_replay.shim.talk import Place, Talk

PLACE = Place("files", "npx")
CLIENT, SERVER = True, False

type Said = tuple[bool, bytes | dict[str, Any] | list[Any]]


def call(id_: Any = 1, tool: str = "add", **params: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": id_,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {}, **params},
    }


def result(id_: Any = 1, text: str = "ok") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": text}]}}


def tells(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def asks(id_: Any, method: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": {}}


def talk(*said: Said, end: Outcome = Outcome.CLIENT_CLOSED) -> list[Exchange]:
    """What lines come to, said one a second, in the order in which the exchanges ended."""
    kept: list[Exchange] = []
    made, clock = Talk(PLACE, 1000.0, kept.append), count(1001.0)
    for by_client, what in said:
        line = Line(what if isinstance(what, bytes) else json.dumps(what).encode())
        (made.from_client if by_client else made.from_server)(line, next(clock))
    made.end(end, next(clock))
    return kept


def bodies(exchange: Exchange) -> tuple[Any, Any]:
    asked = exchange.request.body.data
    got = lines_of(exchange)
    return (json.loads(asked) if asked else None, [json.loads(each) for each in got])


def lines_of(exchange: Exchange) -> list[bytes]:
    """The server's lines in a body, as they were on the wire."""
    response = exchange.response
    if response is None or not response.body.data:
        return []
    if header(response.headers, "content-type") == "application/json":
        return [response.body.data]
    events = re.findall(rb"event: message\ndata: (.*)\n\n", response.body.data)
    return [event.replace(b"\rdata: ", b"\r") for event in events]


def test_a_request_and_its_answer_are_one_exchange_with_the_lines_as_they_were() -> None:
    asked, answered = b'{"jsonrpc": "2.0","id":1.50e0, "method":"ping"}\r', b' {"id":1.50e0,"result":{}}'
    (exchange,) = talk((CLIENT, asked), (SERVER, answered))
    assert exchange.request.body.data == asked
    assert exchange.response is not None
    assert exchange.response.body.data == answered
    assert (exchange.response.status, exchange.outcome, exchange.error) == (200, Outcome.COMPLETE, None)
    assert header(exchange.response.headers, "content-type") == "application/json"
    assert (exchange.started_at, exchange.ended_ms) == (1001.0, 1000.0)
    assert (str(exchange.channel), exchange.request.scheme) == ("tool:files", "stdio")
    assert (exchange.request.host, exchange.request.target) == ("npx", "/files")


def test_answers_may_come_in_any_order_and_1_is_not_the_text_1() -> None:
    first, second = talk(
        (CLIENT, call(1, "a")), (CLIENT, call("1", "b")), (SERVER, result("1", "B")), (SERVER, result(1, "A"))
    )
    assert bodies(first) == (call("1", "b"), [result("1", "B")])
    assert bodies(second) == (call(1, "a"), [result(1, "A")])


def test_of_two_requests_with_one_id_the_first_is_answered_first() -> None:
    first, second = talk(
        (CLIENT, call(1, "a")), (CLIENT, call(1, "b")), (SERVER, result(1, "A")), (SERVER, result(1, "B"))
    )
    assert bodies(first) == (call(1, "a"), [result(1, "A")])
    assert bodies(second) == (call(1, "b"), [result(1, "B")])


def test_progress_comes_before_its_answer_in_one_stream_whatever_else_is_open() -> None:
    asked = [call(1, _meta={"progressToken": "p"}), call(2, _meta={"progressToken": 7})]
    progress = [tells("notifications/progress", progressToken=token, progress=1) for token in ("p", 7)]
    second, first = talk(
        *((CLIENT, each) for each in asked),
        *((SERVER, each) for each in progress),
        *((SERVER, each) for each in (result(2), result(1))),
    )
    assert bodies(first) == (asked[0], [progress[0], result(1)])
    assert bodies(second) == (asked[1], [progress[1], result(2)])
    assert first.response is not None
    assert header(first.response.headers, "content-type") == "text/event-stream"
    assert [chunk.at_ms for chunk in first.response.body.chunks] == [2000.0, 5000.0]


def test_what_the_server_asks_belongs_to_the_one_open_request_and_the_clients_answer_is_taken() -> None:
    sampling, sampled = asks(0, "sampling/createMessage"), {"jsonrpc": "2.0", "id": 0, "result": {}}
    taken, called = talk((CLIENT, call()), (SERVER, sampling), (CLIENT, sampled), (SERVER, result()))
    assert bodies(taken) == (sampled, [])
    assert taken.response is not None
    assert taken.response.status == 202
    assert bodies(called) == (call(), [sampling, result()])


def test_what_belongs_to_no_request_stands_in_the_listening_stream() -> None:
    changed, log = tells("notifications/tools/list_changed"), tells("notifications/message", data="x")
    *_, listening = talk(
        (SERVER, log),
        (CLIENT, call(1)),
        (SERVER, changed),
        (CLIENT, call(2)),
        (SERVER, log),
        (SERVER, result(2)),
        (SERVER, result(1)),
        (SERVER, result(9)),
    )
    assert listening.request.method == "GET"
    assert bodies(listening) == (None, [log, changed, log, result(9)])
    assert listening.response is not None
    assert [chunk.at_ms for chunk in listening.response.body.chunks] == [1000, 3000, 5000, 8000]
    assert decode(listening).protocol == "mcp"


def test_changes_come_in_the_stream_of_their_subscription() -> None:
    listen = asks("s", "subscriptions/listen")
    changed = tells("notifications/tools/list_changed", _meta={"io.modelcontextprotocol/subscriptionId": "s"})
    log = tells("notifications/message", data="x")
    called, subscribed = talk(
        (CLIENT, listen), (CLIENT, call()), (SERVER, changed), (SERVER, log), (SERVER, result())
    )
    assert bodies(subscribed) == (listen, [changed])
    assert bodies(called) == (call(), [log, result()])


@pytest.mark.parametrize("end", [Outcome.CLIENT_CLOSED, Outcome.UPSTREAM_CLOSED])
def test_a_request_that_nobody_answered_says_who_ended(end: Outcome) -> None:
    progress = tells("notifications/progress", progressToken=1, progress=1)
    bare, begun = talk(
        (CLIENT, call(1)), (CLIENT, call(2, _meta={"progressToken": 1})), (SERVER, progress), end=end
    )
    assert (bare.response, bare.outcome, begun.outcome) == (None, end, end)
    assert bodies(begun)[1] == [progress]
    assert decode(begun).complete is False


def test_a_request_that_the_client_cancelled_is_closed_by_the_client() -> None:
    cancel = tells("notifications/cancelled", requestId=1, reason="slow")
    taken, cancelled = talk((CLIENT, call()), (CLIENT, cancel), end=Outcome.UPSTREAM_CLOSED)
    assert bodies(taken) == (cancel, [])
    assert (cancelled.outcome, cancelled.error) == (Outcome.CLIENT_CLOSED, "the client cancelled it")
    (trace,) = assemble([taken, cancelled])
    assert [step.error for step in trace.steps][-1] == "no answer (client_closed): the client cancelled it"


def test_a_batch_is_one_exchange_that_ends_with_its_last_answer() -> None:
    asked = [call(1, "a"), tells("notifications/x"), call(2, "b")]
    (whole,) = talk((CLIENT, asked), (SERVER, [result(2), result(1)]))
    assert bodies(whole) == (asked, [[result(2), result(1)]])
    (apart,) = talk((CLIENT, asked), (SERVER, result(2)), (SERVER, result(1)))
    assert bodies(apart) == (asked, [result(2), result(1)])
    assert [use.error for use in decode(whole).uses + decode(apart).uses] == [None] * 4


def test_answers_to_several_requests_on_one_line_stand_in_the_listening_stream_and_are_found_there() -> None:
    seen = talk((CLIENT, call(1, "a")), (CLIENT, call(2, "b")), (SERVER, [result(1, "A"), result(2, "B")]))
    assert [exchange.request.method for exchange in seen] == ["POST", "POST", "GET"]
    (trace,) = assemble(seen)
    assert {(step.target, step.content) for step in trace.steps if step.action == "responds"} == {
        ("a", "A"),
        ("b", "B"),
    }


@pytest.mark.parametrize("line", [b"", b"hello", b"5", b"[]", b'{"a":1}', b"\xff\xfe", b"[" * 100_000])
def test_a_line_that_is_no_message_is_kept_with_an_error(line: bytes) -> None:
    sent, listening = talk((CLIENT, line), (SERVER, line), (SERVER, line))
    assert sent.request.body.data == line
    assert sent.error is not None
    assert sent.error.startswith("the client's line is no message: ")
    assert lines_of(listening) == [line, line]
    assert listening.error is not None
    assert listening.error.startswith("2 lines of the server's are no messages: ")


def test_a_line_that_is_cut_or_torn_is_no_message_and_says_so() -> None:
    kept: list[Exchange] = []
    made = Talk(PLACE, 0.0, kept.append)
    made.from_client(Line(b'{"id":1}', size=100), 1.0)
    made.from_client(Line(b'{"id":1}', torn=True), 1.0)
    made.from_server(Line(b'{"id":1}', size=100), 1.0)
    made.end(Outcome.CLIENT_CLOSED, 2.0)
    cut, _, listening = kept
    assert cut.request.body.size == 100
    assert [each.error and each.error.split(": ")[1] for each in kept] == [
        "it is too long",
        "a part of it is missing",
        "it is too long",
    ]
    assert listening.response is not None
    assert listening.response.body.cut


SAID = st.lists(
    st.tuples(
        st.booleans(),
        st.binary(max_size=12).filter(lambda line: b"\n" not in line)
        | st.sampled_from(
            [
                *(call(1), call(2, _meta={"progressToken": 1}), result(1), result(2), asks(1, "roots/list")),
                *([call(3), call(4)], [result(3), result(1)], tells("notifications/message")),
                *(tells("notifications/progress", progressToken=1), b'{"method":"x",\r"id":\r1}\r'),
            ]
        ),
    ),
    max_size=12,
)


@given(SAID)
def test_every_line_stands_in_exactly_one_exchange(said: Sequence[Said]) -> None:
    kept = talk(*said)
    lines = [(by, what if isinstance(what, bytes) else json.dumps(what).encode()) for by, what in said]
    sent = [exchange.request.body.data for exchange in kept if exchange.request.method == "POST"]
    assert sorted(sent) == sorted(line for by, line in lines if by)
    got = [line for exchange in kept for line in lines_of(exchange)]
    assert sorted(got) == sorted(line for by, line in lines if not by)
    assert [decode(exchange).failed for exchange in kept] == [None] * len(kept)


@settings(max_examples=30)
@given(SAID)
def test_a_cassette_of_a_talk_is_the_talk(said: Sequence[Said]) -> None:
    recording = Recording("r", "n", 0.0, upstreams=(Upstream(PLACE.channel, PLACE.url),))
    cassette = Cassette(recording, tuple(talk(*said)))
    assert loads(dumps(cassette)) == cassette


def test_redaction_leaves_a_talk_without_secrets_alone_and_its_session_too() -> None:
    seen = talk((CLIENT, call()), (SERVER, result()), (SERVER, tells("notifications/message")))
    redactor = Redactor()
    assert [redactor.redact(exchange) for exchange in seen] == seen


def test_a_trace_of_a_talk_has_its_calls_and_answers() -> None:
    seen = talk(
        (CLIENT, asks(0, "initialize")),
        (SERVER, {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-11-25"}}),
        (CLIENT, tells("notifications/initialized")),
        (CLIENT, call(1, "add")),
        (SERVER, result(1, "3")),
    )
    (trace,) = assemble(seen)
    assert [(step.action, step.target, step.content) for step in trace.steps] == [
        ("calls", "add", None),
        ("responds", "add", "3"),
    ]
