"""Ollama's own API: the traps that recorded answers set, one a test."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, decode, ollama
from abs_replay.decoders.events import Call, Message, Said, Thought, Turn
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.trace import Usage

ASKED = [{"role": "user", "content": "hi"}]


def exchange(
    answer: object,
    body: dict[str, Any] | None = None,
    target: str = "/api/chat",
    status: int = 200,
    role: Role = Role.LLM,
    kind: str = "application/x-ndjson",
) -> Exchange:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sent = json.dumps({"model": "asked", **(body or {"messages": ASKED})}).encode()
    response = Response(status, (("content-type", kind),), Body(data))
    return Exchange("x", Channel(role, "m"), 0.0, Request("POST", target, (), Body(sent)), response)


def turn(one: Exchange) -> Turn:
    found = decode(one)
    assert found.protocol == "ollama"
    assert found.turn is not None
    return found.turn


def lines(*values: object) -> bytes:
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


def said(content: object, done: bool = False, **message: object) -> dict[str, Any]:
    return {"model": "m", "message": {"role": "assistant", "content": content, **message}, "done": done}


def call(name: str, arguments: object, **more: object) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": arguments}, **more}


def test_lines_are_the_default_and_one_object_comes_where_it_was_asked_for() -> None:
    body = lines(said("a"), said("b"), {**said("", done=True), "prompt_eval_count": 3, "eval_count": 2})
    found = decode(exchange(body))
    assert (found.complete, found.remarks) == (True, ())
    assert found.turn == Turn(
        (Message("user", "hi", at="request.messages[0]"),),
        Message("assistant", "ab", at="response.events[0-2]"),
        "m",
        Usage(3, 2),
    )
    plain = decode(exchange(said("a", done=True), {"messages": ASKED, "stream": False}))
    assert plain.complete is None
    assert plain.turn
    assert plain.turn.reply == Message("assistant", "a", at="response.message")


def test_thoughts_words_and_calls_keep_their_order() -> None:
    asked = [call("f", {"n": 1}, id="call_1"), call("g", '{"n": 2}')]
    body = lines(
        said("", thinking="h"),
        said("", thinking="m"),
        said("w"),
        said("", tool_calls=asked),
        said("", done=True),
    )
    found = turn(exchange(body)).reply
    assert found is not None
    assert found.parts == (
        Thought("hm", "response.events[0-1]"),
        Said("w", "response.events[2]"),
        Call("f", {"n": 1}, "call_1", "response.events[3]"),
        Call("g", {"n": 2}, None, "response.events[3]"),
    )


def test_results_without_ids_belong_to_the_calls_by_name_then_by_order() -> None:
    echo = {"role": "assistant", "content": "", "tool_calls": [call("f", {}, id="1"), call("g", {})]}
    results = [{"role": "tool", "tool_name": "g", "content": "[1]"}, {"role": "tool", "content": "x"}]
    *_, first, second = turn(exchange(said("x", done=True), {"messages": [*ASKED, echo, *results]})).history
    assert (first.name, first.call_id, first.content) == ("g", None, [1])
    assert (second.name, second.call_id, second.content) == ("f", "1", "x")


def test_a_result_without_an_id_answers_the_call_that_had_one() -> None:
    """The vendor's SDK sends calls back without the ids that the server gave them."""
    asked = exchange(said("", done=True, tool_calls=[call("f", {"n": 1}, id="call_1")]))
    echo = {"role": "assistant", "content": "", "tool_calls": [call("f", {"n": 1})]}
    told = {"messages": [*ASKED, echo, {"role": "tool", "tool_name": "f", "content": "r"}]}
    after = replace(exchange(said("x", done=True), told), id="y", started_at=1.0)
    (trace,) = assemble([asked, after])
    assert [(step.actor, step.target, step.call_id) for step in trace.steps[1:3]] == [
        ("assistant", "f", "call_1"),
        ("tool", "f", "call_1"),
    ]


def test_a_picture_is_named() -> None:
    asked = [{"role": "user", "content": "see", "images": ["QUJD"]}]
    (message,) = turn(exchange(said("x", done=True), {"messages": asked})).history
    assert isinstance(message.content, list)
    assert message.content[0] == "see"
    assert "QUJD" not in str(message.content)


def test_a_prompt_goes_on_from_the_tokens_of_the_answer_before() -> None:
    answer = {"model": "m", "response": "One.", "thinking": "hm", "done": True, "context": [1, 2]}
    before = turn(exchange(answer, {"prompt": "one", "system": "s"}, "/api/generate"))
    after = turn(exchange(answer, {"prompt": "two", "context": [1, 2], "images": ["QUJD"]}, "/api/generate"))
    assert [(m.role, m.content) for m in before.history] == [("system", "s"), ("user", "one")]
    assert before.reply
    assert before.reply.content == "One."
    assert (before.parent_id, after.parent_id) == (None, before.response_id)


@pytest.mark.parametrize(
    ("body", "error", "remarks"),
    [
        (lines(said("a")), "the stream ended before its last event", ()),
        (lines(said("a"), {"error": "late"}), "late", ()),
        (lines(said("a"), said("", done=True) | {"done_reason": "length"}), None, ("done_reason length",)),
        (
            lines(said("a"), said("", done=True))[:-12],
            "the stream ended before its last event",
            ("an event is no JSON",),
        ),
        ({"error": "in a 200"}, "in a 200", ()),
        ({"done": True}, "the answer has no message", ()),
        (b"", "the answer is no JSON (it is empty)", ()),
    ],
)
def test_a_status_of_200_proves_nothing(body: object, error: str | None, remarks: tuple[str, ...]) -> None:
    found = decode(exchange(body))
    assert found.turn
    assert (found.turn.error, found.remarks) == (error, remarks)


def test_an_error_is_a_text() -> None:
    assert turn(exchange({"error": "no model"}, status=404)).error == "HTTP 404: no model"


def test_only_its_own_paths_and_shapes_are_claimed() -> None:
    answered = said("x", done=True)
    assert ollama.claims(exchange(answered, target="/talk", role=Role.AGENT))
    assert ollama.claims(exchange(lines(said("x" * 5000)), role=Role.AGENT))
    # Agents of all kinds are reached at this path.
    assert not ollama.claims(exchange({"message": {"role": "assistant", "content": "x"}}, role=Role.AGENT))
    assert not ollama.claims(exchange({"choices": [{"message": {}}]}))
    assert not ollama.claims(exchange(answered, role=Role.TOOL))
    assert not ollama.claims(exchange({"done": True}, {"messages": []}))  # only loads a model
    assert not ollama.claims(exchange({"embeddings": []}, {"input": "x"}, "/api/embed"))
    assert [name for name, decoder in DECODERS.items() if decoder.claims(exchange(answered))] == ["ollama"]


texts = st.text(min_size=1, max_size=5)
arguments = st.dictionaries(st.sampled_from("ab"), st.integers() | texts | st.none(), max_size=2)


@settings(max_examples=40)
@given(st.lists(texts, max_size=4), st.lists(st.tuples(st.sampled_from("fg"), arguments), max_size=3))
def test_an_answer_is_known_again_in_the_next_request(
    pieces: list[str], asked: list[tuple[str, dict[str, Any]]]
) -> None:
    """The vendor's SDK sends back the words as one text, and the calls without their ids."""
    calls = [call(name, args, id=f"c{i}") for i, (name, args) in enumerate(asked)]
    body = lines(*map(said, pieces), said("", tool_calls=calls), said("", done=True))
    made = turn(exchange(body)).reply
    assert made is not None
    echo = {
        "role": "assistant",
        "content": "".join(pieces),
        "tool_calls": [call(name, args) for name, args in asked],
    }
    again = turn(exchange(said("x", done=True), {"messages": [*ASKED, echo]})).history
    found = next((message for message in again if message.role == "assistant"), Message("assistant"))
    assert found.content == made.content
    assert [(c.name, c.arguments) for c in found.calls] == [(c.name, c.arguments) for c in made.calls]


keys = st.sampled_from(
    re.findall(
        r"\S+",
        "messages message role content thinking tool_calls function name arguments id images tool_name done"
        " done_reason error response prompt system context model stream eval_count prompt_eval_count",
    )
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 3) | st.sampled_from(["user", "tool", "assistant", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=12,
)
answers = values | st.lists(values, max_size=3).flatmap(lambda v: st.sampled_from([lines(*v), b"\xff"]))


@settings(max_examples=50)
@given(st.lists(values, max_size=3), answers, st.dictionaries(keys, values, max_size=4))
def test_nothing_that_comes_makes_it_raise(messages: list[Any], answer: object, more: dict[str, Any]) -> None:
    ollama.decode(exchange(answer, {"messages": messages, **more}))
    ollama.decode(exchange(answer, {**more, "prompt": "x"}, "/api/generate"))


def test_what_is_no_message_picture_or_call_is_passed_over() -> None:
    messages = ["x", {"content": "whose?"}, {"role": "user", "content": "hi", "images": [1, "AAAA"]}]
    found = turn(
        exchange(said("a", done=True, tool_calls=["x", call("", {}), call("f", {})]), {"messages": messages})
    )
    (asked,) = found.history
    assert isinstance(asked.content, list)
    assert (asked.content[0], asked.content[1]["image"]["bytes"]) == ("hi", 3)
    assert found.reply is not None
    assert [one.name for one in found.reply.calls] == ["f"]


def test_content_that_is_no_text_is_told_as_it_is() -> None:
    found = turn(exchange(said({"a": 1}, done=True))).reply
    assert found is not None
    assert found.content == {"a": 1}


def test_a_prompt_that_is_none_asks_nothing() -> None:
    one = exchange({"response": "a", "done": True}, {"prompt": "x", "system": "s"}, "/api/generate")
    assert [message.role for message in turn(one).history] == ["system", "user"]
