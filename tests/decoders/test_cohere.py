"""Cohere's chat, both versions: the traps that recorded answers set, one a test."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import DECODERS, cohere, cohere_v1, decode
from abs_replay.decoders.events import Call, Message, Said, Served, Thought, Turn
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.trace import Usage

EVENTS = (("content-type", "text/event-stream"),)
ASKED = [{"role": "user", "content": "hi"}]


def exchange(
    answer: object,
    body: dict[str, Any] | None = None,
    target: str = "/v2/chat",
    status: int = 200,
    role: Role = Role.LLM,
) -> Exchange:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sent = json.dumps(body or {"model": "command-a", "messages": ASKED}).encode()
    headers = EVENTS if data.startswith((b"data", b"event")) else ()
    response = Response(status, headers, Body(data))
    return Exchange("x", Channel(role, "m"), 0.0, Request("POST", target, (), Body(sent)), response)


def first(answer: object, message: str = "hi", **more: object) -> Exchange:
    return exchange(answer, {"message": message, **more}, "/v1/chat")


def turn(one: Exchange) -> Turn:
    found = decode(one).turn
    assert found is not None
    return found


def reply(one: Exchange) -> Message:
    found = turn(one).reply
    assert found is not None
    return found


def sse(*values: object, done: bool = True) -> bytes:
    lines = [f"data: {json.dumps(value)}\n\n" for value in values]
    return "".join([*lines, *(["data: [DONE]\n\n"] if done else [])]).encode()


def lines(*values: object) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def delta(kind: str, index: int | None = None, **message: object) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {"type": kind, **place, "delta": {"message": message}}


def call(name: str, arguments: object = "{}", call_id: str = "c") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


START = {"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}}
END = {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}


@pytest.mark.parametrize("arguments", ["", "null", "{}", None])
def test_calls_without_arguments_have_an_empty_object(arguments: str | None) -> None:
    body = {"message": {"role": "assistant", "tool_calls": [call("f", arguments)]}}
    assert reply(exchange(body)).calls[0].arguments == {}
    streamed = sse(START, delta("tool-call-start", 0, tool_calls=call("f", arguments)), END)
    assert reply(exchange(streamed)).calls[0].arguments == {}


def test_the_plan_is_said_after_thoughts_and_before_words_and_calls() -> None:
    message = {
        "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "words"}],
        "tool_plan": "plan",
        "tool_calls": [call("f")],
    }
    found = reply(exchange({"message": message}))
    kinds = [(type(part), getattr(part, "content", None)) for part in found.parts]
    assert kinds == [(Thought, None), (Said, "plan"), (Said, "words"), (Call, None)]
    streamed = sse(
        START,
        delta("content-start", 0, content={"type": "thinking", "thinking": ""}),
        delta("content-delta", 0, content={"thinking": "hm"}),
        delta("tool-plan-delta", tool_plan="pl"),
        delta("tool-plan-delta", tool_plan="an"),
        delta("content-delta", 1, content={"text": "wor"}),
        {"type": "citation-start", "index": 0, "delta": {"message": {"citations": {"text": "w"}}}},
        delta("content-delta", 1, content={"text": "ds"}),
        delta("tool-call-start", 0, tool_calls=call("f", "")),
        END,
    )
    other = reply(exchange(streamed))
    assert [(type(part), getattr(part, "content", None)) for part in other.parts] == kinds
    assert [part.at for part in other.parts] == [
        "response.events[2]",
        "response.events[3-4]",
        "response.events[5-7]",
        "response.events[8]",
    ]


def test_calls_are_kept_apart_by_their_index() -> None:
    body = sse(
        START,
        delta("tool-call-start", 0, tool_calls=call("f", "", "a")),
        delta("tool-call-delta", 0, tool_calls={"function": {"arguments": '{"n"'}}),
        delta("tool-call-start", 1, tool_calls=[call("g", '{"n":2}', "b")]),
        delta("tool-call-delta", 0, tool_calls={"function": {"arguments": ":1}"}}),
        END,
    )
    assert [(c.call_id, c.name, c.arguments) for c in reply(exchange(body)).calls] == [
        ("a", "f", {"n": 1}),
        ("b", "g", {"n": 2}),
    ]


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("plain", "plain"),
        ('{"n": 1}', {"n": 1}),
        ([{"type": "document", "document": {"data": {"n": 1}}}], {"n": 1}),
        ([{"type": "document", "document": {"data": '{"n": 1}'}}], {"n": 1}),
        (
            [{"type": "text", "text": "a"}, {"type": "document", "document": {"data": {"b": 1}}}],
            ["a", {"b": 1}],
        ),
        ([{"odd": 1}], {"odd": 1}),
        ([], []),
    ],
)
def test_what_a_tool_answered_is_taken_out_of_its_documents(content: Json, wanted: Json) -> None:
    echo = {"role": "assistant", "tool_plan": "p", "tool_calls": [call("f")]}
    messages = [*ASKED, echo, {"role": "tool", "tool_call_id": "c", "content": content}]
    _, asked, told = turn(exchange({"message": {}}, {"messages": messages})).history
    assert (asked.content, asked.calls[0].name) == ("p", "f")
    assert (told.content, told.call_id, told.name) == (wanted, "c", "f")


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        ({"billed_units": {"input_tokens": 3, "output_tokens": 1}}, Usage(3, 1)),
        (
            {"billed_units": {"input_tokens": 3}, "tokens": {"input_tokens": 30.0, "output_tokens": 1}},
            Usage(30, 1),
        ),
        ({"tokens": {"input_tokens": 1e99, "output_tokens": True}}, None),
        ({}, None),
    ],
)
def test_the_tokens_that_the_model_saw_count_before_those_billed(usage: object, wanted: Usage | None) -> None:
    assert turn(exchange({"message": {"content": "x"}, "usage": usage})).usage == wanted
    assert turn(first({"text": "x", "meta": usage})).usage == wanted


@pytest.mark.parametrize(
    ("body", "error", "remarks"),
    [
        ({"message": {"content": "x"}, "finish_reason": "MAX_TOKENS"}, None, ("finish_reason MAX_TOKENS",)),
        ({"message": {}, "finish_reason": "ERROR"}, "finish_reason ERROR", ("finish_reason ERROR",)),
        ({"message": "in a 200"}, "in a 200", ()),
        ({}, "the answer has no message", ()),
        (b"", "the answer is no JSON (it is empty)", ()),
        (sse(START, done=False), "the stream ended before its last event", ()),
        (sse(START, {"message": "late"}, done=False), "late", ()),
        (sse(START, "x"), None, ("an event is no JSON",)),
        (
            sse({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "no"}}),
            "no",
            ("finish_reason ERROR",),
        ),
    ],
)
def test_a_status_of_200_proves_nothing(body: object, error: str | None, remarks: tuple[str, ...]) -> None:
    found = decode(exchange(body))
    assert found.turn
    assert (found.turn.error, found.remarks) == (error, remarks)


def test_only_its_own_paths_and_shapes_are_claimed() -> None:
    answered = {"message": {"role": "assistant", "content": "x"}, "finish_reason": "COMPLETE"}
    assert cohere.claims(exchange(answered, target="/talk", role=Role.AGENT))
    assert cohere.claims(exchange(sse(START, END), target="/talk", role=Role.AGENT))
    assert not cohere.claims(exchange({"message": {"content": "x"}}, target="/talk", role=Role.AGENT))
    assert not cohere.claims(exchange({"choices": [{}]}))
    assert not cohere.claims(exchange(answered, role=Role.TOOL))
    assert cohere_v1.claims(first({"message": "gone"}))
    agent = exchange({"text": "x", "generation_id": "g"}, {"message": "hi"}, "/talk", role=Role.AGENT)
    assert cohere_v1.claims(agent)
    assert not cohere_v1.claims(exchange({"text": "x"}, {"message": "hi"}, "/v1/chat", role=Role.AGENT))
    for one, name in ((exchange(answered), "cohere"), (first({"text": "x"}), "cohere_v1")):
        assert [known for known, decoder in DECODERS.items() if decoder.claims(one)] == [name]


# -- version 1 ----------------------------------------------------------------


def test_the_first_versions_history_message_and_results_stand_in_order() -> None:
    asked = {"name": "f", "parameters": {"n": 1}}
    body = {
        "preamble": "s",
        "chat_history": [
            {"role": "User", "message": "a"},
            {"role": "CHATBOT", "message": "b", "tool_calls": [asked]},
            {"role": "TOOL", "tool_results": [{"call": asked, "outputs": [{"x": 1}]}]},
        ],
        "tool_results": [{"call": {"name": "g"}, "outputs": [1, 2]}],
    }
    found = turn(first({"text": "x"}, "c", **body)).history
    assert [(m.role, m.content, m.name) for m in found] == [
        ("system", "s", None),
        ("user", "a", None),
        ("assistant", "b", None),
        ("tool", {"x": 1}, "f"),
        ("user", "c", None),
        ("tool", [1, 2], "g"),
    ]
    assert found[2].calls == (Call("f", {"n": 1}, None, "request.chat_history[1].tool_calls[0]"),)


@pytest.mark.parametrize("framing", [lines, sse])
def test_the_first_versions_stream_is_lines_or_events(framing: Any) -> None:
    asked = {"event_type": "tool-calls-generation", "tool_calls": [{"name": "f", "parameters": {"n": 1}}]}
    body = framing(
        {"event_type": "stream-start", "generation_id": "g"},
        {"event_type": "tool-calls-chunk", "text": "I "},
        {"event_type": "tool-calls-chunk", "text": "look."},
        asked,
        {"event_type": "stream-end", "finish_reason": "COMPLETE", "response": {"generation_id": "g"}},
    )
    found = decode(first(body, stream=True, conversation_id="talk"))
    assert (found.complete, found.session, found.remarks) == (True, "talk", ())
    assert found.turn
    assert found.turn.reply == Message(
        "assistant",
        "I look.",
        (Call("f", {"n": 1}, None, "response.events[3]"),),
        at="response.events[0-4]",
    )


def test_what_the_server_searched_is_served() -> None:
    searched = {
        "search_results": [
            {"search_query": {"text": "q"}, "connector": {"id": "web"}, "document_ids": ["d"]}
        ],
        "documents": [{"id": "d", "snippet": "s"}, {"id": "e"}],
    }
    served, words = reply(first({"text": "x", **searched})).parts
    assert isinstance(served, Served)
    assert (served.call.name, served.call.arguments) == ("web", {"query": "q"})
    assert served.content == [{"id": "d", "snippet": "s"}]
    assert words == Said("x", "response.text")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"message": "no"}, "no"),
        ({}, "the answer has no text"),
        (
            b"nope",
            "the answer is no JSON (Expecting value: line 1 column 1 (char 0))",
        ),
        (lines({"event_type": "text-generation", "text": "x"}), "the stream ended before its last event"),
        (lines({"event_type": "text-generation", "text": "x"}, {"message": "late"}), "late"),
    ],
)
def test_the_first_versions_failures_are_told(body: object, error: str) -> None:
    assert turn(first(body)).error == error


# -- properties ---------------------------------------------------------------

texts = st.text(min_size=1, max_size=5)
blocks = st.one_of(
    st.builds(lambda t: {"type": "text", "text": t}, texts),
    st.builds(lambda t: {"type": "thinking", "thinking": t}, texts),
)
calls = st.builds(
    lambda name, args: call(name, json.dumps(args)),
    st.sampled_from("fg"),
    st.dictionaries(st.sampled_from("ab"), st.integers() | texts, max_size=2),
)


@settings(max_examples=40)
@given(st.lists(blocks, max_size=3), st.none() | texts, st.lists(calls, max_size=2))
def test_an_answer_is_known_again_in_the_next_request(
    content: list[dict[str, Any]], plan: str | None, asked: list[dict[str, Any]]
) -> None:
    message = {"role": "assistant", "content": content, "tool_plan": plan, "tool_calls": asked}
    made = reply(exchange({"message": message}))
    echo = turn(exchange({"message": {}}, {"messages": [*ASKED, message]})).history[1]
    assert (made.content, [(c.name, c.arguments, c.call_id) for c in made.calls]) == (
        echo.content,
        [(c.name, c.arguments, c.call_id) for c in echo.calls],
    )
    assert [type(part) for part in made.parts] == [type(part) for part in echo.parts]


keys = st.sampled_from(
    re.findall(
        r"\S+",
        "type delta message content index tool_calls tool_plan thinking text id function name arguments"
        " finish_reason usage tokens input_tokens role tool_call_id document data event_type response error"
        " parameters tool_results call outputs search_results documents chat_history preamble",
    )
)
words = st.sampled_from(
    re.findall(
        r"\S+",
        "message-start content-delta tool-call-start tool-call-delta tool-plan-delta message-end tool user"
        " assistant text-generation tool-calls-generation search-results stream-end CHATBOT TOOL",
    )
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
answers = values | st.lists(values, max_size=3).flatmap(
    lambda v: st.sampled_from([sse(*v), lines(*v), b"\xff"])
)


@settings(max_examples=50)
@given(st.lists(values, max_size=3), answers, st.dictionaries(keys, values, max_size=4))
def test_nothing_that_comes_makes_it_raise(messages: list[Any], answer: object, more: dict[str, Any]) -> None:
    cohere.decode(exchange(answer, {"messages": messages, **more}))
    cohere_v1.decode(first(answer, **{**more, "message": "hi"}))


def test_a_message_without_a_role_is_none() -> None:
    found = turn(
        exchange({"message": {"content": []}}, {"messages": [{"content": "whose?"}, *ASKED]})
    ).history
    assert [message.content for message in found] == ["hi"]
    found = turn(first({"text": "a", "generation_id": "g"}, chat_history=[{"message": "whose?"}])).history
    assert [message.content for message in found] == ["hi"]


def test_a_block_without_words_is_told_as_it_is() -> None:
    assert reply(exchange({"message": {"content": [{"type": "novel", "a": 1}]}})).content == {
        "type": "novel",
        "a": 1,
    }


def test_a_streamed_call_without_a_name_is_remarked() -> None:
    unnamed = delta("tool-call-start", 0, tool_calls={"id": "c", "function": {"arguments": "{"}})
    found = decode(exchange(sse(START, unnamed, END)))
    assert found.remarks == ("a call has no name",)
    assert found.turn
    assert found.turn.reply == Message("assistant", at="response.events[0-2]")


def test_a_stream_of_nothing_has_no_reply() -> None:
    for one in (exchange(sse()), first(sse({}), "hi")):
        found = turn(one)
        assert found.reply is None
    assert decode(first(sse("x"))).remarks == ("an event is no JSON",)


def test_an_agent_is_known_by_the_events_of_the_first_version() -> None:
    one = first(lines({"event_type": "text-generation", "text": "a"}, {"event_type": "stream-end"}))
    elsewhere = exchange(
        one.response.body.data if one.response else b"", {"message": "hi"}, "/talk", role=Role.AGENT
    )
    assert decode(elsewhere).protocol == "cohere_v1"


def test_a_call_of_the_first_version_needs_a_name() -> None:
    answer = {
        "text": "a",
        "generation_id": "g",
        "tool_calls": [{"parameters": {}}, {"name": "f", "parameters": {}}],
    }
    assert [call.name for call in reply(first(answer)).calls] == ["f"]
