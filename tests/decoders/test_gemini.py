"""Gemini's generateContent: the traps that recorded answers set, one a test."""

import hashlib
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import DECODERS, decode, gemini
from abs_replay.decoders.events import Call, Decoded, Message, Said, Served, Thought
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Request, Response, Role
from abs_replay.trace import Usage
from tests.gemini_exchanges import (
    ASKED,
    EVENTS,
    PATH,
    STREAM,
    answer,
    exchange,
    history,
    model,
    piece,
    reply,
    sse,
    turn,
    user,
)

scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)


# -- what is claimed ----------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("/v1beta/models/gemini-2.5-pro:generateContent?key=k", "gemini-2.5-pro"),
        ("/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", "g"),
        ("/v1/projects/p/locations/l/endpoints/123:generateContent", "123"),
        ("/proxy/models/g%3AgenerateContent", "g"),
        ("/v1beta/tunedModels/t:generateContent", "t"),
    ],
)
def test_the_model_stands_in_the_path_under_any_prefix(target: str, name: str) -> None:
    assert turn(exchange(answer({"text": "x"}), target=target)).model == name


@pytest.mark.parametrize(
    "target",
    [
        "/v1beta/models/g:countTokens",
        "/v1beta/models/g:embedContent",
        "/v1beta/models/g:batchGenerateContent",
        "/v1beta/cachedContents",
        "/v1beta/models",
    ],
)
def test_other_requests_of_the_api_are_no_turns(target: str) -> None:
    assert not gemini.claims(exchange({"totalTokens": 3}, target=target))


def test_an_agent_that_answers_in_candidates_is_known_at_any_path_and_a_tool_never() -> None:
    assert turn(exchange(answer({"text": "x"}), target="/talk", role=Role.AGENT)).reply
    assert not gemini.claims(exchange({"message": {}}, target="/talk", role=Role.AGENT))
    assert not gemini.claims(exchange(answer({"text": "x"}), role=Role.TOOL))


def test_the_envelope_of_code_assist_is_taken_off() -> None:
    inner = {"contents": ASKED, "systemInstruction": {"parts": [{"text": "s"}]}}
    sent = json.dumps({"model": "g", "project": "p", "request": inner}).encode()
    body = sse({"response": answer({"text": "x"}, modelVersion="g-1")})
    request = Request("POST", "/v1internal:streamGenerateContent?alt=sse", (), Body(sent))
    found = turn(Exchange("x", Channel(Role.LLM, "m"), 0.0, request, Response(200, EVENTS, Body(body))))
    assert [message.content for message in found.history] == ["s", "hi"]
    assert (found.model, found.reply and found.reply.content) == ("g-1", "x")


# -- answers ------------------------------------------------------------------


def test_parts_keep_their_order_and_texts_in_a_row_are_one() -> None:
    found = reply(
        answer(
            {"text": "hm", "thought": True},
            {"text": "a"},
            {"text": "b", "thoughtSignature": "c2ln"},
            {"functionCall": {"name": "f", "args": {"n": 1}}},
            {"text": "c"},
            {"text": ""},
            {"thoughtSignature": "c2ln"},
        )
    )
    at = "response.candidates[0].content.parts"
    assert found.parts == (
        Thought("hm", f"{at}[0]"),
        Said("ab", f"{at}[1-2]"),
        Call("f", {"n": 1}, None, f"{at}[3]"),
        Said("c", f"{at}[4]"),
    )
    assert found.content == "ab\nc"


def test_what_google_runs_is_served_with_its_result() -> None:
    found = reply(
        answer(
            {"executableCode": {"language": "PYTHON", "code": "1/0"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}},
            {"executableCode": {"code": "2", "id": "b"}},
            {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "args": {"q": "x"}}},
            {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "id": "t", "response": {"hits": 1}}},
        )
    )
    served = [part for part in found.parts if isinstance(part, Served)]
    assert [(s.call.name, s.call.call_id, s.content, s.error, s.answered) for s in served] == [
        ("code_execution", None, "no", "OUTCOME_FAILED", True),
        ("code_execution", "b", None, None, False),
        ("google_search", "t", {"hits": 1}, None, True),
    ]
    assert found.calls == ()


def test_a_search_that_only_its_grounding_shows_stands_before_the_words() -> None:
    body = answer({"text": "a", "thought": True}, {"text": "b"})
    body["candidates"][0]["groundingMetadata"] = {
        "webSearchQueries": ["q"],
        "groundingChunks": [{"web": {"uri": "u"}}, {"retrievedContext": {"title": "t"}}],
    }
    body["candidates"][0]["urlContextMetadata"] = {"urlMetadata": [{"retrievedUrl": "https://example.com"}]}
    thought, search, files, pages, words = reply(body).parts
    assert isinstance(thought, Thought)
    assert isinstance(words, Said)
    assert [(s.call.name, s.call.arguments) for s in (search, files, pages) if isinstance(s, Served)] == [
        ("google_search", {"queries": ["q"]}),
        ("file_search", {}),
        ("url_context", {"urls": ["https://example.com"]}),
    ]


def test_grounding_is_the_result_of_the_call_that_shows_none() -> None:
    kind = {"toolType": "FILE_SEARCH", "id": "t"}
    chunk = {"retrievedContext": {"text": "Paris"}}
    body = sse(
        piece({"toolCall": kind}),
        piece({"toolResponse": kind}),
        piece({"text": "P"}),
        piece({"text": ""}, finishReason="STOP", groundingMetadata={"groundingChunks": [chunk]}),
    )
    served, words = reply(body, target=STREAM).parts
    assert isinstance(served, Served)
    assert (served.call.name, served.content, served.at) == (
        "file_search",
        [chunk],
        "response.events[3]",
    )
    assert words == Said("P", "response.events[2]")


def test_pictures_are_named_alike_in_either_alphabet_and_not_copied() -> None:
    written = reply(answer({"inlineData": {"mimeType": "image/png", "data": "+/+/"}}))
    echoed = history(*ASKED, model({"inline_data": {"mime_type": "image/png", "data": "-_-_"}}))[-1]
    digest = hashlib.sha256(b"\xfb\xff\xbf").hexdigest()[:16]
    assert written.content == {"inlineData": {"mimeType": "image/png", "bytes": 3, "sha256": digest}}
    assert echoed.content == written.content
    (message,) = history(user({"text": "see"}, {"fileData": {"fileUri": "gs://b/f", "mimeType": "x/y"}}))
    assert message.content == ["see", {"fileData": {"mimeType": "x/y", "fileUri": "gs://b/f"}}]


def test_an_unknown_part_is_kept_as_it_is_and_remarked() -> None:
    found = decode(exchange(answer({"hologram": {"n": 1}}, {"text": "x"})))
    assert found.remarks == ("a part hologram is not known",)
    assert found.turn
    assert found.turn.reply
    assert found.turn.reply.content == [{"hologram": {"n": 1}}, "x"]


@pytest.mark.parametrize(
    ("body", "content"),
    [
        ({"candidates": [{"content": {"parts": [{"text": "x"}]}}]}, "x"),
        ({"candidates": [{"index": 1, "content": {}}, piece({"text": "x"})["candidates"][0]]}, "x"),
        ({"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}, None),
        ({"candidates": [{"finishReason": 1}]}, None),
        ({"candidates": [{"content": {"parts": {"text": "x"}}}]}, "x"),
    ],
)
def test_index_role_parts_and_content_may_be_missing(body: object, content: Json) -> None:
    found = turn(exchange(body))
    assert found.reply
    assert (found.reply.content, found.error) == (content, None)


@pytest.mark.parametrize(
    ("body", "error", "remarks"),
    [
        ({"promptFeedback": {"blockReason": "SAFETY"}}, "the prompt was blocked (SAFETY)", ()),
        (
            {"promptFeedback": {"blockReason": "MODEL_ARMOR", "blockReasonMessage": "no"}},
            "the prompt was blocked (MODEL_ARMOR: no)",
            (),
        ),
        (
            answer(finish="MALFORMED_FUNCTION_CALL"),
            "no content (finish_reason MALFORMED_FUNCTION_CALL)",
            ("finish_reason MALFORMED_FUNCTION_CALL",),
        ),
        (answer(finish=3), "no content (finish_reason SAFETY)", ("finish_reason SAFETY",)),
        (answer({"text": "x"}, finish="MAX_TOKENS"), None, ("finish_reason MAX_TOKENS",)),
        (answer({"text": "x"}, finish=99), None, ("finish_reason 99",)),
        (answer({"text": "x"}, finish=1), None, ()),
        ({}, "the answer has no candidates", ()),
        ({"error": {"message": "in a 200"}}, "in a 200", ()),
        (b"", "the answer is no JSON (it is empty)", ()),
        (b"{oops", "the answer is no JSON (Expecting property name enclosed in double quotes", ()),
    ],
)
def test_a_status_of_200_proves_nothing(body: object, error: str | None, remarks: tuple[str, ...]) -> None:
    found = decode(exchange(body))
    assert found.turn
    assert (found.turn.error or "").startswith(error or "")
    assert bool(found.turn.error) == bool(error)
    assert [one for one in found.remarks if one.startswith("finish")] == list(remarks)


@pytest.mark.parametrize("wrapped", [True, False])
def test_an_error_gives_its_words_in_a_list_too(wrapped: bool) -> None:
    error = {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}
    assert turn(exchange([error] if wrapped else error, status=429)).error == "HTTP 429: slow"


def test_usage_adds_up_to_the_vendors_total_and_its_last_count_holds() -> None:
    first = {"promptTokenCount": 10, "thoughtsTokenCount": 3}
    last = {**first, "candidatesTokenCount": 5, "toolUsePromptTokenCount": 7, "totalTokenCount": 25}
    body = sse(
        piece({"text": "a"}) | {"usageMetadata": first},
        piece({"text": "b"}, finishReason="STOP") | {"usageMetadata": last},
        {"usageMetadata": {"trafficType": "ON_DEMAND"}},
    )
    assert turn(exchange(body, target=STREAM)).usage == Usage(17, 8, reasoning_tokens=3)


def test_the_answers_own_model_and_id_are_told() -> None:
    found = turn(exchange(answer({"text": "x"}, modelVersion="g-002", responseId="r")))
    assert (found.model, found.response_id) == ("g-002", "r")


# -- streams ------------------------------------------------------------------

WHOLE = [piece({"text": "a"}), piece({"text": "b"}), piece({"text": "c"}, finishReason="STOP")]


@pytest.mark.parametrize("cut", range(0, len(json.dumps(WHOLE)), 7))
def test_of_an_array_that_is_cut_off_what_is_whole_counts(cut: int) -> None:
    data = json.dumps(WHOLE).encode()[: cut + 1]
    found = decode(exchange(data, target=STREAM))
    assert found.turn
    whole = sum(end <= cut + 1 for end in _ends(WHOLE))
    assert found.complete is (whole == 3)
    assert (found.turn.reply.content if found.turn.reply else None) == ("abc"[:whole] or None)


def _ends(values: list[Any]) -> list[int]:
    return [len(json.dumps(values[: i + 1])) - 1 for i in range(len(values))]


@pytest.mark.parametrize(
    ("values", "complete"),
    [(WHOLE, True), (WHOLE[:2], False), ([{"promptFeedback": {"blockReason": 1}}], True)],
)
def test_a_stream_is_complete_by_its_finish_reason(values: list[Any], complete: bool) -> None:
    for body in (sse(*values), json.dumps(values).encode()):
        found = decode(exchange(body, target=STREAM, outcome=Outcome.CLIENT_CLOSED))
        assert found.complete is complete
        assert found.turn
        assert (found.turn.error == "the stream ended before its last event") is not complete


@pytest.mark.parametrize(
    "tail",
    [
        b'data: {"error": {"code": 503, "message": "late"}}\r\n\r\n',
        b'{\r\n  "error": {\r\n    "message": "late"\r\n  }\r\n}',
    ],
)
def test_an_error_in_the_middle_keeps_what_was_said(tail: bytes) -> None:
    found = turn(exchange(sse(WHOLE[0]) + tail, target=STREAM))
    assert (found.reply and found.reply.content, found.error) == ("a", "late")
    listed = json.dumps([WHOLE[0], {"error": {"message": "late"}}]).encode()
    assert turn(exchange(listed, target=STREAM)).error == "late"


def test_other_candidates_of_a_stream_are_left_out() -> None:
    body = sse(piece({"text": "a"}, index=0), piece({"text": "B"}, index=1), piece({"text": "c"}, index=0))
    assert reply(body, target=STREAM).content == "ac"


def test_comments_and_a_foreign_last_event_change_nothing() -> None:
    body = b": hello\r\n\r\n" + sse(*WHOLE) + b"data: [DONE]\r\n\r\n"
    found = decode(exchange(body, target=STREAM))
    assert (found.complete, found.remarks) == (True, ())
    assert found.turn
    assert found.turn.reply == Message("assistant", "abc", at="response.events[0-2]")


# -- anything at all ----------------------------------------------------------

keys = st.sampled_from(
    re.findall(
        r"\S+",
        "contents parts role text thought functionCall functionResponse name args response id partialArgs"
        " jsonPath willContinue stringValue executableCode codeExecutionResult outcome toolCall toolType"
        " toolResponse inlineData data candidates content finishReason index groundingMetadata"
        " groundingChunks webSearchQueries urlContextMetadata urlMetadata promptFeedback blockReason"
        " usageMetadata promptTokenCount error message systemInstruction",
    )
)
values = st.recursive(
    scalars | st.sampled_from(["user", "model", "$.a[0].b", "STOP"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=14,
)
framed = st.lists(values, max_size=3).flatmap(
    lambda many: st.sampled_from(
        [sse(*many), json.dumps(many).encode(), json.dumps(many)[:-2].encode(), b"\xff{"]
    )
)


@settings(max_examples=60)
@given(st.lists(values, min_size=1, max_size=3), framed | values, st.sampled_from([PATH, STREAM]), values)
def test_nothing_that_comes_makes_it_raise(
    contents: list[Any], body: object, target: str, system: object
) -> None:
    one = exchange(body, contents, target, systemInstruction=system)
    assert gemini.claims(one)
    assert isinstance(gemini.decode(one), Decoded)


def test_no_other_decoder_claims_it() -> None:
    for one in (exchange(answer({"text": "x"})), exchange(sse(*WHOLE), target=STREAM)):
        assert [name for name, decoder in DECODERS.items() if decoder.claims(one)] == ["gemini"]


def test_an_error_says_more_than_an_answer_without_candidates() -> None:
    found = turn(exchange(answer(finish="SAFETY")))
    assert found.error == "no content (finish_reason SAFETY)"
    assert turn(exchange(answer({"text": "a"}, finish="SAFETY"))).error is None
    assert turn(exchange(answer())).error is None


def test_pictures_may_be_thought() -> None:
    picture = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}, "thought": True}
    thought, said = reply(answer(picture, {"text": "a"})).parts
    assert isinstance(thought, Thought)
    assert json.loads(thought.text)["inlineData"]["bytes"] == 3
    assert isinstance(said, Said)


def test_a_call_without_a_name_is_remarked() -> None:
    found = decode(exchange(answer({"functionCall": {"args": {"a": 1}}})))
    assert found.remarks == ("a functionCall has no name",)


def test_a_result_without_a_call_stands_alone() -> None:
    alone = reply(answer({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}))
    (part,) = alone.parts
    assert isinstance(part, Served)
    assert (part.call.name, part.call.arguments, part.content) == ("code_execution", {}, "1")
