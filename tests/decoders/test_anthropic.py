"""Anthropic's Messages API: what its blocks, its streams and its repeated histories come to."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay import exact_json
from abs_replay.decoders import DECODERS, decode
from abs_replay.decoders.events import Call, Decoded, Message, Part, Said, Served, Thought, Turn
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.trace import Usage

EVENTS = (("content-type", "text/event-stream"),)
USER = {"role": "user", "content": "hi"}
SEARCH = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "a"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result"}]}


def exchange(
    answer: object,
    messages: Sequence[object] = (USER,),
    status: int = 200,
    target: str = "/v1/messages",
    role: Role = Role.LLM,
    **body: object,
) -> Exchange:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sent = json.dumps({"model": "asked", "max_tokens": 9, "messages": messages, **body}).encode()
    request = Request("POST", target, (), Body(sent))
    headers = EVENTS if isinstance(answer, bytes) else ()
    return Exchange("x", Channel(role, "m"), 0.0, request, Response(status, headers, Body(data)))


def whole(*content: object, **more: object) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content, **more}


def stream(*events: dict[str, Any], line_end: str = "\n") -> bytes:
    lines = [f"event: {one['type']}{line_end}data: {json.dumps(one)}  {line_end}" for one in events]
    return line_end.join(lines).encode()


def started(*blocks: object, message_id: str = "msg_1", **usage: int) -> dict[str, Any]:
    message = {"id": message_id, "model": "claude-x", "content": blocks, "usage": usage}
    return {"type": "message_start", "message": message}


def opened(index: int, **block: object) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: object) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def ended(reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


def turn(answer: object, messages: Sequence[object] = (USER,), **more: Any) -> Turn:
    decoded = decode(exchange(answer, messages, **more))
    assert decoded.protocol == "anthropic"
    assert decoded.turn is not None
    return decoded.turn


def reply(answer: object, messages: Sequence[object] = (USER,), **more: Any) -> Message:
    found = turn(answer, messages, **more).reply
    assert found is not None
    return found


def bare(part: Part) -> Part:
    """Give a part without its places."""
    if isinstance(part, Served):
        return replace(part, call=replace(part.call, at=""), at="")
    return replace(part, at="")


def heard(message: Message) -> list[Part]:
    """Give all that a message holds, without places."""
    said = [Said(message.content)] if message.content is not None else []
    return [bare(part) for part in message.parts or (*said, *message.calls)]


def history(*messages: object, **body: object) -> tuple[Message, ...]:
    return turn(whole(), messages, **body).history


# -- what is claimed ----------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "body"),
    [
        ("/v1/messages?beta=true", {}),
        ("/anthropic/v1/messages", {}),
        ("/proxy/messages", {}),
        (
            "/v1/projects/p/locations/l/publishers/anthropic/models/claude-x@1:rawPredict",
            {"anthropic_version": "vertex-2023-10-16"},
        ),
    ],
)
def test_the_api_is_known_under_any_prefix(target: str, body: dict[str, str]) -> None:
    assert reply(whole({"type": "text", "text": "x"}), target=target, **body).content == "x"


@pytest.mark.parametrize(
    "target",
    [
        "/v1/messages/count_tokens",
        "/v1/messages/batches",
        "/v1/publishers/mistralai/models/count-tokens:rawPredict",
        "/v1/threads/t/runs",
    ],
)
def test_other_requests_of_the_api_are_no_turns(target: str) -> None:
    assert decode(exchange({"input_tokens": 3}, target=target, anthropic_version="v")).protocol is None


def test_other_models_of_vertex_have_no_version_in_the_body() -> None:
    target = "/v1/projects/p/publishers/mistralai/models/m:rawPredict"
    assert decode(exchange({}, target=target)).protocol is None


@pytest.mark.parametrize(
    ("answer", "target", "role", "wanted"),
    [
        (whole({"type": "text", "text": "x"}), "/talk", Role.AGENT, "anthropic"),
        (stream(started(), *ended()), "/talk", Role.AGENT, "anthropic"),
        (whole(), "/v1/messages", Role.TOOL, "rest"),
        ({"message": {"role": "assistant", "content": "x"}}, "/v1/messages", Role.AGENT, "chat_contract"),
        ({"choices": [{"index": 0, "message": {"content": "x"}}]}, "/v1/messages", Role.LLM, "openai_chat"),
        (whole(), "/v1/chat/completions", Role.AGENT, "openai_chat"),
    ],
)
def test_one_decoder_claims_what_agents_and_gateways_mix(
    answer: object, target: str, role: Role, wanted: str
) -> None:
    one = exchange(answer, target=target, role=role)
    assert decode(one).protocol == wanted
    fallbacks = {"rest", "chat_contract"} - {wanted}
    assert [name for name, each in DECODERS.items() if each.claims(one) and name not in fallbacks] == [wanted]


# -- blocks -------------------------------------------------------------------


def test_texts_that_citations_split_are_one() -> None:
    texts: list[dict[str, Any]] = [
        {"type": "text", "text": words, "citations": []} for words in ("It ", "rained", ".")
    ]
    assert reply(whole(*texts)) == Message("assistant", "It rained.", at="response")


def test_a_thought_is_told_and_an_encrypted_one_is_not() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    hidden = [
        {"type": "redacted_thinking", "data": "x"},
        {"type": "thinking", "thinking": "", "signature": "s"},
    ]
    said = {"type": "text", "text": "a"}
    assert heard(reply(whole(thought, *hidden, said))) == [Thought("hm"), Said("a")]
    assert reply(whole(*hidden, said)).parts == ()


@pytest.mark.parametrize(
    ("call", "result", "content", "error"),
    [
        ("server_tool_use", FOUND, [{"type": "web_search_result"}], None),
        (
            "server_tool_use",
            {
                "type": "web_fetch_tool_result",
                "tool_use_id": "s1",
                "content": {"type": "e", "error_code": "unavailable"},
            },
            {"type": "e", "error_code": "unavailable"},
            "unavailable",
        ),
        (
            "server_tool_use",
            {
                "type": "code_execution_tool_result",
                "tool_use_id": "s1",
                "content": {"stdout": "4", "return_code": 1},
            },
            {"stdout": "4", "return_code": 1},
            None,
        ),
        (
            "mcp_tool_use",
            {
                "type": "mcp_tool_result",
                "tool_use_id": "s1",
                "is_error": True,
                "content": [{"type": "text", "text": "no"}],
            },
            "no",
            "no",
        ),
    ],
)
def test_what_the_server_carried_out_stands_with_its_result(
    call: str, result: object, content: Any, error: str | None
) -> None:
    asked = {"type": call, "id": "s1", "name": "t", "input": {"q": 1}, "server_name": "n"}
    before, after = {"type": "text", "text": "a"}, {"type": "text", "text": "b"}
    told = reply(whole(before, asked, result, after))
    served = Served(Call("t", {"q": 1}, "s1"), content, error)
    assert heard(told) == [Said("a"), served, Said("b")]
    assert told.calls == ()


def test_results_of_several_searches_go_to_their_calls() -> None:
    asked = [{**SEARCH, "id": name} for name in "ab"]
    found = [{**FOUND, "tool_use_id": name, "content": name} for name in "ba"]
    served = [part for part in reply(whole(*asked, *found)).parts if isinstance(part, Served)]
    assert [(one.call.call_id, one.content) for one in served] == [("a", "a"), ("b", "b")]
    assert [(one.call.at, one.at) for one in served] == [
        ("response.content[0]", "response.content[3]"),
        ("response.content[1]", "response.content[2]"),
    ]


def test_a_call_whose_result_did_not_come_is_not_answered() -> None:
    (part,) = reply(whole(SEARCH, stop_reason="pause_turn")).parts
    assert part == Served(Call("web_search", {"query": "a"}, "s1", "response.content[0]"), answered=False)


def test_a_resumed_turn_gives_the_result_to_the_call_before() -> None:
    paused = {"role": "assistant", "content": [SEARCH]}
    (part,) = reply(whole(FOUND), [USER, paused]).parts
    assert isinstance(part, Served)
    assert part.answered
    assert part.call == Call("web_search", {"query": "a"}, "s1", "request.messages[1].content[0]")


def test_a_result_of_an_unknown_call_bears_its_kind() -> None:
    (part,) = reply(whole(FOUND)).parts
    assert isinstance(part, Served)
    assert part.call.name == "web_search"


def test_a_block_of_a_new_kind_is_kept_as_structure() -> None:
    new = {"type": "hologram", "depth": 3}
    assert reply(whole({"type": "text", "text": "a"}, new)).content == ["a", new]


def test_bytes_are_named_and_what_is_for_the_vendor_alone_is_left_out() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}
    image = {"type": "image", "source": source, "cache_control": {"type": "ephemeral"}}
    text = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    (message,) = history({"role": "user", "content": [image, text]})
    assert isinstance(message.content, list)
    named, kept = message.content
    assert named["source"]["data"]["bytes"] == 5
    assert "cache_control" not in named
    assert kept == text


def test_compaction_and_fallback_are_remarks_and_a_fallback_names_the_model() -> None:
    blocks = [
        {"type": "compaction", "content": "summary"},
        {"type": "text", "text": "Hi"},
        {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        {"type": "text", "text": " there"},
    ]
    decoded = decode(exchange(whole(*blocks, model="a")))
    assert decoded.turn is not None
    assert decoded.turn.reply == Message("assistant", "Hi there", at="response")
    assert decoded.turn.model == "b"
    assert decoded.remarks == ("fallback from a to b", "the history was compacted")


# -- the request --------------------------------------------------------------


def test_results_in_a_users_message_are_messages_of_tools_in_order() -> None:
    found = history(
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "a",
                    "content": [{"type": "text", "text": '{"n": 1}'}],
                },
                {"type": "text", "text": "Hurry."},
                {"type": "tool_result", "tool_use_id": "b", "is_error": True},
                {"type": "tool_result", "tool_use_id": "c", "content": "no", "is_error": True},
            ],
        }
    )
    place = "request.messages[0]"
    assert found == (
        Message("tool", {"n": 1}, call_id="a", at=f"{place}.content[0]"),
        Message("user", "Hurry.", at=place),
        Message("tool", None, call_id="b", at=f"{place}.content[2]", error="the tool failed"),
        Message("tool", "no", call_id="c", at=f"{place}.content[3]", error="no"),
    )


def test_system_words_stand_in_front_and_in_the_middle() -> None:
    blocks = [{"type": "text", "text": "a", "cache_control": {}}, {"type": "text", "text": "b"}]
    found = history(USER, {"role": "system", "content": "c"}, system=blocks)
    assert [(message.role, message.content) for message in found] == [
        ("system", "a\nb"),
        ("user", "hi"),
        ("system", "c"),
    ]


def test_texts_of_a_user_are_lines() -> None:
    texts = [{"type": "text", "text": words} for words in "ab"]
    assert history({"role": "user", "content": texts}) == (Message("user", "a\nb", at="request.messages[0]"),)


@pytest.mark.parametrize("prefill", ["{", [{"type": "text", "text": "{"}]])
def test_a_prefill_is_told_with_the_words_that_go_on_from_it(prefill: object) -> None:
    sent = [USER, {"role": "assistant", "content": prefill}]
    found = turn(whole({"type": "text", "text": "}"}), sent)
    assert [message.role for message in found.history] == ["user"]
    assert found.reply is not None
    assert found.reply.content == "{}"
    assert reply(whole({"type": "tool_use", "id": "a", "name": "f", "input": {}}), sent).content == "{"


def test_a_history_that_begins_with_a_summary_is_compacted() -> None:
    summary = {"role": "assistant", "content": [{"type": "compaction", "content": "s"}]}
    assert turn(whole(), [summary, USER]).compacted
    assert not turn(whole(), [USER, summary, USER]).compacted


def test_numbers_that_compare_equal_are_told_as_they_were_sent() -> None:
    for value in (1, True, 1.0):
        call = {"type": "tool_use", "id": "a", "name": "f", "input": {"n": value}}
        (message,) = history({"role": "assistant", "content": [call]})
        assert exact_json.dumps(message.calls[0].arguments) == json.dumps({"n": value}, separators=(",", ":"))


# -- streams ------------------------------------------------------------------


@pytest.mark.parametrize("pieces", [[], [""], ["", " "]])
def test_a_call_whose_input_never_comes_has_none(pieces: list[str]) -> None:
    given = [delta(0, "input_json_delta", partial_json=piece) for piece in pieces]
    call = opened(0, type="tool_use", id="a", name="f", input={})
    (found,) = reply(stream(started(), call, *given, closed(0), *ended("tool_use"))).calls
    assert found.arguments == {}


def test_input_that_comes_with_its_block_is_kept() -> None:
    call = opened(
        0, type="tool_use", id="a", name="f", input={"n": 1}, caller={"type": "code_execution_20250825"}
    )
    (found,) = reply(stream(started(), call, closed(0), *ended("tool_use"))).calls
    assert found == Call("f", {"n": 1}, "a", "response.events[1-2]")


def test_pings_crlf_and_events_without_names_change_nothing() -> None:
    said = [opened(0, type="text", text=""), delta(0, "text_delta", text="a"), closed(0)]
    events = [started(), *said, *ended()]
    plain = turn(stream(*events))
    assert turn(stream(*events, line_end="\r\n")) == plain
    assert turn(b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in events)) == plain
    pinged = reply(stream(events[0], {"type": "ping"}, *events[1:]))
    assert plain.reply is not None
    assert (pinged.content, pinged.at) == (plain.reply.content, "response.events[2-4]")


def test_a_message_that_comes_whole_in_its_start_is_told() -> None:
    call = {"type": "tool_use", "id": "a", "name": "f", "input": {"n": 1}}
    assert reply(stream(started(call), {"type": "message_stop"})).calls[0].arguments == {"n": 1}


def test_a_message_begun_twice_is_told_once() -> None:
    said = [opened(0, type="text", text=""), delta(0, "text_delta", text="a"), closed(0), *ended()]
    twice = decode(exchange(stream(started(), started(), *said)))
    assert (twice.remarks, twice.complete) == ((), True)
    lost = [opened(0, type="tool_use", id="a", name="f"), delta(0, "input_json_delta", partial_json='{"')]
    spliced = decode(exchange(stream(started(), *lost, started(message_id="msg_2"), *said)))
    assert spliced.turn is not None
    assert spliced.turn.response_id == "msg_2"
    assert spliced.turn.reply is not None
    assert heard(spliced.turn.reply) == [Said("a")]
    assert spliced.remarks == ("the stream begins its message again; what came before is left out",)


def test_blocks_that_all_bear_one_index_stay_apart() -> None:
    def said(words: str) -> list[dict[str, Any]]:
        return [opened(0, type="text", text=""), delta(0, "text_delta", text=words), closed(0)]

    call = [opened(0, type="tool_use", id="a", name="f", input={}), closed(0)]
    assert heard(reply(stream(started(), *said("a"), *call, *said("b"), *ended()))) == [
        Said("a"),
        Call("f", {}, "a"),
        Said("b"),
    ]


@pytest.mark.parametrize(
    ("last", "error"),
    [
        ([], "the stream ended before its last event"),
        ([{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}], "Overloaded"),
    ],
)
def test_a_stream_that_breaks_off_gives_what_came_and_why(last: list[dict[str, Any]], error: str) -> None:
    said = [opened(0, type="text", text=""), delta(0, "text_delta", text="Good mor")]
    decoded = decode(exchange(stream(started(), *said, *last)))
    assert decoded.complete is False
    assert decoded.turn is not None
    assert decoded.turn.error == error
    assert decoded.turn.reply is not None
    assert decoded.turn.reply.content == "Good mor"


def test_an_error_event_of_a_gateway_needs_no_type() -> None:
    data = stream(started()) + b'\n\nevent: error\ndata: {"message": "no"}\n\n'
    assert turn(data).error == "no"


def test_what_a_stream_says_in_new_words_is_remarked() -> None:
    data = stream(started(), {"type": "hologram"}, delta(0, "hologram_delta"), *ended()) + b"\ndata: {\n\n"
    assert decode(exchange(data)).remarks == (
        "an event of type hologram is left out",
        "a delta of type hologram_delta is left out",
        "an event is no JSON, or bears no type",
    )


# -- what stands beside -------------------------------------------------------


def test_usage_is_the_last_figure_of_each_counter_and_counts_what_the_cache_knew() -> None:
    first = started(
        input_tokens=3, output_tokens=1, cache_read_input_tokens=10, cache_creation_input_tokens=5
    )
    found = turn(stream(first, *ended(output_tokens=7, input_tokens=4)))
    assert found.usage == Usage(19, 7, cached_tokens=10)
    assert (found.model, found.response_id) == ("claude-x", "msg_1")


@pytest.mark.parametrize("reason", ["max_tokens", "pause_turn", "model_context_window_exceeded", "refusal"])
def test_an_end_that_cuts_the_answer_is_remarked(reason: str) -> None:
    assert decode(exchange(whole(stop_reason=reason))).remarks == (f"stop_reason {reason}",)
    assert decode(exchange(stream(started(), *ended(reason)))).remarks == (f"stop_reason {reason}",)


def test_a_refusal_says_why() -> None:
    answer = whole(stop_reason="refusal", stop_details={"explanation": "policy"})
    assert decode(exchange(answer)).remarks == ("stop_reason refusal: policy",)


@pytest.mark.parametrize("reason", ["end_turn", "tool_use", "stop_sequence", None])
def test_a_good_end_is_not(reason: str | None) -> None:
    assert decode(exchange(whole(stop_reason=reason))).remarks == ()


@pytest.mark.parametrize(
    ("answer", "status", "error"),
    [
        ({"type": "error", "error": {"type": "x", "message": "no"}}, 529, "HTTP 529: no"),
        ({"type": "error", "error": {"type": "x", "message": "no"}}, 200, "no"),
        ({}, 200, "the answer has no content"),
        (b"{", 200, "the answer is no JSON"),
        (b"", 200, "the stream ended before its last event"),
    ],
)
def test_an_answer_that_is_none_says_why(answer: object, status: int, error: str) -> None:
    found = turn(answer, status=status)
    assert found.error is not None
    assert found.error.startswith(error)
    assert found.reply is None
    assert found.history == (Message("user", "hi", at="request.messages[0]"),)


# -- properties ---------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
inputs = st.dictionaries(words, st.integers() | words | st.none(), max_size=2)
texts = st.builds(lambda text: {"type": "text", "text": text}, words)
thoughts = st.builds(lambda text: {"type": "thinking", "thinking": text, "signature": "s"}, words)
hidden = st.just({"type": "redacted_thinking", "data": "x"})
calls = st.builds(
    lambda i, kind, given: {"type": kind, "id": f"id{i}", "name": "f", "input": given},
    st.integers(0, 3),
    st.sampled_from(["tool_use", "server_tool_use", "mcp_tool_use"]),
    inputs,
)
results = st.builds(
    lambda i, text: {
        "type": "mcp_tool_result",
        "tool_use_id": f"id{i}",
        "content": [{"type": "text", "text": text}],
    },
    st.integers(0, 3),
    words,
)
contents = st.lists(texts | thoughts | hidden | calls | results, max_size=5)


@settings(max_examples=80)
@given(contents)
def test_the_echo_of_a_reply_is_the_reply(content: list[dict[str, Any]]) -> None:
    told = reply(whole(*content))
    echoed = [{**block, "cache_control": {"type": "ephemeral"}} for block in content]
    found = history(USER, {"role": "assistant", "content": echoed}, USER)[1:-1]
    assert [heard(message) for message in found] == [heard(told)]
    assert [message.content for message in found] == [told.content]


@settings(max_examples=80)
@given(contents, st.integers(1, 3), st.booleans())
def test_a_stream_says_what_the_whole_message_says(
    content: list[dict[str, Any]], size: int, pinged: bool
) -> None:
    events = [started()]
    for index, block in enumerate(content):
        events += pieces(index, block, size)
        events += [{"type": "ping"}] * pinged
    assert heard(reply(stream(*events, *ended()))) == heard(reply(whole(*content)))


def pieces(index: int, block: dict[str, Any], size: int) -> list[dict[str, Any]]:
    kinds = {"text": ("text_delta", "text"), "thinking": ("thinking_delta", "thinking")}
    kind, key = kinds.get(block["type"], ("input_json_delta", "partial_json"))
    whole_block = "input" not in block and block["type"] not in kinds
    text = json.dumps(block["input"]) if "input" in block else block.get(key, "")
    nothing: dict[str, Any] = {"input": {}} if "input" in block else {key: ""}
    empty = block if whole_block else block | nothing
    cut = [] if whole_block else [text[at : at + size] for at in range(0, len(text), size)]
    return [opened(index, **empty), *(delta(index, kind, **{key: one}) for one in cut), closed(index)]


def one_of(names: str) -> st.SearchStrategy[str]:
    return st.sampled_from(re.findall(r"\S+", names))


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | one_of("text a tool_use user"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(one_of("type text id name input content role thinking model"), inner, max_size=3)
    ),
    max_leaves=5,
)
odd_blocks = anything | st.builds(
    lambda kind, rest: {**rest, "type": kind},
    one_of("text tool_use server_tool_use x_tool_result tool_result thinking compaction fallback image"),
    st.dictionaries(
        one_of("text id name input content tool_use_id thinking source to"), anything, max_size=3
    ),
)
odd_events = st.builds(
    lambda kind, rest, block: {"content_block": block, "delta": block, **rest, "type": kind},
    one_of("message_start content_block_start content_block_delta content_block_stop message_delta error"),
    st.dictionaries(one_of("index message delta usage error"), anything, max_size=2),
    odd_blocks,
)


@settings(max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries({"role": one_of("user assistant"), "content": st.lists(odd_blocks, max_size=3)})
    ),
    st.builds(lambda content: whole(*content), st.lists(odd_blocks, max_size=3))
    | st.lists(odd_events, max_size=4).map(lambda e: stream(*e)),
)
def test_odd_blocks_and_events_are_taken(messages: list[Any], answer: object) -> None:
    decoded: Decoded = DECODERS["anthropic"].decode(exchange(answer, messages))
    assert decoded.turn is not None
    assert decoded.turn.reply or decoded.turn.error or isinstance(answer, bytes)


def test_an_event_without_data_is_nothing_to_tell() -> None:
    data = b"event: ping\ndata:  \n\n" + stream(started(), opened(0, type="text"), *ended())
    found = decode(exchange(data))
    assert (found.complete, found.remarks) == (True, ())


def test_a_message_without_a_role_is_none() -> None:
    assert history(USER, {"content": "whose?"}) == history(USER)


def test_a_server_call_without_an_id_waits_for_no_result() -> None:
    bare = {key: value for key, value in SEARCH.items() if key != "id"}
    asked, found = reply(whole(bare, {**FOUND, "tool_use_id": None})).parts
    assert isinstance(asked, Served)
    assert isinstance(found, Served)
    assert (asked.call.name, asked.answered, found.call.name) == ("web_search", False, "web_search")


def test_an_empty_text_is_no_part() -> None:
    assert reply(whole({"type": "text", "text": ""}, {"type": "text", "text": "a"})).content == "a"
