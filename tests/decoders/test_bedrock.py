"""Amazon Bedrock: Converse and InvokeModel, plain and in binary streams."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import DECODERS, decode
from abs_replay.decoders.events import Call, Decoded, Message, Part, Said, Served, Thought, Turn
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role
from abs_replay.trace import Usage
from tests.event_frames import chunk, event, exception, frame

BINARY = (("content-type", "application/vnd.amazon.eventstream"),)
USER = {"role": "user", "content": [{"text": "hi"}]}
ASKED = (Message("user", "hi", at="request.messages[0]"),)


def exchange(
    answer: object,
    messages: Sequence[object] = (USER,),
    operation: str = "converse",
    model: str = "anthropic.claude-x%3A0",
    status: int = 200,
    headers: tuple[tuple[str, str], ...] = (),
    role: Role = Role.LLM,
    body: Mapping[str, object] | None = None,
) -> Exchange:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    sent = json.dumps({"messages": messages, **(body or {})} if body != {} else {}).encode()
    request = Request("POST", f"/model/{model}/{operation}", (), Body(sent))
    kind = BINARY if isinstance(answer, bytes) else ()
    return Exchange("x", Channel(role, "m"), 0.0, request, Response(status, headers or kind, Body(data)))


def whole(*content: object, **more: object) -> dict[str, Any]:
    return {"output": {"message": {"role": "assistant", "content": content}}, **more}


def said(index: int, **delta: object) -> bytes:
    return event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta, "p": "abc"})


def opened(index: int, **start: object) -> bytes:
    return event("contentBlockStart", {"contentBlockIndex": index, "start": start})


def closed(index: int) -> bytes:
    return event("contentBlockStop", {"contentBlockIndex": index})


def stream(*frames: bytes, reason: str = "end_turn") -> bytes:
    start, stop = event("messageStart", {"role": "assistant"}), event("messageStop", {"stopReason": reason})
    return b"".join([start, *frames, stop])


def turn(answer: object, messages: Sequence[object] = (USER,), **more: Any) -> Turn:
    decoded = decode(exchange(answer, messages, **more))
    assert decoded.protocol == "bedrock"
    assert decoded.turn is not None
    return decoded.turn


def reply(answer: object, messages: Sequence[object] = (USER,), **more: Any) -> Message:
    found = turn(answer, messages, **more).reply
    assert found is not None
    return found


def shape(part: Part) -> object:
    """Give what a part says, without its places."""
    match part:
        case Call(name, arguments, call_id):
            return name, arguments, call_id
        case Served(call, content, error, answered):
            return shape(call), content, error, answered
        case Said(words) | Thought(words):
            return type(part).__name__, words


def heard(message: Message) -> list[object]:
    words = [Said(message.content)] if message.content is not None else []
    return [shape(part) for part in message.parts or (*words, *message.calls)]


# -- what is claimed ----------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("anthropic.claude-x%3A0", "anthropic.claude-x:0"),
        ("us.amazon.nova-2-lite-v1:0", "us.amazon.nova-2-lite-v1:0"),
        (
            "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fp",
            "arn:aws:bedrock:us-east-1:1:inference-profile/p",
        ),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/p",
            "arn:aws:bedrock:us-east-1:1:inference-profile/p",
        ),
    ],
)
def test_the_model_stands_in_the_path(model: str, named: str) -> None:
    assert turn(whole({"text": "x"}), model=model).model == named


@pytest.mark.parametrize(
    "operation", ["converse", "converse-stream", "invoke", "invoke-with-response-stream"]
)
@pytest.mark.parametrize("role", [Role.LLM, Role.AGENT])
def test_one_decoder_claims_each_operation(operation: str, role: Role) -> None:
    answers = [whole({"text": "x"}), {"type": "message", "content": []}, stream(said(0, text="x"))]
    for answer in answers:
        one = exchange(answer, operation=operation, role=role)
        assert [name for name, each in DECODERS.items() if each.claims(one)][:1] == ["bedrock"]
        assert [name for name in ("anthropic", "openai_chat") if DECODERS[name].claims(one)] == []


@pytest.mark.parametrize(
    "one",
    [
        exchange({"embedding": []}, operation="invoke", model="amazon.titan-embed-text-v2%3A0"),
        exchange({}, operation="count-tokens"),
        exchange({}, operation="async-invoke"),
    ],
)
def test_what_is_no_talk_is_claimed_by_none(one: Exchange) -> None:
    assert decode(one).protocol is None


def test_an_answer_in_choices_is_openais() -> None:
    answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}}]}
    messages = [{"role": "user", "content": "hi"}]
    assert decode(exchange(answer, messages, "invoke", "openai.gpt-oss-20b-1%3A0")).protocol == "openai_chat"


# -- Converse -----------------------------------------------------------------


def test_blocks_are_known_by_their_key() -> None:
    found = reply(
        whole(
            {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
            {"reasoningContent": {"redactedContent": "eA=="}},
            {"text": "It "},
            {"citationsContent": {"content": [{"text": "rain"}, {"text": "ed"}], "citations": []}},
            {"text": "."},
            {"toolUse": {"toolUseId": "a", "name": "f", "input": {"n": 1}}},
            {"hologram": {"depth": 3}},
        )
    )
    assert heard(found) == [
        ("Thought", "hm"),
        ("Said", "It rained."),
        ("f", {"n": 1}, "a"),
        ("Said", {"hologram": {"depth": 3}}),
    ]
    assert found.at == "response.output.message"
    assert found.calls[0].at == "response.output.message.content[5]"


def test_a_request_is_read_as_anthropics() -> None:
    messages = [
        {
            "role": "user",
            "content": [
                {"guardContent": {"text": {"text": "hi", "qualifiers": ["query"]}}},
                {"cachePoint": {"type": "default"}},
                {"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}},
            ],
        },
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]},
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"json": {"n": 1}}], "status": "success"}},
                {"toolResult": {"toolUseId": "b", "content": [{"text": "no"}], "status": "error"}},
                {"toolResult": {"toolUseId": "c", "content": []}},
                {"cachePoint": {"type": "default"}},
            ],
        },
    ]
    system = [{"text": "Be short."}, {"cachePoint": {"type": "default"}}, {"text": "Be kind."}]
    found = turn(whole(), messages, body={"system": system}).history
    assert [(one.role, one.call_id, one.error) for one in found] == [
        ("system", None, None),
        ("user", None, None),
        ("assistant", None, None),
        ("tool", "a", None),
        ("tool", "b", "no"),
        ("tool", "c", None),
    ]
    assert [one.content for one in found[3:]] == [{"n": 1}, "no", None]
    assert found[0].content == "Be short.\nBe kind."
    assert isinstance(found[1].content, list)
    words, image = found[1].content
    assert words == "hi"
    assert image["image"]["source"]["bytes"]["bytes"] == 5


def test_usage_counts_what_the_cache_knew() -> None:
    usage = {"inputTokens": 3, "outputTokens": 2, "cacheReadInputTokens": 10, "cacheWriteInputTokens": 5}
    assert turn(whole(usage=usage)).usage == Usage(18, 2, cached_tokens=10)
    assert turn(stream() + event("metadata", {"usage": usage})).usage == Usage(18, 2, cached_tokens=10)


@pytest.mark.parametrize("reason", ["max_tokens", "guardrail_intervened", "content_filtered"])
def test_an_end_that_cuts_the_answer_is_remarked(reason: str) -> None:
    assert decode(exchange(whole(stopReason=reason))).remarks == (f"stopReason {reason}",)
    assert decode(exchange(stream(reason=reason))).remarks == (f"stopReason {reason}",)
    assert decode(exchange(whole(stopReason="tool_use"))).remarks == ()


# -- streams ------------------------------------------------------------------


def test_texts_begin_with_their_first_piece_and_calls_with_a_start() -> None:
    found = reply(
        stream(
            said(0, reasoningContent={"text": "h"}),
            said(0, reasoningContent={"text": "m"}),
            said(0, reasoningContent={"signature": "s"}),
            closed(0),
            said(1, text="Let me "),
            said(1, text="look."),
            closed(1),
            opened(2, toolUse={"toolUseId": "a", "name": "f"}),
            said(2, toolUse={"input": '{"n":'}),
            said(2, toolUse={"input": "1}"}),
            closed(2),
            reason="tool_use",
        )
    )
    assert heard(found) == [("Thought", "hm"), ("Said", "Let me look."), ("f", {"n": 1}, "a")]
    assert [part.at for part in found.parts] == [
        "response.events[1-4]",
        "response.events[5-7]",
        "response.events[8-11]",
    ]


@pytest.mark.parametrize("pieces", [[], [""]])
def test_a_call_whose_input_never_comes_has_none(pieces: list[str]) -> None:
    frames = [said(0, toolUse={"input": piece}) for piece in pieces]
    start = opened(0, toolUse={"toolUseId": "a", "name": "f"})
    assert heard(reply(stream(start, *frames, closed(0)))) == [("f", {}, "a")]


def test_a_block_may_start_as_nothing_at_all() -> None:
    assert reply(stream(opened(0), said(0, text="a"), closed(0))).content == "a"


def test_a_search_of_the_vendors_own_is_served() -> None:
    asked = opened(0, toolUse={"toolUseId": "s", "name": "nova_grounding", "type": "server_tool_use"})
    answered = opened(1, toolResult={"toolUseId": "s", "type": "nova_grounding_result", "status": "success"})
    pieces = [said(1, toolResult=[{"text": "It ra"}]), said(1, toolResult=[{"text": "ined."}])]
    found = reply(
        stream(asked, closed(0), answered, *pieces, closed(1), said(2, citation={}), said(2, text="Rain."))
    )
    assert heard(found) == [(("nova_grounding", {}, "s"), "It rained.", None, True), ("Said", "Rain.")]


def test_an_exception_in_a_stream_is_its_error() -> None:
    start = event("messageStart", {"role": "assistant"}) + said(0, text="Good mor")
    for last, error in [
        (exception("throttlingException", {"message": "Too many."}), "throttlingException: Too many."),
        (
            frame(b"", {":message-type": "error", ":error-code": "500", ":error-message": "broken"}),
            "500: broken",
        ),
        (b"", "the stream ended before its last event"),
        (b"\x00\x00", f"frame 2, at byte {len(start)}, is cut off"),
    ]:
        decoded = decode(exchange(start + last))
        assert decoded.complete is False
        assert decoded.turn is not None
        assert decoded.turn.error == error
        assert decoded.turn.reply is not None
        assert decoded.turn.reply.content == "Good mor"


def test_a_wrong_bit_is_told_and_what_came_before_is_kept() -> None:
    start = event("messageStart", {"role": "assistant"}) + said(0, text="Good ")
    broken = bytearray(said(0, text="morning"))
    broken[-6] ^= 1
    found = turn(start + bytes(broken) + event("messageStop", {"stopReason": "end_turn"}))
    assert found.error == f"frame 2, at byte {len(start)}, has bytes that their checksum does not fit"
    assert found.reply is not None
    assert found.reply.content == "Good "


# -- InvokeModel --------------------------------------------------------------

ANTHROPIC = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9}
ANTHROPIC_USER = {"role": "user", "content": "hi"}


def test_anthropics_bodies_are_read_as_anthropics() -> None:
    content = [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}]
    answer = {
        "type": "message",
        "id": "msg_1",
        "model": "claude-x",
        "content": content,
        "stop_reason": "max_tokens",
    }
    decoded = decode(exchange(answer, [ANTHROPIC_USER], "invoke", body=ANTHROPIC))
    assert decoded.remarks == ("stop_reason max_tokens",)
    assert decoded.turn is not None
    assert (decoded.turn.model, decoded.turn.response_id) == ("claude-x", "msg_1")
    assert decoded.turn.reply is not None
    assert heard(decoded.turn.reply) == [("Said", "a"), ("f", {}, "t")]
    assert decoded.turn.history == ASKED


def test_a_chunk_wraps_an_event_of_the_models_own() -> None:
    anthropic: list[object] = [
        {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 3}}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop", "amazon-bedrock-invocationMetrics": {}},
    ]
    more: dict[str, Any] = {"operation": "invoke-with-response-stream"}
    found = turn(b"".join(map(chunk, anthropic)), [ANTHROPIC_USER], body=ANTHROPIC, **more)
    assert (found.reply, found.usage) == (Message("assistant", "a", at="response.events[1]"), Usage(3, 2))
    nova = [{"messageStart": {}}, {"contentBlockDelta": {"delta": {"text": "a"}}}, {"messageStop": {}}]
    found = turn(b"".join(map(chunk, nova)), **more)
    assert (found.reply, found.error) == (Message("assistant", "a", at="response.events[1]"), None)


def test_chunks_that_can_not_be_read_are_remarked() -> None:
    data = b"".join(
        [event("chunk", {"bytes": "\u00e9"}), event("chunk", {}), event("chunk", {"bytes": "eA=="})]
    )
    decoded = decode(exchange(data, [ANTHROPIC_USER], "invoke-with-response-stream", body=ANTHROPIC))
    assert decoded.remarks == ("an event is no JSON, or bears no type",)


@pytest.mark.parametrize("model", ["meta.llama3-8b-instruct-v1%3A0", "amazon.titan-text-express-v1"])
def test_bodies_of_other_models_are_told_as_they_are(model: str) -> None:
    sent: Json = {"prompt": "Say hi.", "temperature": 0}
    pieces = [{"generation": "H"}, {"generation": "i."}]
    plain = Request("POST", f"/model/{model}/invoke", (), Body(json.dumps(sent).encode()))
    for answer, told in [(pieces[0], pieces[0]), (b"".join(map(chunk, pieces)), pieces)]:
        data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        one = Exchange("x", Channel(Role.LLM, "m"), 0.0, plain, Response(200, (), Body(data)))
        decoded = decode(one)
        assert decoded.turn is not None
        assert decoded.turn.history == (Message("user", sent, at="request"),)
        assert decoded.turn.reply is not None
        assert decoded.turn.reply.content == told
        assert re.match(r"the body of (meta|amazon)\.\S+ is told as it is", decoded.remarks[0])


# -- failures -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status", "headers", "error"),
    [
        (
            {"message": "no"},
            400,
            (("x-amzn-ErrorType", "ValidationException:http://x/"),),
            "HTTP 400: ValidationException: no",
        ),
        ({"Message": "no"}, 403, (), "HTTP 403: no"),
        ({}, 503, (("x-amzn-errortype", "Busy"),), "HTTP 503: Busy"),
        ({"message": "no"}, 200, (), "no"),
        ({}, 200, (), "the answer has no message"),
        (b"<html>", 200, (("content-type", "text/html"),), "the answer is no JSON"),
        (b"", 200, (("content-type", "application/json"),), "the answer is no JSON (it is empty)"),
    ],
)
def test_an_answer_that_is_none_says_why(
    answer: object, status: int, headers: tuple[tuple[str, str], ...], error: str
) -> None:
    found = turn(answer, status=status, headers=headers)
    assert found.error is not None
    assert found.error.startswith(error)
    assert (found.reply, found.history) == (None, ASKED)


# -- properties ---------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)
texts = st.builds(lambda text: {"text": text}, words)
thoughts = st.builds(lambda text: {"reasoningContent": {"reasoningText": {"text": text}}}, words)
calls = st.builds(
    lambda i, given: {"toolUse": {"toolUseId": f"id{i}", "name": "f", "input": given}},
    st.integers(0, 3),
    st.dictionaries(words, st.integers() | words, max_size=2),
)
contents = st.lists(texts | thoughts | calls, max_size=4)


@settings(max_examples=60)
@given(contents)
def test_the_echo_of_a_reply_is_the_reply(content: list[dict[str, Any]]) -> None:
    told = reply(whole(*content))
    echo = {"role": "assistant", "content": [*content, {"cachePoint": {"type": "default"}}]}
    found = turn(whole(), [USER, echo, USER]).history[1:-1]
    assert [(heard(one), one.content) for one in found] == [(heard(told), told.content)]


@settings(max_examples=60)
@given(contents, st.integers(1, 3))
def test_a_stream_says_what_the_whole_message_says(content: list[dict[str, Any]], size: int) -> None:
    frames = [one for index, block in enumerate(content) for one in pieces(index, block, size)]
    assert heard(reply(stream(*frames))) == heard(reply(whole(*content)))


def pieces(index: int, block: dict[str, Any], size: int) -> list[bytes]:
    def cut(text: str) -> list[str]:
        return [text[at : at + size] for at in range(0, len(text), size)]

    match block:
        case {"text": text}:
            made = [said(index, text=one) for one in cut(text)]
        case {"toolUse": {"input": given, **start}}:
            inputs = [said(index, toolUse={"input": one}) for one in cut(json.dumps(given))]
            made = [opened(index, toolUse=start), *inputs]
        case _:
            text = block["reasoningContent"]["reasoningText"]["text"]
            made = [said(index, reasoningContent={"text": one}) for one in cut(text)]
    return [*made, closed(index)]


def names(listed: str) -> st.SearchStrategy[str]:
    return st.sampled_from(re.findall(r"\S+", listed))


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | names("text a server_tool_use error"),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            names("text toolUseId name input content type json status bytes"), inner, max_size=3
        )
    ),
    max_leaves=5,
)
BLOCKS = "text toolUse toolResult reasoningContent citationsContent guardContent cachePoint image"
odd_blocks = anything | st.dictionaries(names(BLOCKS), anything, max_size=2)
odd_fields = st.fixed_dictionaries(
    {}, optional={"contentBlockIndex": anything, "start": odd_blocks, "delta": odd_blocks, "usage": anything}
)
EVENTS = "messageStart contentBlockStart contentBlockDelta contentBlockStop messageStop metadata chunk x"
odd_frames = st.builds(event, names(EVENTS), odd_fields | anything) | st.builds(chunk, odd_fields | anything)


@settings(max_examples=60)
@given(
    st.lists(odd_blocks, max_size=3),
    st.lists(odd_blocks, max_size=3).map(lambda content: whole(*content))
    | st.lists(odd_frames, max_size=4).map(b"".join)
    | anything,
    names("converse converse-stream invoke invoke-with-response-stream"),
)
def test_odd_blocks_and_events_are_taken(content: list[Any], answer: object, operation: str) -> None:
    one = exchange(answer, [{"role": "user", "content": content}], operation)
    decoded: Decoded = DECODERS["bedrock"].decode(one)
    assert decoded.turn is not None


def test_an_event_of_another_name_is_told_as_left_out() -> None:
    found = decode(
        exchange(stream(event("novelEvent", {"a": 1}), said(0, text="a")), operation="converse-stream")
    )
    assert found.remarks == ("an event of type novelEvent is left out",)


def test_a_delta_without_a_known_key_is_told_as_left_out() -> None:
    found = decode(exchange(stream(said(0, novel={"a": 1})), operation="converse-stream"))
    assert found.remarks == ("a delta of type novel is left out",)
