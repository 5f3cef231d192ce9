"""MCP on captured traffic of the official packages, in each of its transports, and what must not be taken
for it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay import importers
from abs_replay.assembly import assemble, explain
from abs_replay.decoders import Answer, Decoded, ToolUse, decode
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Outcome, Request, Response, Role

CHANNEL = Channel(Role.TOOL, "demo")
CAPTURES = {
    "mcp-loopback-capture/mcp_everything_streamable_http.rawchunks.jsonl": 7,
    "mcp-loopback-capture/mcp_py23_legacy_stateful_json.rawchunks.jsonl": 4,
    "mcp-loopback-capture/mcp_py23_auto_2026.rawchunks.jsonl": 4,
    "mcp-recorder/tests/cassettes/mock_session.json": 4,
}


@pytest.fixture
def corpus(shared: Path) -> Path:
    found = shared / "corpus"
    if not found.is_dir():
        pytest.skip(f"no corpus at {found}")
    return found


def exchanges(path: Path) -> list[Exchange]:
    if not path.exists():
        pytest.skip(f"no {path}")
    source = importers.open_source(path)
    read = importers.read(importers.recognise(source) or "", source).exchanges
    return [replace(one, id=f"x{number}", channel=CHANNEL) for number, one in enumerate(read)]


@pytest.mark.parametrize(("name", "tools"), CAPTURES.items())
def test_what_was_captured_is_mcp_and_only_tool_calls_give_steps(corpus: Path, name: str, tools: int) -> None:
    seen = [one for one in exchanges(corpus / name) if one.request.body.data or one.request.headers[1:]]
    decoded = [decode(one) for one in seen]
    assert {one.protocol for one in decoded} == {"mcp"}
    assert not [remark for one in decoded for remark in one.remarks]
    (trace,) = assemble(seen)
    assert [(step.actor, step.action) for step in trace.steps] == [
        ("assistant", "calls"),
        ("tool", "responds"),
    ] * tools
    assert [step.target for step in trace.steps[::2]] == [step.target for step in trace.steps[1::2]]
    assert all(one.complete in (None, True) for one in decoded if one.uses)


def test_captured_calls_have_their_names_arguments_and_results(corpus: Path) -> None:
    (trace,) = assemble(exchanges(corpus / next(iter(CAPTURES))))
    by_tool = {step.target: step for step in trace.steps if step.actor == "tool"}
    asked = {step.target: step.arguments for step in trace.steps if step.action == "calls"}
    assert by_tool.keys() == asked.keys()
    failed = [step for step in trace.steps if step.error]
    assert failed
    assert all(step.content == step.error for step in failed)
    picture = by_tool["get-tiny-image"].content
    assert isinstance(picture, list)
    assert picture[1] == {
        "type": "image",
        "mimeType": "image/png",
        "data": {"bytes": 4033, "sha256": "4466be3b7a0e5177"},
    }


# -- what is claimed ----------------------------------------------------------


def post(body: Any, answer: Any = None, target: str = "/mcp", status: int = 200, **headers: str) -> Exchange:
    named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    request = Request("POST", target, named, Body(json.dumps(body).encode()))
    data = b"" if answer is None else json.dumps(answer).encode()
    return Exchange("x", CHANNEL, 0, request, Response(status, (), Body(data)), ended_ms=10)


def get(*events: str, target: str = "/mcp", **headers: str) -> Exchange:
    named = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    data, chunks = b"", []
    for number, event in enumerate(events, 1):
        data += event.encode()
        chunks.append(Chunk(len(data), number * 100.0))
    response = Response(200, (("content-type", "text/event-stream"),), Body(data, tuple(chunks)))
    return Exchange("g", CHANNEL, 0, Request("GET", target, named), response, ended_ms=9000)


def rpc(method: str, id_: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


def said(words: str, id_: Any = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {"content": [{"type": "text", "text": words}], **more}}


def event(message: Any, name: str = "message") -> str:
    return f"event: {name}\ndata: {message if name == 'endpoint' else json.dumps(message)}\n\n"


@pytest.mark.parametrize(
    ("method", "params", "wanted"),
    [
        ("tools/call", {}, "mcp"),
        ("notifications/cancelled", {}, "mcp"),
        ("server/discover", {}, "mcp"),
        ("tasks/get", {"taskId": "t"}, "mcp"),
        ("tasks/get", {"id": "t"}, "not mcp"),
        ("message/send", {}, "not mcp"),
        ("tasks/send", {"id": "t"}, "not mcp"),
        ("eth_call", {}, "not mcp"),
    ],
)
def test_json_rpc_is_mcp_by_its_method(method: str, params: dict[str, Any], wanted: str) -> None:
    assert (decode(post(rpc(method, **params))).protocol == "mcp") == (wanted == "mcp")


@pytest.mark.parametrize("method", ["custom/thing", "tasks/list"])
def test_json_rpc_is_mcp_by_its_header(method: str) -> None:
    assert decode(post(rpc(method), mcp_session_id="s")).protocol == "mcp"


def test_who_posts_an_answer_was_asked_over_mcp() -> None:
    decoded = decode(post({"jsonrpc": "2.0", "id": 0, "result": {"roots": []}}, status=202))
    assert (decoded.protocol, decoded.uses) == ("mcp", ())


def test_a_get_is_mcp_by_its_header_or_by_the_address_that_its_stream_begins_with() -> None:
    assert decode(get("data: 1\n\n", mcp_session_id="s")).protocol == "mcp"
    assert decode(get(": hello\n\n", event("/m?sessionId=1", "endpoint"), target="/sse")).session == "1"
    assert decode(get("data: 1\n\n")).protocol == "rest"


# -- results ------------------------------------------------------------------


def only(decoded: Decoded) -> ToolUse:
    (use,) = decoded.uses
    return use


def test_ids_of_two_types_are_two_ids() -> None:
    found = only(decode(post(rpc("tools/call", 1, name="t"), said("no", "1"))))
    assert found.error == "the answer ended before the result"


def test_structured_content_speaks_where_there_is_no_other() -> None:
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"n": 1}}}
    assert only(decode(post(rpc("tools/call", name="t"), answer))).content == {"n": 1}


@pytest.mark.parametrize(
    ("words", "there", "remarks"),
    [
        ("5", {"result": 5}, ()),
        ("yes", {"result": "yes"}, ()),
        ('{"n": 1.0}', {"n": 1}, ()),
        ("one", {"n": 1}, ("structuredContent says something else, and is not traced",)),
    ],
)
def test_structured_content_that_says_something_else_is_remarked(
    words: str, there: Any, remarks: tuple[str, ...]
) -> None:
    decoded = decode(post(rpc("tools/call", name="t"), said(words, structuredContent=there)))
    assert decoded.remarks == remarks


def test_an_internal_error_of_json_rpc_is_the_failure_of_the_tool() -> None:
    error = {"code": -32603, "message": "Internal error", "data": {"line": 3}}
    found = only(decode(post(rpc("tools/call", name="t"), {"jsonrpc": "2.0", "id": 1, "error": error})))
    assert found.error == found.content == 'Internal error ({"line":3})'
    assert found.answered_at == "response.error"


def test_requests_of_the_servers_and_progress_stand_in_no_answers_place() -> None:
    sampling = rpc("sampling/createMessage", 1, messages=[])
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}}
    data = "".join(map(event, [progress, sampling, progress, said("done")])).encode()
    asked = post(rpc("tools/call", name="t"))
    response = Response(200, (("content-type", "text/event-stream"),), Body(data))
    decoded = decode(replace(asked, response=response))
    assert (only(decoded).content, only(decoded).answered_at) == ("done", "response.events[3]")
    assert decoded.remarks == ("a request of the server's is not traced: sampling/createMessage",)


@pytest.mark.parametrize("method", ["resources/read", "prompts/get", "resources/list", "initialize"])
def test_what_is_no_tool_call_gives_no_step(method: str) -> None:
    decoded = decode(post(rpc(method, uri="a://b"), said("x")))
    assert (decoded.protocol, decoded.uses, decoded.answers) == ("mcp", (), ())


# -- answers in other exchanges -----------------------------------------------


def steps(*seen: Exchange) -> list[tuple[Any, ...]]:
    numbered = [
        replace(one, id=f"x{number}", started_at=one.started_at or number * 1.0)
        for number, one in enumerate(seen)
    ]
    return [
        (step.target, step.content, step.error, step.sources[0].exchange, step.at_ms)
        for trace in assemble(numbered)
        for step in trace.steps
        if step.actor == "tool"
    ]


def test_a_result_on_the_stream_of_the_older_transport_answers_at_its_own_time() -> None:
    stream = get(event("/m?session_id=5", "endpoint"), *["data: {}\n\n"] * 19, event(said("done", 7)))
    asked = post(rpc("tools/call", 7, name="t"), target="/m?session_id=5", status=202)
    assert steps(stream, asked) == [("t", "done", None, "x0", 1100.0)]


def test_a_stream_without_times_answers_when_the_post_was_taken() -> None:
    stream = get(event("/m", "endpoint"), event(said("done", 7)), target="/sse")
    assert stream.response
    bare = replace(stream.response, body=replace(stream.response.body, chunks=()))
    asked = post(rpc("tools/call", 7, name="t"), target="/m", status=202)
    assert steps(replace(stream, response=bare), asked) == [("t", "done", None, "x0", 10.0)]


def test_two_sessions_of_one_address_take_their_own_answers() -> None:
    first = get(event("/m", "endpoint"), *["data: 1\n\n"] * 18, event(said("one", 1)), target="/sse")
    second = get(event("/m", "endpoint"), *["data: 1\n\n"] * 18, event(said("two", 1)), target="/sse")
    asked = post(rpc("tools/call", 1, name="t"), target="/m", status=202)
    found = steps(first, asked, replace(second, started_at=5.0), replace(asked, started_at=6.0))
    assert [step[1] for step in found] == ["one", "two"]


@pytest.mark.parametrize("headers", [{"mcp_session_id": "s"}, {}])
def test_a_stream_that_breaks_is_taken_up_again(headers: dict[str, Any]) -> None:
    asked = post(rpc("tools/call", 1, name="t"), **headers)
    broken = Response(200, (("content-type", "text/event-stream"),), Body(b"id: e-1\ndata:\n\n"))
    again = get(f"id: e-2\n{event(said('done'))}", last_event_id="e-1", mcp_protocol_version="1", **headers)
    assert [one[1:4] for one in steps(replace(asked, response=broken), again)] == [("done", None, "x1")]


def test_a_call_that_the_client_cancelled_says_so_unless_it_was_answered_all_the_same() -> None:
    asked = post(rpc("tools/call", 1, name="t"), status=202, mcp_session_id="s")
    cancel = {
        "jsonrpc": "2.0",
        "method": "notifications/cancelled",
        "params": {"requestId": 1, "reason": "late"},
    }
    cancelled = post(cancel, status=202, mcp_session_id="s")
    assert [one[2] for one in steps(asked, cancelled)] == ["the client cancelled it: late"]
    late = get(event(said("done")), mcp_session_id="s")
    assert [one[1:3] for one in steps(asked, cancelled, late)] == [("done", None)]


def test_a_task_of_the_extension_is_answered_by_its_state() -> None:
    begun = {"resultType": "task", "taskId": "t1", "status": "working"}
    asked = post(rpc("tools/call", 1, name="t"), {"jsonrpc": "2.0", "id": 1, "result": begun})
    done = {"taskId": "t1", "status": "completed", "result": {"content": [{"type": "text", "text": "ok"}]}}
    polled = post(rpc("tasks/get", 2, taskId="t1"), {"jsonrpc": "2.0", "id": 2, "result": done})
    assert [one[1:4] for one in steps(asked, polled)] == [("ok", None, "x1")]
    failed = done | {"status": "failed", "error": {"code": 1, "message": "no stock"}}
    polled = post(rpc("tasks/get", 2, taskId="t1"), {"jsonrpc": "2.0", "id": 2, "result": failed})
    assert [one[1:4] for one in steps(asked, polled)] == [(None, "task failed: no stock", "x1")]


def test_a_tool_that_wants_input_twice_is_one_use() -> None:
    def wants(state: str) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": 1, "result": {"resultType": "input_required", "requestState": state}}

    def again(state: str) -> dict[str, Any]:
        return rpc("tools/call", name="t", requestState=state, inputResponses={})

    found = steps(
        post(rpc("tools/call", name="t"), wants("a")),
        post(again("a"), wants("b")),
        post(again("b"), said("ok")),
    )
    assert [one[1:4] for one in found] == [("ok", None, "x2")]


def test_every_exchange_that_answers_a_call_is_of_its_trace() -> None:
    stream = get(event("/m", "endpoint"), *["data: 1\n\n"] * 18, event(said("done")), target="/sse")
    asked = post(rpc("tools/call", name="t"), target="/m", status=202)
    account = explain([stream, replace(asked, started_at=1.0)])
    assert [len(fate.traces) for fate in account.fates] == [1, 1]


words = st.sampled_from(["s", "1", "tasks/call", "message"])
ids = st.one_of(st.integers(0, 2), words, st.none())
sent = st.lists(
    st.one_of(
        ids.map(lambda id_: rpc("tools/call", id_, name="t")),
        ids.map(lambda id_: said("x", id_)),
        st.just({"jsonrpc": "2.0", "method": "notifications/progress"}),
    ),
    max_size=4,
)


@given(sent, sent, st.booleans())
def test_every_call_is_one_use_and_has_a_result_an_error_or_both(
    asked: list[Any], brought: list[Any], streamed: bool
) -> None:
    one = post(asked, brought, mcp_session_id="s")
    if streamed:
        data = "".join(map(event, brought)).encode()
        one = replace(one, response=Response(200, (("content-type", "text/event-stream"),), Body(data)))
    decoded = decode(one)
    calls = [message for message in asked if message.get("method") == "tools/call"]
    answered = {json.dumps(message["id"]) for message in brought if "result" in message}
    if not asked:
        return
    assert len(decoded.uses) == len(calls)
    for call, use in zip(calls, decoded.uses, strict=True):
        assert (use.content == "x") == (json.dumps(call["id"]) in answered)
        assert (use.error is None) == (use.ticket is None) == (use.content == "x")


def test_an_answer_is_no_use_where_nobody_asked() -> None:
    decoded = decode(get(event(said("x", 4)), mcp_session_id="s"))
    (answer,) = decoded.answers
    assert isinstance(answer, Answer)
    assert (answer.ticket, answer.at_ms, answer.asked) == ("s 4", 100.0, False)
    assert assemble([get(event(said("x", 4)), mcp_session_id="s")]) == ()


def test_a_connection_that_was_refused_is_the_failure_of_the_call() -> None:
    asked = replace(post(rpc("tools/call", name="t")), response=None, outcome=Outcome.REFUSED)
    assert only(decode(asked)).error == "no answer (refused)"
    assert only(decode(asked)).ticket is None


def test_an_address_that_can_not_be_read_names_no_session() -> None:
    many = "&".join(f"a{number}=1" for number in range(101))
    decoded = decode(post(rpc("tools/call", name="t"), said("x"), target=f"/mcp?sessionId=1&{many}"))
    assert (decoded.session, only(decoded).content) == (None, "x")


def test_a_stream_that_does_not_begin_with_its_endpoint_names_none() -> None:
    decoded = decode(get("data: 1\n\n", event("/m?sessionId=1", "endpoint"), mcp_session_id="s"))
    assert decoded.session == "s"
    assert decode(get("data: 1\n\n", event("/m?sessionId=1", "endpoint"), target="/sse")).protocol == "rest"


def test_an_endpoint_that_is_no_address_is_taken_as_it_stands() -> None:
    stream = get(event("http://[bad?sessionId=1", "endpoint"), target="/sse", last_event_id="0", accept="x")
    decoded = decode(stream)
    assert (decoded.protocol, decoded.session) == ("mcp", None)


def test_a_list_that_says_it_is_no_object_is_one_beside_its_lines() -> None:
    same = said("1\n2", structuredContent={"result": [1, 2]})
    assert decode(post(rpc("tools/call", name="t"), same)).remarks == ()


def test_a_file_is_named_and_not_copied() -> None:
    block = {"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA", "_meta": {}}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [block]}}
    found = only(decode(post(rpc("tools/call", name="t"), answer))).content
    assert isinstance(found, dict)
    assert isinstance(found["resource"], dict)
    assert found["resource"]["uri"] == "file:///a"
    assert "AAAA" not in json.dumps(found)


def test_what_is_asked_again_with_input_and_is_no_call_of_a_tool_is_no_use() -> None:
    asked = rpc("prompts/get", name="p", requestState="s", inputResponses={})
    assert decode(post(asked, said("x"))).answers == ()


def test_a_notice_of_a_task_tells_what_it_came_to() -> None:
    notice = {"jsonrpc": "2.0", "method": "notifications/tasks/status"}
    params = {"taskId": "t", "status": "failed", "statusMessage": "no room"}
    decoded = decode(get(event(notice | {"params": params}), mcp_session_id="s"))
    assert [answer.use.error for answer in decoded.answers] == ["task failed: no room"]
