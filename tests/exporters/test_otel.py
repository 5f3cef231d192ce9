"""Spans are valid OTLP/JSON, and our own reader makes the same steps of them."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from abs_replay import importers
from abs_replay.decoders import Call, Message
from abs_replay.exchange import Recording
from abs_replay.exporters import Content, render
from abs_replay.importers import Source
from abs_replay.importers.telling import Facts, Teller
from abs_replay.trace import Source as StepSource
from abs_replay.trace import Step, Trace, Usage, Visibility

FIXTURES = Path(__file__).parents[2] / "fixtures" / "importers"
RECORDING = Recording("r", "orders", 1_777_629_600.0)


def text_of(*traces: Trace) -> str:
    return render("otel", Content(RECORDING, traces=traces)).decode()


def spans_of(*traces: Trace) -> list[Any]:
    document = json.loads(text_of(*traces))
    return list(document["resourceSpans"][0]["scopeSpans"][0]["spans"])


def back(*traces: Trace) -> tuple[Trace, ...]:
    source = Source(Path("x.json"), text_of(*traces).encode())
    assert importers.recognise(source) == "otel"
    return importers.read("otel", source).traces


def shown(trace: Trace) -> list[tuple[Any, ...]]:
    """What spans can say of steps."""
    told = [step for step in trace.steps if step.visibility is Visibility.USER or step.action == "thinks"]
    return [
        (
            *(step.actor, step.action, step.target, step.content, step.arguments, step.call_id, step.error),
            *(step.model, step.usage, step.parallel_group is not None),
        )
        for step in told
    ]


def stored(name: str, index: int = 0) -> Trace:
    path = FIXTURES / name
    return importers.read(path.parent.name, Source(path, path.read_bytes())).traces[index]


def test_the_export_is_a_request_of_the_protocol() -> None:
    document = json.loads(text_of(stored("langfuse/trace-tr-1.json"), stored("messages/chats.jsonl")))
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        # OTLP's JSON has ids in hexadecimal, where protobuf's own mapping has base64.
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span:
                span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
    request = json_format.ParseDict(document, ExportTraceServiceRequest())
    (scope,) = request.resource_spans[0].scope_spans
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in scope.spans)
    assert all(0 < span.start_time_unix_nano <= span.end_time_unix_nano for span in scope.spans)
    assert len({span.span_id for span in scope.spans}) == len(scope.spans)
    roots = {span.span_id for span in scope.spans if not span.parent_span_id}
    assert len(roots) == 2
    assert all(span.parent_span_id in roots for span in scope.spans if span.span_id not in roots)


def test_spans_bear_the_attributes_of_the_conventions() -> None:
    agent, first, tool, second = spans_of(stored("langsmith/runs.json"))
    named = [
        {one["key"]: one["value"] for one in span["attributes"]} for span in (agent, first, tool, second)
    ]
    assert [span["name"] for span in (agent, first, tool, second)] == [
        "invoke_agent",
        "chat small-1",
        "execute_tool get_order",
        "chat small-1",
    ]
    assert named[1]["gen_ai.usage.input_tokens"] == {"intValue": "20"}
    assert json.loads(named[3]["gen_ai.input.messages"]["stringValue"]) == [
        {"role": "system", "parts": [{"type": "text", "content": "You help with orders."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Where is order 17?"}]},
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "name": "get_order", "arguments": {"id": 17}, "id": "c1"}],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "response": {"status": "shipped"}, "id": "c1"}],
        },
    ]
    assert json.loads(named[3]["gen_ai.output.messages"]["stringValue"]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "On its way."}], "finish_reason": "stop"}
    ]
    assert named[2]["gen_ai.tool.call.id"] == {"stringValue": "c1"}
    assert named[2]["gen_ai.tool.call.arguments"] == {"stringValue": '{"id":17}'}


@pytest.mark.parametrize(
    ("name", "index"),
    [
        *(("messages/chats.jsonl", index) for index in range(3)),
        ("tau-bench/airline.json", 0),
        ("tau-bench/telecom.json", 0),
        ("swe-agent/functions.traj", 0),
        ("swe-agent/commands.traj", 0),
        ("claude-code/session.jsonl", 0),
        ("openai-agents/state.json", 0),
        ("inspect/orders.eval", 0),
        ("inspect/events.json", 0),
        ("langsmith/runs.json", 0),
        ("langsmith/langchain.jsonl", 0),
        ("langfuse/observations.csv", 0),
        ("otel/collector.jsonl", 0),
        ("otel/console.json", 0),
    ],
)
def test_what_was_imported_comes_back_step_by_step(name: str, index: int) -> None:
    trace = stored(name, index)
    (found,) = back(trace)
    assert shown(found) == shown(trace)


def test_times_session_and_tags_come_back() -> None:
    trace = replace(stored("langsmith/runs.json"), session="Order status", agent_version="1.2")
    trace = replace(trace, tags={**trace.tags, "agent_version": "1.2"})
    (found,) = back(trace)
    assert [step.at_ms for step in found.steps] == [step.at_ms for step in trace.steps]
    assert (found.session, found.agent_version) == ("Order status", "1.2")
    assert (
        found.tags.items() >= {key: value for key, value in trace.tags.items() if key != "trace_id"}.items()
    )


def test_times_that_nobody_saw_are_said_to_be_assumed_and_are_none_when_they_come_back() -> None:
    said, call = Step(1, "user", "says", content="hi"), Step(2, "assistant", "calls", "look", call_id="c")
    got = Step(3, "tool", "responds", "look", {"b": 2}, call_id="c")
    answer = Step(4, "assistant", "responds", content="yes")
    untimed = Trace("t", (said, replace(call, arguments={}), got, answer))
    _, *spans = spans_of(untimed)
    assert [attributes(span).get("abs.times") for span in spans] == ["assumed"] * 3
    (found,) = back(untimed)
    assert [(step.at_ms, step.duration_ms) for step in found.steps] == [(None, None)] * 4

    timed = replace(untimed, steps=tuple(replace(step, at_ms=float(step.seq)) for step in untimed.steps))
    assert not any("abs.times" in attributes(span) for span in spans_of(timed))
    (found,) = back(timed)
    assert None not in [step.at_ms for step in found.steps]


def test_a_failure_is_a_span_with_an_error() -> None:
    (found,) = back(stored("langsmith/langchain.jsonl", 2))
    assert [(step.actor, step.action, step.error) for step in found.steps] == [
        ("user", "says", None),
        ("system", "fails", "RateLimitError: slow down"),
    ]


def test_what_was_internal_is_left_out() -> None:
    hidden = Step(1, "system", "says", content="my secret prompt", visibility=Visibility.INTERNAL)
    trace = Trace(
        "t", (hidden, Step(2, "user", "says", content="Hi"), Step(3, "assistant", "responds", content="Ho"))
    )
    assert "secret" not in text_of(trace)
    assert [step.content for step in back(trace)[0].steps] == ["Hi", "Ho"]


def test_traces_stay_apart() -> None:
    traces = (
        stored("tau-bench/airline.json"),
        stored("tau-bench/telecom.json"),
        stored("inspect/events.json"),
    )
    assert sorted(map(str, map(shown, back(*traces)))) == sorted(map(str, map(shown, traces)))


def test_an_export_is_the_same_every_time() -> None:
    trace = stored("claude-code/session.jsonl")
    assert text_of(trace) == text_of(trace)


# Words are told alike in every format, and so are structures that tools give.
WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12).filter(
    lambda text: text.strip() != "" and text[:1] not in "[{"
)
NAMES = st.sampled_from(["get_order", "cancel", "weather"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
RESULTS = WORDS | st.dictionaries(WORDS, VALUES, max_size=3)
TURNS = st.lists(
    st.tuples(
        WORDS,  # the user's
        st.lists(st.tuples(NAMES, st.dictionaries(WORDS, VALUES, max_size=2), RESULTS), max_size=3),
        st.booleans(),  # whether words stand before the calls
        WORDS,  # the answer
        st.none() | st.tuples(st.integers(0, 99), st.integers(0, 99)),
    ),
    min_size=1,
    max_size=3,
)


def conversation(turns: list[Any], timed: bool) -> Trace:
    teller, now, calls = Teller(), RECORDING.started_at, 0

    def facts(**known: Any) -> Facts:
        nonlocal now
        now += 1
        return Facts(at=now if timed else None, **known)

    for number, (asked, called, before, answered, counted) in enumerate(turns):
        teller.tell(Message("user", f"{number} {asked}"), facts())
        if called:
            made = tuple(
                Call(name, {"n": n, **given}, f"c{calls + n}") for n, (name, given, _) in enumerate(called)
            )
            words = f"{number} let me look" if before else None
            teller.tell(Message("assistant", words, made), facts(model="small-1"))
            for n, (_, _, result) in enumerate(called):
                teller.tell(Message("tool", result, call_id=f"c{calls + n}"), facts())
            calls += len(called)
        usage = Usage(*counted) if counted else None
        teller.tell(Message("assistant", f"{number} {answered}"), facts(model="small-1", usage=usage))
    return teller.trace()


@settings(max_examples=40)
@given(TURNS, st.booleans())
def test_any_conversation_comes_back(turns: list[Any], timed: bool) -> None:
    trace = conversation(turns, timed)
    (found,) = back(trace)
    assert shown(found) == shown(trace)


def test_a_call_that_no_model_made_has_none_when_it_comes_back() -> None:
    trace = Trace(
        "t",
        (
            Step(1, "user", "says", content="go", at_ms=0.0),
            Step(2, "assistant", "calls", "look", arguments={"n": 1}, call_id="c1", at_ms=9.0, model="m"),
            Step(3, "assistant", "calls", "orders", arguments={"path": "/7"}, at_ms=10.0),
            Step(4, "tool", "responds", "orders", content={"ok": True}, at_ms=20.0),
            Step(5, "tool", "responds", "look", content="seen", call_id="c1", at_ms=30.0),
            Step(6, "assistant", "responds", content="done", at_ms=40.0, model="m", usage=Usage(3, 4)),
        ),
        started_at=1_777_629_600.0,
    )
    (again,) = back(trace)
    models = [(step.target, step.model) for step in again.steps if step.action == "calls"]
    assert models == [("look", "m"), ("orders", None)]
    assert again.models == ("m",)


def attributes(span: Any) -> dict[str, Any]:
    return {one["key"]: one["value"].get("stringValue") for one in span["attributes"]}


def shown_at(exchange: str, at: str) -> tuple[StepSource, ...]:
    return (StepSource(exchange, at),)


def test_each_exchange_with_a_model_is_one_chat_span_whatever_it_came_to() -> None:
    call = Step(
        *(5, "assistant", "calls", "look"),
        arguments={"n": 1},
        call_id="c1",
        at_ms=2.0,
        sources=shown_at("x2", "request.messages[2].tool_calls[0]"),
    )
    thought = Step(
        2,
        "assistant",
        "thinks",
        content="hm",
        at_ms=1.0,
        duration_ms=1.0,
        visibility=Visibility.INTERNAL,
        model="m",
        usage=Usage(3, 4),
        sources=shown_at("x1", "response.events[0]"),
    )
    failed = Step(
        3,
        "system",
        "fails",
        "llm:m",
        at_ms=1.0,
        duration_ms=1.0,
        error="no such argument",
        model="m",
        sources=shown_at("x1", "response"),
    )
    steps = (
        Step(1, "user", "says", content="one", at_ms=0.0, sources=shown_at("x1", "request.messages[0]")),
        *(thought, failed, call),
        Step(
            6,
            "tool",
            "responds",
            "look",
            "wrong",
            call_id="c1",
            at_ms=2.0,
            sources=shown_at("x2", "request.messages[3]"),
        ),
        Step(
            7,
            "assistant",
            "responds",
            content="Sorry.",
            at_ms=3.0,
            duration_ms=1.0,
            model="m",
            sources=shown_at("x2", "response.choices[0].message"),
        ),
    )
    trace = Trace("t", steps)
    found = spans_of(trace)
    assert [span["name"] for span in found] == ["invoke_agent", "chat m", "execute_tool look", "chat m"]
    first, _, last = found[1:]
    assert (first["status"]["message"], last["status"]) == ("no such argument", {})
    answered = json.loads(attributes(first)["gen_ai.output.messages"])
    assert answered[0]["parts"] == [{"type": "reasoning", "content": "hm"}]
    asked = json.loads(attributes(last)["gen_ai.input.messages"])
    assert [message["role"] for message in asked] == ["user", "assistant", "tool"]
    assert [step.action for step in back(trace)[0].steps] == [step.action for step in steps]


def test_thoughts_of_another_exchange_are_no_part_of_a_failure() -> None:
    steps = tuple(
        Step(
            seq,
            actor,
            action,
            at_ms=1.0,
            duration_ms=1.0,
            content=said,
            error=error,
            model="m",
            sources=shown_at(exchange, "response"),
        )
        for seq, actor, action, said, error, exchange in (
            (1, "assistant", "thinks", "hm", None, "x1"),
            (2, "system", "fails", None, "overloaded", "x2"),
        )
    )
    assert [span["name"] for span in spans_of(Trace("t", steps))] == ["invoke_agent", "chat m", "chat m"]


def test_a_chat_span_names_the_provider_of_its_exchange() -> None:
    steps = tuple(
        Step(seq, "assistant", "responds", content="hi", sources=shown_at(exchange, "response"))
        for seq, exchange in ((1, "x1"), (2, "x2"))
    )
    text = render("otel", Content(RECORDING, traces=(Trace("t", steps),), providers={"x1": "groq"}))
    spans = json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"][1:]
    assert [attributes(span)["gen_ai.provider.name"] for span in spans] == ["groq", "unknown"]
