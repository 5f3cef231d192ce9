"""Spans over OTLP: both of its forms, and each convention that instrumentations write."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from abs_replay.assembly import assemble
from abs_replay.decoders import Call, Decoded, Said, Served, Span, Thought, decode, genai_spans
from abs_replay.decoders.genai_spans import Record
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

FIXTURES = Path(__file__).parents[2] / "fixtures" / "otlp"
OTEL = Channel(Role.TOOL, "otel")


def export(data: bytes, kind: str, target: str = "/v1/traces") -> Exchange:
    request = Request("POST", target, (("content-type", kind),), Body(data))
    return Exchange("x", OTEL, 0, request, Response(200, (), Body()), ended_ms=5)


def in_json(body: Any) -> Exchange:
    return export(json.dumps(body).encode(), "application/json")


def in_protobuf(body: Any) -> bytes:
    made = ExportTraceServiceRequest()
    for resource in body["resourceSpans"]:
        scope_spans = made.resource_spans.add().scope_spans
        for scope in resource["scopeSpans"]:
            spans = scope_spans.add().spans
            for one in scope["spans"]:
                span = spans.add()
                span.trace_id, span.span_id = bytes.fromhex(one["traceId"]), bytes.fromhex(one["spanId"])
                span.parent_span_id = bytes.fromhex(one.get("parentSpanId", ""))
                span.name = one["name"]
                span.start_time_unix_nano = int(one["startTimeUnixNano"])
                span.end_time_unix_nano = int(one["endTimeUnixNano"])
                span.attributes.extend(map(pair, one["attributes"]))
                span.status.code = one.get("status", {}).get("code", 0)
                span.status.message = one.get("status", {}).get("message", "")
                for each in one.get("events", []):
                    event = span.events.add()
                    event.name = each["name"]
                    event.attributes.extend(map(pair, each["attributes"]))
    return bytes(made.SerializeToString())


def pair(one: Any) -> KeyValue:
    return KeyValue(key=one["key"], value=value(one["value"]))


def value(one: Any) -> AnyValue:
    found = AnyValue()
    for kind, item in one.items():
        match kind:
            case "stringValue":
                found.string_value = item
            case "intValue":
                found.int_value = int(item)
            case "boolValue":
                found.bool_value = item
            case "arrayValue":
                found.array_value.values.extend(map(value, item["values"]))
            case "kvlistValue":
                found.kvlist_value.values.extend(map(pair, item["values"]))
    return found


def attribute(given: Any) -> dict[str, Any]:
    if isinstance(given, bool):
        return {"boolValue": given}
    if isinstance(given, int):
        return {"intValue": str(given)}
    if isinstance(given, list):
        return {"arrayValue": {"values": [attribute(one) for one in given]}}
    if isinstance(given, dict):
        return {"kvlistValue": {"values": attributes(given)}}
    return {"stringValue": given}


def attributes(given: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": attribute(one)} for key, one in given.items()]


def body(given: dict[str, Any]) -> dict[str, Any]:
    span = {
        "traceId": "ab" * 16,
        "spanId": "cd" * 8,
        "name": "chat",
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "2000000000",
        "attributes": attributes(given),
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.json")), ids=lambda path: path.stem)
def test_both_forms_of_an_export_say_the_same(path: Path) -> None:
    given = json.loads(path.read_text(encoding="utf-8"))["exchanges"][0]["request"]["json"]
    decoded = decode(in_json(given))
    assert decoded.spans
    assert decode(export(in_protobuf(given), "application/x-protobuf")) == decoded


values = st.recursive(
    st.text(max_size=3) | st.integers(-3, 3) | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=40)
@given(values)
def test_values_of_attributes_are_the_same_in_both_forms(given: Any) -> None:
    whole = body(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.result": given}
    )
    (span,) = decode(in_json(whole)).spans
    assert decode(export(in_protobuf(whole), "application/x-protobuf")).spans == (span,)


@given(st.binary(max_size=60), st.integers(0, 400))
def test_broken_protobuf_is_remarked_and_raises_nothing(noise: bytes, cut: int) -> None:
    whole = in_protobuf(body({"gen_ai.operation.name": "chat", "gen_ai.response.id": "r"}))
    for data in (noise, whole[:cut], whole[:cut] + noise):
        decoded = decode(export(data, "application/x-protobuf"))
        assert decoded.protocol == "otlp"


def test_without_the_library_the_remark_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        __import__("sys").modules, "opentelemetry.proto.collector.trace.v1.trace_service_pb2", None
    )
    (remark,) = decode(export(b"\x0a\x00", "application/x-protobuf")).remarks
    assert "pip install 'abs-replay[otel]'" in remark


def test_logs_and_metrics_say_nothing() -> None:
    assert decode(export(b'{"resourceMetrics": []}', "application/json", "/v1/metrics")) == Decoded("otlp")
    logs = decode(export(b'{"resourceLogs": ["gen_ai.choice"]}', "application/json", "/v1/logs"))
    assert logs.remarks == ("messages in log records are not traced",)


# -- conventions --------------------------------------------------------------


def record(number: int = 1, start: float = 1.0, end: float = 2.0, **more: Any) -> Record:
    given = {"attributes": {}, "trace_id": "t"} | more
    return Record("chat", str(number), start, end, **given)


def chat(said: Any, asked: Any = None, **more: Any) -> Span:
    given = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": asked or [],
        "gen_ai.output.messages": said,
    }
    (span,) = genai_spans.spans([record(attributes=given | more)])
    return span


SAID: list[list[dict[str, Any]]] = [
    [{"type": "text", "content": "Hello"}],
    [{"type": "text", "content": "a"}, {"type": "text", "content": "b"}],
    [{"type": "tool_call", "id": "1", "name": "f", "arguments": {"n": 1}}],
    [
        {"type": "text", "content": "a"},
        {"type": "tool_call", "id": "1", "name": "f", "arguments": '{"n": 1}'},
    ],
    [{"type": "reasoning", "content": "hm"}, {"type": "text", "content": "a"}],
    [{"type": "blob", "modality": "image", "mime_type": "image/png", "content": "aWJt"}],
]


@pytest.mark.parametrize("parts", SAID)
def test_an_answer_that_the_next_request_repeats_is_the_same_message(parts: list[dict[str, Any]]) -> None:
    answer = [{"role": "assistant", "parts": parts}]
    first, second = chat(answer).turn, chat([], asked=json.dumps(answer)).turn
    assert first
    assert second
    assert first.reply == second.history[0]


def test_parts_keep_their_order_and_their_kind() -> None:
    parts = [
        {"type": "reasoning", "content": "hm"},
        {"type": "text", "content": "One "},
        {"type": "text", "content": "moment."},
        {"type": "server_tool_call", "id": "s", "name": "search", "server_tool_call": {"q": "x"}},
        {"type": "server_tool_call_response", "id": "s", "server_tool_call_response": {"hits": 1}},
        {"type": "tool_call", "id": "c", "name": "f", "arguments": None},
        {"type": "uri", "uri": "http://x/p.png"},
    ]
    turn = chat([{"role": "assistant", "parts": parts}]).turn
    assert turn
    assert turn.reply
    assert turn.reply.parts == (
        Thought("hm"),
        Said("One moment."),
        Served(Call("search", {"q": "x"}, "s"), {"hits": 1}),
        Call("f", {}, "c"),
        Said({"type": "uri", "uri": "http://x/p.png"}),
    )


def test_results_in_a_users_message_are_messages_of_the_tool() -> None:
    parts = [
        {"type": "tool_call_response", "id": "1", "response": '{"n": 1}'},
        {"type": "text", "content": "And?"},
    ]
    turn = chat([], asked=[{"role": "user", "parts": parts}]).turn
    assert turn
    assert [(one.role, one.content, one.call_id) for one in turn.history] == [
        ("tool", {"n": 1}, "1"),
        ("user", "And?", None),
    ]


def test_an_agents_span_counts_where_no_model_was_seen_within_it() -> None:
    asked, said = (
        [{"role": role, "content": text}] for role, text in (("user", "Hi"), ("assistant", "Hello"))
    )
    messages = {"gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    agent = record(1, 0.0, 9.0, attributes=messages | {"gen_ai.operation.name": "invoke_agent"})
    model = record(2, 1.0, 2.0, attributes=messages | {"gen_ai.operation.name": "chat"})
    assert [one.span_id for one in genai_spans.spans([agent])] == ["1"]
    assert [one.span_id for one in genai_spans.spans([agent, model])] == ["2"]


def test_a_conversation_named_by_one_span_is_that_of_its_trace() -> None:
    named = record(1, attributes={"gen_ai.conversation.id": "c"})
    model = record(2, attributes={"gen_ai.operation.name": "chat", "gen_ai.response.id": "r"})
    other = record(3, attributes={"gen_ai.conversation.id": "d"})
    assert [one.session for one in genai_spans.spans([named, model])] == ["c"]
    assert [one.session for one in genai_spans.spans([named, other, model])] == [None]


@pytest.mark.parametrize("operation", ["embeddings", "retrieval", "create_agent", None])
def test_spans_of_other_work_report_nothing(operation: str | None) -> None:
    given = {"gen_ai.operation.name": operation} if operation else {"http.request.method": "GET"}
    assert genai_spans.spans([record(attributes=given)]) == ()


@pytest.mark.parametrize(
    ("given", "arguments"),
    [
        ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": '{"n": 1}'}, {"n": 1}),
        ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": {"n": 1}}, {"n": 1}),
        ({"mcp.method.name": "tools/call", "gen_ai.tool.name": "f"}, {}),
        ({"openinference.span.kind": "TOOL", "input.value": "what"}, {"input": "what"}),
        ({"traceloop.span.kind": "tool", "traceloop.entity.input": '{"inputs": {"n": 1}}'}, {"n": 1}),
    ],
)
def test_a_tools_span_is_a_use(given: dict[str, Any], arguments: Any) -> None:
    (span,) = genai_spans.spans([Record("execute_tool f", "1", 1, 2, given, failed="no")])
    assert span.use
    assert (span.use.name, span.use.arguments, span.use.error) == ("f", arguments, "no")


def test_answers_in_the_same_words_are_two_where_one_span_does_not_wrap_the_other() -> None:
    def one(number: int, words: str) -> dict[str, Any]:
        asked = [{"role": "user", "parts": [{"type": "text", "content": words}]}]
        said = [{"role": "assistant", "parts": [{"type": "text", "content": "Yes."}]}]
        given = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(asked)}
        span = body(given | {"gen_ai.output.messages": json.dumps(said)})["resourceSpans"][0]["scopeSpans"][
            0
        ]["spans"][0]
        times = {"startTimeUnixNano": f"{number}00000000", "endTimeUnixNano": f"{number}50000000"}
        return {**span, "spanId": f"{number:016x}", **times}

    whole = {"resourceSpans": [{"scopeSpans": [{"spans": [one(1, "Is it?"), one(2, "Sure?")]}]}]}
    steps = [step.content for trace in assemble([in_json(whole)]) for step in trace.steps]
    assert steps == ["Is it?", "Yes.", "Sure?", "Yes."]
