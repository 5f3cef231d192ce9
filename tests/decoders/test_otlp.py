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
from abs_replay.decoders import (
    Call,
    Decoded,
    Said,
    Served,
    Span,
    Thought,
    decode,
    genai_messages,
    genai_spans,
)
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


def test_an_export_in_json_is_read_behind_a_byte_order_mark() -> None:
    whole = body({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"})
    decoded = decode(export(b"\xef\xbb\xbf" + json.dumps(whole).encode(), "application/json"))
    assert (len(decoded.spans), decoded.remarks) == (1, ())


def test_numbers_in_json_are_numbers_or_texts_and_values_of_other_kinds_are_none() -> None:
    for start, count in ((1500000000, 7), ("1500000000", "7")):
        whole = body({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"})
        span = whole["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        span["startTimeUnixNano"] = start
        inner = [{"key": "n", "value": {"intValue": count}}, {"key": "m", "value": {"newValue": 1}}]
        span["attributes"].append(
            {"key": "gen_ai.tool.call.result", "value": {"kvlistValue": {"values": inner}}}
        )
        (found,) = decode(in_json(whole)).spans
        assert found.use is not None
        assert (found.started_at, found.use.content) == (1.5, {"n": 7, "m": None})


def test_what_is_no_span_in_a_list_of_spans_is_passed_over() -> None:
    whole = body({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"})
    whole["resourceSpans"][0]["scopeSpans"][0]["spans"].insert(0, 7)
    (span,) = decode(in_json(whole)).spans
    assert span.use is not None
    assert span.use.asked_at.startswith("request.resourceSpans[0].scopeSpans[0].spans[1]")


def test_lists_are_read_down_to_a_bound() -> None:
    given: Any = "deep"
    for _ in range(60):
        given = [given]
    whole = body(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.result": given}
    )
    (span,) = decode(in_json(whole)).spans
    assert span.use is not None
    assert json.dumps(span.use.content) == "[" * 51 + "null" + "]" * 51


@pytest.mark.parametrize("kind", ["json", "protobuf"])
def test_an_attribute_without_a_value_is_none(kind: str) -> None:
    whole = body({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"})
    span = whole["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["attributes"].append({"key": "gen_ai.tool.call.result", "value": {}})
    sent = in_json(whole) if kind == "json" else export(in_protobuf(whole), "application/x-protobuf")
    (found,) = decode(sent).spans
    assert found.use is not None
    assert found.use.content is None


def test_messages_in_the_event_of_details_are_those_of_the_span() -> None:
    details = {
        "gen_ai.input.messages": '[{"role": "user", "content": "Hi"}]',
        "gen_ai.output.messages": '[{"role": "assistant", "content": "Hello"}]',
    }
    events = (("other", {"gen_ai.input.messages": "[]"}), (genai_spans._DETAILS, details))
    (found,) = genai_spans.spans([record(attributes={"gen_ai.operation.name": "chat"}, events=events)])
    assert found.turn is not None
    assert found.turn.reply is not None
    assert [one.content for one in (*found.turn.history, found.turn.reply)] == ["Hi", "Hello"]


def test_a_part_of_another_kind_in_a_users_message_keeps_its_members() -> None:
    parts = [{"type": "text", "content": "Look"}, {"type": "uri", "uri": "file:///a"}]
    (message,) = genai_messages.listed([{"role": "user", "parts": parts}], "at")
    assert {"type": "uri", "uri": "file:///a"} in (message.content or [])  # type: ignore[operator]


@pytest.mark.parametrize("kind", ["json", "protobuf"])
def test_attributes_hold_lists_and_objects(kind: str) -> None:
    given = {"a": [1, True, "x"], "b": {"c": -2}}
    whole = body(
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.result": given}
    )
    sent = in_json(whole) if kind == "json" else export(in_protobuf(whole), "application/x-protobuf")
    (span,) = decode(sent).spans
    assert span.use is not None
    assert span.use.content == given


def test_prompts_and_completions_in_events_of_old_are_messages() -> None:
    prompt = json.dumps([{"content": "Hi"}])
    events = (
        ("gen_ai.content.prompt", {"gen_ai.prompt": prompt}),
        ("gen_ai.content.completion", {"gen_ai.completion": json.dumps({"content": "Hello"})}),
        ("gen_ai.content.completion", {"gen_ai.completion": "plain"}),
        ("gen_ai.unknown.message", {"content": "no"}),
        ("exception", {"content": "no"}),
    )
    found = [(one.role, one.content, says) for says, one in genai_messages.told(events, "at")]
    assert found == [("user", "Hi", False), ("assistant", "Hello", True), ("assistant", "plain", True)]


def test_what_stands_in_a_list_of_messages_and_is_none_is_passed_over() -> None:
    assert [one.content for one in genai_messages.listed([7, {"role": "user", "content": "Hi"}], "at")] == [
        "Hi"
    ]


def test_empty_texts_and_thoughts_are_no_parts() -> None:
    empty = [{"type": "text", "content": ""}, {"type": "reasoning", "content": ""}]
    said = {"role": "assistant", "parts": [*empty, {"type": "text", "content": "Hi"}]}
    (message,) = genai_messages.listed([said], "at")
    assert (message.content, message.parts) == ("Hi", ())


def test_a_result_beside_no_call_is_served_under_its_name() -> None:
    result = {"type": "tool_call_response", "id": "c", "name": "look", "response": "seen"}
    (message,) = genai_messages.listed([{"role": "assistant", "parts": [result]}], "at")
    assert message.parts == (Served(Call("look", {}, "c", "at"), "seen", at="at"),)


def test_members_of_open_inference_may_bear_their_prefix_in_their_names() -> None:
    one = {
        "message.role": "assistant",
        "message.function_call_name": "look",
        "message.function_call_arguments_json": '{"n": 1}',
        "message.contents": [{"message_content.type": "text", "message_content.text": "Hi"}],
    }
    (message,) = genai_messages.open_inference({"llm.output_messages": [one]}, "llm.output_messages", "at")
    assert message.content == "Hi"
    assert [(call.name, call.arguments) for call in message.calls] == [("look", {"n": 1})]


def test_a_member_under_a_name_that_is_a_value_already_is_passed_over() -> None:
    given = {"P.0.content": "Hi", "P.0.content.more": "no"}
    assert genai_messages.nested(given, "P") == [{"content": "Hi"}]


def test_a_picture_in_open_inference_stays_beside_the_words() -> None:
    contents: list[dict[str, Any]] = [
        {"message_content": {"type": "text", "text": "Look"}},
        {"message_content": {"type": "image", "image": {"url": "https://a/b.png"}}},
    ]
    given = {"m": [{"message": {"role": "user", "contents": contents}}]}
    (message,) = genai_messages.open_inference(given, "m", "at")
    assert isinstance(message.content, list)
    assert contents[1]["message_content"] in message.content
