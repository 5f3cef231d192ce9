"""Streams are resumed at an event's end, whatever is in them, and wait for what the recording shows."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.cassette import Cassette
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Recording, Request, Response, Role
from abs_replay.player import How, Played, Player
from abs_replay.player.streams import Cause, Streams, after, causes

MCP = Channel(Role.TOOL, "mcp")
EVENTS = (("content-type", "text/event-stream"),)


@settings(max_examples=50)
@given(
    st.lists(
        st.binary(max_size=12).map(lambda data: b"data: " + data.hex().encode()), min_size=1, max_size=6
    ),
    st.lists(st.integers(0, 200), max_size=5),
    st.sampled_from((b"\n", b"\r\n")),
    st.data(),
)
def test_what_comes_after_an_event_is_the_rest_in_the_same_chunks(
    lines: list[bytes], cuts: list[int], line_end: bytes, data: st.DataObject
) -> None:
    events = [b"%bid: e%d%b" % (line + line_end, n, line_end * 2) for n, line in enumerate(lines)]
    whole = b"".join(events)
    ends = sorted({min(cut, len(whole)) for cut in cuts} | {len(whole)})
    response = Response(200, EVENTS, Body(whole, tuple(Chunk(end, n) for n, end in enumerate(ends))))
    number = data.draw(st.integers(0, len(events) - 1))
    rest = after(response, f"e{number}")
    assert rest is not None
    assert rest.body.data == b"".join(events[number + 1 :])
    gone = len(whole) - len(rest.body.data)
    assert [chunk.end + gone for chunk in rest.body.chunks] == [end for end in ends if end > gone]
    assert after(response, f"e{len(events)}") is None


def exchange(at: float, method: str, body: Any = None, *chunks_at: float, session: str = "s") -> Exchange:
    data = b"" if body is None else json.dumps({"jsonrpc": "2.0", **body}).encode()
    said = Body(b"x" * len(chunks_at), tuple(Chunk(n + 1, at_ms) for n, at_ms in enumerate(chunks_at)))
    request = Request(method, "/mcp", (("Mcp-Session-Id", session),), Body(data))
    return Exchange(f"{at}", MCP, at, request, Response(200, EVENTS, said))


def test_a_chunk_waits_for_the_last_request_before_it_of_its_own_session() -> None:
    stream = exchange(1.0, "GET", None, 500.0, 1500.0, 3500.0)
    calls = [exchange(at, "POST", {"id": at, "method": "m"}) for at in (0.5, 2.0, 3.0, 4.0)]
    other = exchange(4.2, "POST", {"id": 1, "method": "m"}, session="other")
    # Chunks came at 1.5, 2.5 and 4.5 s.
    assert causes([stream, *calls, other])[0] == (Cause(1500.0, 2), Cause(3500.0, 4))


def test_where_no_times_were_recorded_nothing_waits() -> None:
    assert (
        causes([exchange(0.0, "GET", None, 5.0), exchange(0.0, "POST", {"id": 1, "method": "m"}, 9.0)]) == {}
    )


def events(*said: Any) -> bytes:
    return b"".join(b"id: %d\ndata: %b\n\n" % (n, json.dumps(one).encode()) for n, one in enumerate(said))


def streamed(exchange: Exchange, *said: Any) -> Exchange:
    """An exchange that is answered by these events, each a chunk and half a second after the one before."""
    ends = [len(events(*said[: n + 1])) for n in range(len(said))]
    chunks = tuple(Chunk(end, 500.0 * (n + 1)) for n, end in enumerate(ends))
    return replace(exchange, response=Response(200, EVENTS, Body(events(*said), chunks)))


RESULT = {"jsonrpc": "2.0", "id": 7, "result": {}}
ASKS = {"jsonrpc": "2.0", "id": 40, "method": "sampling/createMessage"}


def test_a_call_is_answered_after_the_client_answered_what_the_server_asked_in_it() -> None:
    call = streamed(exchange(1.0, "POST", {"id": 7, "method": "tools/call"}), ASKS, RESULT)
    answer = exchange(1.7, "POST", {"id": 40, "result": {}})
    assert causes([call, answer])[0] == (Cause(1000.0, 1),)


@pytest.mark.parametrize(
    ("at", "body"),
    [
        (1.7, {"id": 41, "result": {}}),  # to a question of another stream
        (1.7, {"id": 40, "method": "ping"}),  # a request of the client's own
        (0.9, {"id": 40, "result": {}}),  # before the call
        (2.5, {"id": 40, "result": {}}),  # after all of the answer
    ],
)
def test_a_call_waits_for_no_answer_that_is_not_to_it(at: float, body: Any) -> None:
    call = streamed(exchange(1.0, "POST", {"id": 7, "method": "tools/call"}), ASKS, RESULT)
    assert dict(causes([call, exchange(at, "POST", body)]))[0] == ()


def test_a_question_in_the_stream_of_the_session_is_asked_of_every_call() -> None:
    listening = streamed(exchange(0.5, "GET"), ASKS)
    call = exchange(1.0, "POST", {"id": 7, "method": "tools/call"}, 1000.0)
    assert causes([listening, call, exchange(1.7, "POST", {"id": 40, "result": {}})])[1] == (
        Cause(1000.0, 2),
    )


def test_a_request_without_an_answer_waits_for_nothing() -> None:
    unanswered = replace(exchange(1.0, "POST", {"id": 7, "method": "tools/call"}), response=None)
    assert causes([unanswered, exchange(2.0, "POST", {"id": 8, "method": "m"})]) == {0: (), 1: ()}


# -- coming back to a stream


LISTENING = streamed(exchange(1.0, "GET"), {"n": 0}, {"n": 1}, {"n": 2})


def back(event: str, session: str = "s") -> Request:
    return Request("GET", "/mcp", (("Mcp-Session-Id", session), ("Last-Event-ID", event)))


def played(exchanges: list[Exchange], *asked: Request) -> list[Any]:
    player = Player(Cassette(Recording("r", "n", 0.0), tuple(exchanges)))
    return [player.play(each, MCP) for each in asked]


def test_a_client_that_lost_a_stream_gets_what_comes_after_the_event_it_had_last() -> None:
    (rest,) = played([LISTENING], back("1"))
    assert (rest.how, rest.number) == (How.RESUMED, 0)
    assert rest.response.body.data == events({"n": 0}, {"n": 1}, {"n": 2})[len(events({"n": 0}, {"n": 1})) :]


def test_an_event_that_no_stream_has_resumes_none() -> None:
    (answer,) = played([LISTENING], back("9"))
    assert (answer.how, answer.response.body.data) == (How.SAME_BYTES, events({"n": 0}, {"n": 1}, {"n": 2}))


def test_a_stream_that_was_resumed_when_it_was_recorded_is_played_as_it_went_on_then() -> None:
    resumed = replace(streamed(exchange(2.0, "GET"), {"n": 7}), request=back("0"))
    begun, answer = played([LISTENING, resumed], LISTENING.request, back("0"))
    assert (begun.number, answer.number, answer.how) == (0, 1, How.SAME_BYTES)
    assert answer.response.body.data == events({"n": 7})


def test_what_goes_on_of_a_call_names_the_call_as_the_client_numbered_it() -> None:
    asked = {"jsonrpc": "2.0", "id": 7, "method": "tools/call"}
    call = streamed(exchange(1.0, "POST", {"id": 7, "method": "tools/call"}), {"n": 0}, RESULT)
    again = Request("POST", "/mcp", call.request.headers, Body(json.dumps({**asked, "id": 99}).encode()))
    for recorded in ([call], [call, replace(streamed(exchange(2.0, "GET"), RESULT), request=back("0"))]):
        _, rest = played(recorded, again, back("0"))
        assert json.loads(rest.response.body.data.partition(b"data: ")[2]) == {**RESULT, "id": 99}


def test_a_stream_of_another_session_or_channel_is_not_the_clients() -> None:
    refused = replace(exchange(0.5, "GET"), response=None)
    elsewhere = replace(LISTENING, channel=Channel(Role.TOOL, "other"))
    streams = Streams([refused, elsewhere, LISTENING])
    assert streams.holding(MCP, "1", "another") is None
    assert [found[0] for session in ("s", None) if (found := streams.holding(MCP, "1", session))] == [2, 2]


def test_the_rest_of_a_stream_names_the_session_that_the_client_has() -> None:
    named = (("Mcp-Session-Id", "s"),)
    begin = exchange(0.5, "POST", {"id": 0, "method": "initialize"}, 1.0)
    begin = replace(begin, response=Response(200, named))
    assert LISTENING.response is not None
    listening = replace(LISTENING, response=replace(LISTENING.response, headers=(*EVENTS, *named)))
    fresh = Request("POST", "/mcp", (), begin.request.body)
    begin = replace(begin, request=fresh)
    player = Player(Cassette(Recording("r", "n", 0.0), (begin, listening)))
    handed_out = [player.play(fresh, MCP, scope) for scope in ("one", "two")]
    assert [dict(one.response.headers) for one in handed_out if isinstance(one, Played) and one.response] == [
        {"Mcp-Session-Id": "s"},
        {"Mcp-Session-Id": "s-2"},
    ]
    rest = player.play(back("1", "s-2"), MCP, "two")
    assert isinstance(rest, Played)
    assert rest.response is not None
    assert (rest.how, dict(rest.response.headers)["Mcp-Session-Id"]) == (How.RESUMED, "s-2")


def test_a_player_says_what_an_answer_waits_for() -> None:
    call = streamed(exchange(1.0, "POST", {"id": 7, "method": "tools/call"}), ASKS, RESULT)
    answer = exchange(1.7, "POST", {"id": 40, "result": {}})
    player = Player(Cassette(Recording("r", "n", 0.0), (call, answer)))
    assert [player.waits_for(number) for number in (0, 1, 2)] == [(Cause(1000.0, 1),), (), ()]
