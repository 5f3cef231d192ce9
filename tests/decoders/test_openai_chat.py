"""OpenAI chat completions: the traps that recorded servers set, one a test."""

import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import decode, stream_complete
from abs_replay.decoders.events import Call, Decoded, Message, Part, Said, Served, Thought, Turn
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
        "/v1/chat/completions/",
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


# -- what servers add to the format -------------------------------------------


def parts(answer: object) -> tuple[Part, ...]:
    reply = turn(answer).reply
    assert reply is not None
    return reply.parts


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_what_the_model_thinks_is_no_words(key: str) -> None:
    message = "response.choices[0].message"
    whole = {"role": "assistant", "content": "yes", key: "hm m"}
    assert parts(plain(whole)) == (Thought("hm m", f"{message}.{key}"), Said("yes", f"{message}.content"))
    thoughts: list[dict[str, Any]] = [{key: "hm "}, {key: "m"}]
    pieces = stream(delta(content=""), *(delta(**thought) for thought in thoughts), delta(content="yes"))
    assert parts(pieces) == (Thought("hm m", "response.events[1-2]"), Said("yes", "response.events[3]"))


def test_thoughts_given_under_several_names_are_thought_once() -> None:
    details = [
        {"type": "reasoning.text", "text": "hm"},
        {"type": "reasoning.summary", "summary": " m"},
        {"type": "reasoning.encrypted", "data": "e"},
    ]
    both = {"content": "yes", "reasoning": "hm m", "reasoning_details": details}
    assert [part.text for part in parts(plain(both)) if isinstance(part, Thought)] == ["hm m"]
    alone = {"content": "yes", "reasoning_details": details}
    assert [part.text for part in parts(plain(alone)) if isinstance(part, Thought)] == ["hm m"]
    secret = {"content": "yes", "reasoning_details": details[2:], "reasoning": ""}
    assert parts(plain(secret)) == ()


def test_content_in_parts_keeps_thoughts_between_words_and_citations_part_nothing() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    content = [
        {"type": "text", "text": "a "},
        {"type": "reference", "reference_ids": [1]},
        {"type": "text", "text": "b"},
        thought,
        {"type": "text", "text": "c"},
    ]
    wanted = [(Said, "a b"), (Thought, "hm"), (Said, "c")]
    whole = turn(plain({"content": content})).reply
    pieces = turn(stream(*(delta(content=[piece]) for piece in content))).reply
    for reply in (whole, pieces):
        assert reply is not None
        assert [
            (type(p), p.content if isinstance(p, Said) else p.text)
            for p in reply.parts
            if isinstance(p, Said | Thought)
        ] == wanted
        assert reply.content == "a b\nc"


def test_pictures_and_other_parts_are_kept_as_structures() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:"}}
    for answer in (
        plain({"content": "see", "images": [picture]}),
        plain({"content": [{"type": "text", "text": "see"}, picture]}),
        stream(delta(content="see"), delta(images=[picture])),
    ):
        reply = turn(answer).reply
        assert reply is not None
        assert reply.content == ["see", picture]


def test_what_is_said_aloud_is_words() -> None:
    audio = {"id": "a", "data": "AAAA", "transcript": "Hello"}
    for answer in (
        plain({"content": None, "audio": audio}),
        stream(delta(audio={"id": "a", "transcript": "Hel"}), delta(audio={"transcript": "lo", "data": "A"})),
    ):
        found = decode(exchange(answer, headers=EVENTS if isinstance(answer, bytes) else ()))
        assert found.turn
        assert found.turn.reply
        assert found.turn.reply.content == "Hello"
        assert found.remarks == ("of audio, the transcript is traced",)
    empty = {"content": "yes", "audio": {"id": "", "data": "", "transcript": ""}}
    assert decode(exchange(plain(empty))).remarks == ()


def test_tools_that_the_server_ran_stand_with_their_results() -> None:
    tool = {"index": 0, "type": "search", "arguments": '{"query": "q"}', "output": "found"}
    (served, said) = parts(plain({"content": "yes", "executed_tools": [tool]}))
    assert isinstance(served, Served)
    assert (served.call.name, served.call.arguments, served.content) == ("search", {"query": "q"}, "found")
    pieces = stream(
        delta(executed_tools=[{**tool, "output": None}]),
        delta(executed_tools=[{"index": 0, "output": "found"}]),
        delta(content="yes"),
    )
    assert parts(pieces) == (
        Served(
            Call("search", {"query": "q"}, None, "response.events[0-1]"), "found", at="response.events[0-1]"
        ),
        Said("yes", "response.events[2]"),
    )
    assert isinstance(said, Said)


def test_what_the_steps_do_not_show_is_remarked() -> None:
    notes = [{"type": "url_citation"}, {"type": "url_citation"}]
    beside = {"citations": ["u"], "search_results": [{}, {}]}
    wanted = (
        "annotations are not traced: 2 (url_citation)",
        "citations are not traced: 1",
        "search_results are not traced: 2",
    )
    assert decode(exchange(plain({"content": "x", "annotations": notes}, **beside))).remarks == wanted
    chunks = [{**delta(content="x", annotations=notes), **beside}, {**delta("stop"), **beside}]
    assert decode(exchange(stream(*chunks), headers=EVENTS)).remarks == wanted


def test_of_several_choices_the_first_is_traced_and_the_others_counted() -> None:
    chunks = [delta(index=index, content=str(index)) for index in (1, 0, 2)]
    found = decode(exchange(stream(*chunks), headers=EVENTS))
    assert found.turn
    assert found.turn.reply
    assert found.turn.reply.content == "0"
    assert found.remarks == ("choice 0 of 3 is traced, the others are alternatives",)


@pytest.mark.parametrize(
    ("finish", "remarks"),
    [
        ("stop", ()),
        ("eos", ()),
        ("", ()),
        ("length", ("finish_reason length",)),
        ("content_filter", ("finish_reason content_filter",)),
        ("insufficient_system_resource", ("finish_reason insufficient_system_resource",)),
    ],
)
def test_an_answer_that_was_cut_says_so_in_the_vendors_word(finish: str, remarks: tuple[str, ...]) -> None:
    whole = {"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": finish}]}
    assert decode(exchange(whole)).remarks == remarks
    assert decode(exchange(stream(delta(finish, content="x")), headers=EVENTS)).remarks == remarks


# -- identity and place -------------------------------------------------------


def test_an_answer_has_its_id_and_azures_first_chunk_has_none() -> None:
    assert turn(plain({"content": "x"}, id="chatcmpl-1")).response_id == "chatcmpl-1"
    first: dict[str, Any] = {"id": "", "model": "", "choices": [], "prompt_filter_results": []}
    found = turn(stream(first, {**delta(content="x"), "id": "chatcmpl-2", "model": "real"}))
    assert (found.response_id, found.model) == ("chatcmpl-2", "real")


def test_azure_names_the_model_in_the_path() -> None:
    body = Body(json.dumps({"messages": HISTORY}).encode())
    request = Request("POST", "/openai/deployments/my%20gpt/chat/completions?api-version=1", (), body)
    found = decode(Exchange("x", Channel(Role.LLM, "m"), 0, request)).turn
    assert found
    assert found.model == "my gpt"


def test_groqs_usage_stands_in_an_object_of_its_own() -> None:
    last = {**delta("stop"), "x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 2}}}
    assert turn(stream(delta(content="x"), last)).usage == Usage(5, 2)


def test_streamed_parts_name_their_events() -> None:
    body = stream(
        "event: ping\ndata:",
        delta(content=""),
        delta(content="a"),
        delta(tool_calls=[{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}]),
        delta(content="b"),
        delta(tool_calls=[{"index": 0, "function": {"arguments": "}"}}]),
        delta("tool_calls"),
    )
    reply = turn(body).reply
    assert reply is not None
    assert (reply.content, reply.at) == ("ab", "response.events[2-4]")
    assert [call.at for call in reply.calls] == ["response.events[3-5]"]


def test_an_empty_answer_is_one_and_empty_words_beside_calls_are_none() -> None:
    for answer in (plain({"content": ""}), stream(delta(content=""), delta("stop"))):
        reply = turn(answer).reply
        assert reply is not None
        assert reply.content == ""
    asked = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]
    for answer in (plain({"content": "", "tool_calls": asked}), stream(delta(content="", tool_calls=asked))):
        reply = turn(answer).reply
        assert reply is not None
        assert reply.content is None


# -- deltas that are not as the book has them ---------------------------------


def test_chunks_may_come_in_a_list() -> None:
    reply = turn(stream([delta(content="a"), delta(content="b")], delta("stop"))).reply
    assert reply is not None
    assert (reply.content, reply.at) == ("ab", "response.events[0]")


def test_a_whole_message_at_the_end_repeats_nothing() -> None:
    asked = [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]
    whole = {"choices": [{"index": 0, "message": {"content": "ab", "tool_calls": asked}}]}
    for before in ([], [delta(content="a")], [delta(content="ab", tool_calls=asked)]):
        reply = turn(stream(*before, whole)).reply
        assert reply is not None
        assert (reply.content, len(reply.calls)) == ("ab", 1)


def test_whole_calls_under_one_number_are_several() -> None:
    whole = [
        {"index": 0, "id": i, "function": {"name": "f", "arguments": f'{{"n":"{i}"}}'}} for i in ("a", "b")
    ]
    assert calls(stream(*(delta(tool_calls=[one]) for one in whole))) == [
        ("a", "f", {"n": "a"}),
        ("b", "f", {"n": "b"}),
    ]


def test_calls_with_neither_number_nor_id_are_whole() -> None:
    whole = {"function": {"name": "f", "arguments": "{}"}}
    assert calls(stream(delta(tool_calls=[whole]), delta(tool_calls=[whole]))) == [(None, "f", {})] * 2


def test_arguments_may_come_as_an_object() -> None:
    assert calls(
        stream(delta(tool_calls=[{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]))
    ) == [("c", "f", {"a": 1})]


def test_fields_written_out_empty_hide_no_call() -> None:
    empty: dict[str, Any] = {"custom": {"name": "", "input": ""}, "id": "c", "index": 0}
    function = {"function": {"name": "f", "arguments": '{"a":1}'}}
    message: dict[str, Any] = {"content": "", "function_call": {"name": "", "arguments": ""}}
    assert calls(plain({**message, "tool_calls": [{**empty, **function}]})) == [("c", "f", {"a": 1})]
    assert calls(stream(delta(**message, tool_calls=[{**empty, **function}]))) == [("c", "f", {"a": 1})]
    custom = {"id": "c", "function": {"name": "", "arguments": ""}, "custom": {"name": "sh", "input": "ls"}}
    assert calls(plain({"tool_calls": [custom]})) == [("c", "sh", "ls")]


# -- errors -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (
            {
                "error": {
                    "message": "bad call",
                    "code": "tool_use_failed",
                    "failed_generation": '{"name":\n"f"}',
                }
            },
            'bad call (failed_generation {"name": "f"})',
        ),
        (
            {"error": {"message": "Provider returned error", "metadata": {"raw": "slow down"}}},
            "Provider returned error (slow down)",
        ),
        ([{"error": {"message": "in a list"}}], "in a list"),
        ({"message": {"detail": [{"msg": "missing"}]}, "error": None}, None),
    ],
)
def test_an_error_tells_what_the_server_quotes_of_its_cause(body: object, error: str | None) -> None:
    failed = decode(exchange(body, status=400)).turn
    assert failed
    assert failed.error
    if error:
        assert failed.error == f"HTTP 400: {error}"
        named = "event: error\n" + stream(body, done=False).decode()
        found = turn(stream(delta(content="x"), done=False) + named.encode())
        assert (found.error, found.reply and found.reply.content) == (error, "x")


def test_a_choice_may_have_an_error_of_its_own() -> None:
    choice = {"index": 0, "finish_reason": "error", "error": {"message": "provider died"}}
    assert turn({"choices": [choice]}).error == "provider died"
    partly = {"choices": [{**choice, "delta": {"content": ""}}]}
    found = turn(stream(delta(content="x"), partly))
    assert (found.error, found.reply and found.reply.content) == ("provider died", "x")


# -- answers and their repetition ---------------------------------------------

texts = st.text('ab 先{}[]"\\\n', min_size=1, max_size=6)
asked_calls = st.builds(
    lambda i, n, a: {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}},
    st.uuids().map(str),
    texts,
    st.dictionaries(texts, texts | st.integers() | st.none(), max_size=2),
)
listed = st.lists(
    st.one_of(
        texts.map(lambda text: {"type": "text", "text": text}),
        texts.map(lambda text: {"type": "thinking", "thinking": [{"type": "text", "text": text}]}),
    ),
    min_size=1,
    max_size=4,
)
answers = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": st.none() | texts | listed},
    optional={
        "tool_calls": st.lists(asked_calls, min_size=1, max_size=3),
        "reasoning_content": texts,
    },
)


def told(message: Message | None) -> object:
    assert message is not None
    asked = [(call.name, call.arguments, call.call_id) for call in message.calls]
    thought = [part.text for part in message.parts if isinstance(part, Thought)]
    return message.content, asked, thought


@settings(max_examples=60)
@given(answers)
def test_an_answer_sent_again_reads_as_it_was_given(answer: dict[str, Any]) -> None:
    given_ = turn(plain(answer))
    again = turn(plain({"content": "x"}), messages=[*HISTORY, answer])
    assert told(again.history[1]) == told(given_.reply)


@settings(max_examples=60)
@given(answers, st.integers(1, 3))
def test_a_streamed_answer_reads_as_the_plain_one(answer: dict[str, Any], size: int) -> None:
    assert told(turn(stream(*in_pieces(answer, size), delta("stop"))).reply) == told(
        turn(plain(answer)).reply
    )


def in_pieces(answer: dict[str, Any], size: int) -> list[dict[str, Any]]:
    """Stream an answer as servers do: thoughts, then words, then calls."""
    chunks = [delta(role="assistant", content=None)]
    chunks += [delta(reasoning_content=piece) for piece in cut(answer.get("reasoning_content", ""), size)]
    content = answer["content"]
    if isinstance(content, str):
        chunks += [delta(content=piece) for piece in cut(content, size)]
    for part in content if isinstance(content, list) else []:
        for piece in cut(part.get("text") or part["thinking"][0]["text"], size):
            inner = [{"type": "text", "text": piece}]
            chunks.append(
                delta(content=inner if part["type"] == "text" else [{"type": "thinking", "thinking": inner}])
            )
    for index, call in enumerate(answer.get("tool_calls", [])):
        chunks.append(
            delta(tool_calls=[{**call, "index": index, "function": {"name": call["function"]["name"]}}])
        )
        for piece in cut(call["function"]["arguments"], size):
            chunks.append(delta(tool_calls=[{"index": index, "function": {"arguments": piece}}]))
    return chunks


def cut(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def test_what_is_no_call_among_calls_is_passed_over() -> None:
    chunk = delta(tool_calls=["x", {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}])
    assert calls(stream(chunk)) == [("c", "f", {})]


def test_a_server_tool_without_a_name_is_none_in_a_stream_as_in_a_message() -> None:
    tools = [{"index": 0, "arguments": "{}"}]
    for answer in (
        stream(delta(content="a", executed_tools=tools)),
        plain({"content": "a", "executed_tools": tools}),
    ):
        reply = turn(answer).reply
        assert reply is not None
        assert (reply.content, reply.parts) == ("a", ())


def test_neighbouring_thoughts_in_parts_are_one() -> None:
    thoughts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]},
        {"type": "thinking", "thinking": "b"},
    ]
    reply = turn(plain({"content": [*thoughts, {"type": "text", "text": "c"}]})).reply
    assert reply is not None
    assert [getattr(part, "text", None) for part in reply.parts] == ["ab", None]


def test_texts_among_parts_need_no_object() -> None:
    assert (
        turn(plain({"content": "x"}), messages=[{"role": "user", "content": ["a", "b"]}]).history[0].content
        == "a\nb"
    )


def test_a_choice_that_is_none_is_passed_over() -> None:
    reply = turn(stream({"choices": ["x", *delta(content="a")["choices"]]})).reply
    assert reply is not None
    assert reply.content == "a"
