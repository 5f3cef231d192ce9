"""OpenAI chat completions: the traps that recorded servers set, one a test."""

import gzip
import json
from typing import Any

import pytest

from abs_replay.decoders import decode, stream_complete
from abs_replay.decoders.events import Call, Decoded, Message, Turn
from abs_replay.exact_json import Number
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Request, Response, Role
from abs_replay.trace import Usage

EVENTS = (("content-type", "text/event-stream"),)
HISTORY = [{"role": "user", "content": "hi"}]


def exchange(
    answer: object,
    messages: list[dict[str, Any]] | None = None,
    status: int = 200,
    target: str = "/v1/chat/completions",
    outcome: Outcome = Outcome.COMPLETE,
    headers: tuple[tuple[str, str], ...] = (),
    role: Role = Role.LLM,
) -> Exchange:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sent = json.dumps({"model": "asked", "messages": messages or HISTORY}).encode()
    request = Request("POST", target, (), Body(sent))
    return Exchange("x", Channel(role, "m"), 0.0, request, Response(status, headers, Body(data)), outcome)


def stream(*chunks: object, done: bool = True) -> bytes:
    lines = [chunk if isinstance(chunk, str) else f"data: {json.dumps(chunk)}" for chunk in chunks]
    return "".join(f"{line}\n\n" for line in [*lines, *(["data: [DONE]"] if done else [])]).encode()


def delta(finish: str | None = None, index: int | None = 0, **fields: object) -> dict[str, Any]:
    choice: dict[str, Any] = {"delta": fields, "finish_reason": finish}
    return {"choices": [choice if index is None else {**choice, "index": index}]}


def turn(answer: object, **more: Any) -> Turn:
    decoded = decode(exchange(answer, headers=EVENTS if isinstance(answer, bytes) else (), **more))
    assert decoded.protocol == "openai_chat"
    assert decoded.turn is not None
    return decoded.turn


def calls(answer: object) -> list[tuple[str | None, str, object]]:
    reply = turn(answer).reply
    assert reply is not None
    return [(call.call_id, call.name, call.arguments) for call in reply.calls]


def plain(message: object, **more: object) -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message}], **more}


@pytest.mark.parametrize(
    "target",
    [
        "/openai/deployments/gpt-4o/chat/completions?api-version=1",
        "/api/v1/chat/completions",
        "/chat/completions",
    ],
)
def test_the_path_is_known_under_any_prefix(target: str) -> None:
    assert decode(exchange(plain({"content": "x"}), target=target)).protocol == "openai_chat"


def test_an_agent_that_answers_in_choices_is_known_at_any_path() -> None:
    reply = plain({"content": "x"})
    assert decode(exchange(reply, target="/talk", role=Role.AGENT)).protocol == "openai_chat"
    assert (
        decode(exchange(stream(delta(content="x")), target="/talk", role=Role.AGENT)).protocol
        == "openai_chat"
    )


def test_a_completion_asked_of_a_tool_is_a_plain_call() -> None:
    assert decode(exchange(plain({"content": "x"}), role=Role.TOOL)).protocol == "rest"


def test_ids_and_names_repeated_in_every_delta_are_not_joined() -> None:
    pieces = ["", '{"a"', ":1}"]
    body = stream(
        *(
            delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": piece}}])
            for piece in pieces
        )
    )
    assert calls(body) == [("c", "f", {"a": 1})]


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": ""}, {"arguments": "null"}])
def test_arguments_that_never_come_are_an_empty_object(arguments: dict[str, Any]) -> None:
    asked = [{"index": 0, "id": "c", "function": {"name": "f", **arguments}}]
    assert calls(stream(delta(tool_calls=asked))) == [("c", "f", {})]
    assert calls(plain({"content": None, "tool_calls": asked})) == [("c", "f", {})]


def test_calls_without_an_index_are_whole() -> None:
    whole = [{"id": i, "function": {"name": "f", "arguments": f'{{"n":"{i}"}}'}} for i in ("a", "b")]
    wanted = [("a", "f", {"n": "a"}), ("b", "f", {"n": "b"})]
    assert calls(stream(delta(tool_calls=whole))) == wanted
    assert calls(stream(*(delta(tool_calls=[one]) for one in whole))) == wanted


def test_parallel_calls_whose_deltas_interleave_stay_apart() -> None:
    parts = [(0, "a", ""), (1, "b", ""), (1, None, '{"n":2}'), (0, None, '{"n":1}')]
    body = stream(
        *(
            delta(tool_calls=[{"index": i, "id": call_id, "function": {"name": call_id, "arguments": text}}])
            for i, call_id, text in parts
        )
    )
    assert calls(body) == [("a", "a", {"n": 1}), ("b", "b", {"n": 2})]


def test_arguments_that_are_no_json_stay_text_and_numbers_stay_exact() -> None:
    asked = [{"function": {"name": "f", "arguments": text}} for text in ("{broken", '{"n": 1.50}')]
    broken, exact = (arguments for _, _, arguments in calls(plain({"tool_calls": asked})))
    assert broken == "{broken"
    assert isinstance(exact, dict)
    assert isinstance(exact["n"], Number)
    assert exact["n"].text == "1.50"


def test_the_old_single_function_call_has_no_id() -> None:
    assert calls(plain({"content": None, "function_call": {"name": "f", "arguments": "{}"}})) == [
        (None, "f", {})
    ]
    pieces = stream(
        delta(function_call={"name": "f", "arguments": '{"a"'}), delta(function_call={"arguments": ":1}"})
    )
    assert calls(pieces) == [(None, "f", {"a": 1})]


def test_a_custom_tools_input_is_text() -> None:
    pieces = stream(
        delta(
            tool_calls=[{"index": 0, "id": "c", "type": "custom", "custom": {"name": "sh", "input": "ls "}}]
        ),
        delta(tool_calls=[{"index": 0, "custom": {"input": "-l"}}]),
    )
    assert calls(pieces) == [("c", "sh", "ls -l")]


def test_usage_and_model_come_from_whatever_chunk_has_them() -> None:
    first = {"model": "", "choices": [], "prompt_filter_results": []}
    last = {"model": "real", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}
    found = turn(stream(first, delta(content="x"), last))
    assert (found.model, found.usage) == ("real", Usage(5, 2))
    assert turn(plain({"content": "x"})).model == "asked"


def test_content_parts_in_deltas_are_words_without_the_thoughts() -> None:
    thought = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]
    words = [{"type": "text", "text": "Hello"}]
    reply = turn(stream(delta(content=thought), delta(content=words), delta(content=" you"))).reply
    assert reply is not None
    assert reply.content == "Hello you"


def test_a_refusal_comes_in_the_words_place() -> None:
    for body in (plain({"content": None, "refusal": "No."}), stream(delta(refusal="N"), delta(refusal="o."))):
        reply = turn(body).reply
        assert reply is not None
        assert reply.content == "No."


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (stream('event: error\ndata: {"error": {"message": "overloaded"}}'), "overloaded"),
        (b'error: {"code": 500, "message": "context full"}\n\n', "context full"),
        (stream(delta(content="x"), {"error": {"message": "late"}}), "late"),
        ({"error": {"message": "in a 200"}}, "in a 200"),
        ({"error": "a text"}, "a text"),
        ({"ok": True}, "the answer has no choices"),
        ({}, "the answer has no choices"),
        (b"<html>", "the answer is no JSON (Expecting value: line 1 column 1 (char 0))"),
        (b'{"a": "\xff"}', "the answer is no JSON (not UTF-8 at byte 7)"),
        (b"", "the answer is no JSON (it is empty)"),
    ],
)
def test_a_status_of_200_proves_nothing(body: object, error: str) -> None:
    found = decode(exchange(body)).turn
    assert found is not None
    assert found.error == error


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "slow"}}, "HTTP 400: slow"),
        ({"code": "x", "error": "bad key"}, "HTTP 400: bad key"),
        ({"detail": "no"}, "HTTP 400: no"),
        ({"error": {"status": 3}}, 'HTTP 400: {"status":3}'),
        (b"plain words", "HTTP 400: plain words"),
        (b"", "HTTP 400"),
    ],
)
def test_an_error_body_of_any_shape_gives_its_words(body: object, words: str) -> None:
    assert decode(exchange(body, status=400)).turn == Turn(
        decode(exchange(body)).turn.history,  # type: ignore[union-attr]
        model="asked",
        error=words,
    )


@pytest.mark.parametrize(
    ("done", "finish", "outcome", "complete"),
    [
        (True, "stop", Outcome.COMPLETE, True),
        (True, "stop", Outcome.CLIENT_CLOSED, True),  # SDKs hang up at [DONE]
        (False, "stop", Outcome.COMPLETE, True),  # servers that never send it
        (False, "stop", Outcome.UPSTREAM_CLOSED, False),
        (False, None, Outcome.COMPLETE, False),
        (False, None, Outcome.CLIENT_CLOSED, False),
    ],
)
def test_a_stream_is_complete_when_its_last_event_came(
    done: bool, finish: str | None, outcome: Outcome, complete: bool
) -> None:
    one = exchange(stream(delta(content="x"), delta(finish), done=done), outcome=outcome, headers=EVENTS)
    assert stream_complete(one) is complete
    found = decode(one).turn
    assert found is not None
    assert found.error == (None if complete else "the stream ended before its last event")


def test_a_stream_without_choices_said_nothing() -> None:
    assert turn(stream({"choices": []})).reply is None


def test_a_packed_stream_that_ends_early_gives_its_first_words() -> None:
    body = gzip.compress(stream(*(delta(content=f"{i} ") for i in range(500))))
    decoded = decode(exchange(body[:-30], headers=(*EVENTS, ("content-encoding", "gzip"))))
    assert decoded.complete is False
    assert decoded.remarks[0].startswith("gzip ends early")
    assert decoded.turn
    assert decoded.turn.reply
    assert str(decoded.turn.reply.content).startswith("0 1 2 ")


def test_the_history_keeps_roles_parts_calls_and_results() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": "[1, 2]"}]},
        {"role": "function", "name": "g", "content": "12"},
        {"no": "message"},
    ]
    decoded = decode(exchange(plain({"content": "x"}), messages))
    assert decoded.turn is not None
    system, user, assistant, tool, function = decoded.turn.history
    assert (system.role, system.content) == ("system", "a\nb")
    assert user.content == [{"type": "image_url", "image_url": {"url": "u"}}]
    assert (assistant.content, [call.name for call in assistant.calls]) == (None, ["f"])
    assert (tool.call_id, tool.content, tool.at) == ("c", [1, 2], "request.messages[3]")
    assert (function.role, function.name, function.content) == ("tool", "g", "12")


def test_a_body_that_is_not_what_it_says_is_kept_as_undecoded() -> None:
    request = Request("POST", "/v1/chat/completions", (), Body(b'{"messages": [', size=90))
    found = decode(Exchange("x", Channel(Role.LLM, "m"), 0, request))
    assert found == Decoded(
        None,
        reason="no decoder claims POST /v1/chat/completions on llm:m: its body is no JSON"
        " (Expecting value: line 1 column 15 (char 14)); kept cut at 14 of 90 bytes",
    )


def test_no_answer_at_all_says_why() -> None:
    request = exchange({}).request
    refused = Exchange("x", Channel(Role.LLM, "m"), 0, request, None, Outcome.REFUSED, "port closed")
    found = decode(refused).turn
    assert found is not None
    assert found.error == "no answer (refused): port closed"


def test_a_call_without_a_name_is_none() -> None:
    assert calls(plain({"content": "x", "tool_calls": [{"id": "c"}, None, {"function": {"name": ""}}]})) == []
    assert Call("f").arguments == {}


def test_a_message_that_a_history_repeats_is_read_once_and_its_like_is_read_anew() -> None:
    def read(*given: object) -> list[Message]:
        asked = [{"id": "c", "function": {"name": "f", "arguments": one}} for one in given]
        messages = [{"role": "assistant", "content": None, "tool_calls": [one]} for one in asked]
        found = decode(exchange(plain({"content": "x"}), messages)).turn
        assert found is not None
        return list(found.history)

    first, second = read('{"n":1}'), read('{"n":1}', '{"n":1}')
    assert first[0] is second[0]
    assert second[0] is not second[1]
    assert [one.calls[0].arguments for one in read({"n": 1}) + read({"n": True})] == [{"n": 1}, {"n": True}]
