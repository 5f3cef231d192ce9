"""Decoding takes any bytes: no exception escapes, and nothing is guessed."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, decode
from abs_replay.exchange import (
    Body,
    Channel,
    Exchange,
    Message,
    Outcome,
    Request,
    Response,
    Role,
    WebSocket,
)
from abs_replay.importers import trace_file
from tests import corpus

keys = st.sampled_from(
    re.findall(
        r"\S+",
        "messages role content tool_calls function name arguments id index choices delta message error usage"
        " type text jsonrpc method params result isError structuredContent custom input"
        " function_call refusal"
        " content_block partial_json thinking tool_use_id is_error stop_reason server_name system"
        " model output toolUse toolResult toolUseId reasoningContent contentBlockIndex start bytes"
        " contents parts functionCall functionResponse candidates finishReason tool_plan"
        " chat_history event_type"
        " taskId requestState kind status artifact artifacts contextId messageId payload"
        " conversationId userId resourceSpans scopeSpans spans attributes key value stringValue"
        " session item_id response_id delta transcript setup model clientContent turns serverContent"
        " modelTurn"
        " turnComplete inputTranscription toolResponse functionResponses"
        " item response output_index summary action status outputs call_id reasoning reasoning_content",
    )
)
words = st.sampled_from(
    re.findall(
        r"\S+",
        "user assistant tool system 2.0 tools/call initialize error text custom thinking"
        " tool_use tool_result {} [1] null"
        " session.created conversation.item.create response.created response.done input_audio"
        " response.output_item.added response.output_text.delta response.completed mcp_call compaction",
    )
)
scalars = (
    st.none() | st.booleans() | st.integers(-2, 3) | st.floats(allow_nan=False) | words | st.text(max_size=5)
)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=4), max_leaves=12
)
messages = st.dictionaries(st.just("messages"), st.lists(values, max_size=3), min_size=1).flatmap(
    lambda body: values.map(lambda v: body | v if isinstance(v, dict) else body)
)
bodies = st.one_of(
    st.binary(max_size=40),
    st.one_of(values, messages).map(lambda v: json.dumps(v).encode()),
    st.lists(values, max_size=3).map(
        lambda vs: b"".join(b"data: %b\n\n" % json.dumps(v).encode() for v in vs)
    ),
)
headers = st.lists(
    st.tuples(
        st.sampled_from(
            ["Content-Type", "content-encoding", "mcp-session-id", "traceparent", "x-abs-session"]
        ),
        st.sampled_from(
            ["text/event-stream", "application/json", "gzip", "br", "zstd", "deflate", "s", "00-1-2-3"]
        ),
    ),
    max_size=2,
).map(tuple)
requests = st.builds(
    Request,
    method=st.sampled_from(["GET", "POST", "DELETE"]),
    target=st.sampled_from(
        [
            "/v1/messages",
            "/model/m/converse-stream",
            "/model/m/invoke",
            "/v1/chat/completions",
            "/v1/responses",
            "/v1/responses/resp_1",
            "/v1/models/m:streamGenerateContent",
            "/v2/chat",
            "/v1/chat",
            "/api/chat",
            "/api/generate",
            "/mcp",
            "/message:stream",
            "/hook/messages",
            "/hook/conversations/c/listen",
            "/v1/traces",
            "/v1/realtime",
            "/ws/x.BidiGenerateContent",
            "/a/b?c=1&c=%ff",
            "",
            "/%zz",
        ]
    ),
    headers=headers,
    body=bodies.map(Body),
)
sockets = st.builds(
    WebSocket,
    st.lists(
        st.builds(
            Message,
            st.booleans(),
            st.binary(max_size=9) | values.map(lambda value: json.dumps(value).encode()),
            st.booleans(),
            st.floats(0, 1000),
        ),
        max_size=4,
    ).map(tuple),
    st.none() | st.sampled_from([1000, 1006, 4000]),
)
responses = st.builds(Response, st.sampled_from([200, 202, 404, 429, 500]), headers, bodies.map(Body))
exchanges = st.builds(
    Exchange,
    id=st.sampled_from(["a", "b", "c", "d"]),
    channel=st.builds(Channel, st.sampled_from(Role), st.sampled_from(["x", "y"])),
    started_at=st.floats(0, 10),
    request=requests,
    response=st.none() | responses,
    outcome=st.sampled_from(Outcome),
    ended_ms=st.none() | st.floats(0, 1000),
    websocket=st.none() | sockets,
)


@settings(max_examples=150)
@given(exchanges)
def test_no_bytes_make_a_decoder_raise(exchange: Exchange) -> None:
    # The decoders themselves, not `decode`, which would turn a fault into a reason.
    for decoder in DECODERS.values():
        if decoder.claims(exchange):
            decoder.decode(exchange)
    decoded = decode(exchange)
    assert (decoded.protocol is None) == (decoded.reason is not None)


@settings(max_examples=60)
@given(st.lists(exchanges, max_size=5))
def test_no_exchanges_keep_traces_from_being_made(many: list[Exchange]) -> None:
    for trace in assemble(many):
        assert [step.seq for step in trace.steps] == list(range(1, len(trace.steps) + 1))
        assert trace_file.from_json(json.loads(trace_file.write([trace]))).id == trace.id


def test_json_nested_beyond_reason_is_kept_as_undecoded() -> None:
    deep = b'{"messages": ' + b"[" * 5000 + b"]" * 5000 + b"}"
    request = Request("POST", "/v1/chat/completions", (), Body(deep))
    decoded = decode(Exchange("x", Channel(Role.LLM, "m"), 0, request))
    assert decoded.protocol is None
    assert decoded.reason
    assert decoded.reason.endswith("its body is no JSON (nested too deep)")


def test_a_recorded_chain_of_calls_is_one_conversation(shared: Path) -> None:
    recordings = corpus.recordings(shared / "corpus") or pytest.skip("no corpus")
    (path,) = [path for path in recordings if path.name == "test_tool_use_chain_of_two_calls.yaml"]
    (trace,) = assemble(recordings[path])
    assert [(step.actor, step.action, step.target) for step in trace.steps] == [
        ("user", "says", None),
        ("assistant", "calls", "lookup_population"),
        ("tool", "responds", "lookup_population"),
        ("assistant", "calls", "can_have_dragons"),
        ("tool", "responds", "can_have_dragons"),
        ("assistant", "responds", None),
    ]
