"""Streams are resumed at an event's end, whatever is in them, and wait for what the recording shows."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role
from abs_replay.player.streams import Cause, after, causes

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
