"""What a Gemini request repeats: roles, results, echoes of answers."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders.events import Message
from abs_replay.exact_json import Json
from tests.gemini_exchanges import (
    ASKED,
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


def test_the_system_instruction_and_roles_are_read_however_they_are_written() -> None:
    for key in ("systemInstruction", "system_instruction"):
        system, asked, said = history(
            user({"text": "a"}, {"text": "b"}),
            {"role": "MODEL", "parts": {"text": "c"}},
            **{key: {"parts": [{"text": "s"}]}},
        )
        assert (system.role, system.content, system.at) == ("system", "s", f"request.{key}")
        assert (asked.role, asked.content) == ("user", "a\nb")
        assert (said.role, said.content) == ("assistant", "c")
    alone = turn(
        exchange(answer({"text": "x"}), {"parts": {"text": "one"}}, systemInstruction="words")
    ).history
    assert [(message.role, message.content) for message in alone] == [("system", "words"), ("user", "one")]


def test_results_in_the_users_message_are_the_tools_and_keep_their_places() -> None:
    calls = model({"function_call": {"name": "f", "args": {}, "id": "1"}}, {"functionCall": {"name": "g"}})
    results = user(
        {"functionResponse": {"name": "g", "response": {"output": '{"n": 1}'}}},
        {"text": "and?"},
        {"function_response": {"name": "f", "id": "1", "response": {"error": {"message": "bad"}}}},
    )
    _, _, first, words, second = history(*ASKED, calls, results)
    assert first == Message("tool", {"n": 1}, (), None, "g", "request.contents[2].parts[0]")
    assert words == Message("user", "and?", at="request.contents[2].parts[1]")
    assert second.error == "bad"
    assert (second.call_id, second.content) == ("1", {"error": {"message": "bad"}})


def test_a_result_that_bears_its_calls_id_as_its_name_gets_the_name() -> None:
    calls = model({"functionCall": {"name": "f"}}, {"functionCall": {"name": "g"}})
    results = {
        "role": "function",
        "parts": [{"functionResponse": {"name": "call_9", "response": {"result": 1}}}],
    }
    assert history(*ASKED, calls, results)[-1].name == "f"


@pytest.mark.parametrize("response", [{"result": "x"}, {"output": "x", "more": 1}, {}, None, "plain"])
def test_a_result_of_any_other_shape_is_the_whole_response(response: Json) -> None:
    result = user({"functionResponse": {"name": "f", "response": response}})
    (message,) = history(result)
    assert (message.content, message.error) == (response, None)


def test_the_pieces_of_an_answer_that_come_back_one_by_one_are_one_message() -> None:
    echo = history(
        *ASKED,
        model({"text": "a"}),
        model({"text": "b"}),
        model({"functionCall": {"name": "f"}}),
        user({"text": "c"}),
    )
    assert [message.role for message in echo] == ["user", "assistant", "user"]
    assert (echo[1].content, [call.name for call in echo[1].calls]) == ("ab", ["f"])


def test_words_that_a_history_repeats_are_made_once() -> None:
    assert history(*ASKED)[0] is history(*ASKED, model({"text": "x"}))[0]


parts = st.one_of(
    st.builds(lambda text: {"text": text}, st.text(max_size=4)),
    st.builds(lambda text: {"text": text, "thought": True}, st.text(max_size=4)),
    st.builds(
        lambda name, args: {"functionCall": {"name": name, "args": args}},
        st.sampled_from("fg"),
        st.dictionaries(st.sampled_from("ab"), scalars, max_size=2),
    ),
    st.just({"executableCode": {"code": "1", "language": "PYTHON"}}),
    st.just({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}),
    st.just({"inlineData": {"mimeType": "a/b", "data": "QUJD"}}),
)


@settings(max_examples=40)
@given(st.lists(parts, min_size=1, max_size=6), st.booleans())
def test_an_answer_is_known_again_in_the_next_request(
    given_parts: list[dict[str, Any]], streamed: bool
) -> None:
    """SDKs send back the parts, each chunk's in a content of its own where they streamed; thoughts not."""
    if streamed:
        body: object = sse(*(piece(part) for part in given_parts), piece(finishReason="STOP"))
        echo = [model(part) for part in given_parts if not part.get("thought")]
    else:
        body = answer(*given_parts)
        echo = [model(*(part for part in given_parts if not part.get("thought")))]
    made = reply(body, target=STREAM if streamed else PATH)
    found = [message for message in history(*ASKED, *echo) if message.role == "assistant"] or [Message("")]
    assert [(c.name, c.arguments) for c in found[0].calls] == [(c.name, c.arguments) for c in made.calls]
    # Words on both sides of a thought are two parts, and one when the thought is left out.
    if not any(part.get("thought") for part in given_parts):
        assert found[0].content == made.content


def test_a_content_of_nothing_is_no_message() -> None:
    assert history(user({"text": ""}), *ASKED) == history({}, *ASKED)


def test_what_failed_keeps_its_output_beside_the_error() -> None:
    (told,) = history(user({"functionResponse": {"name": "f", "response": {"output": "a", "error": "b"}}}))
    assert (told.content, told.error) == ({"output": "a", "error": "b"}, "b")


def test_pictures_that_a_tool_answers_are_named() -> None:
    parts = [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"fileData": {"fileUri": "u"}}, {}]
    (told,) = history(user({"functionResponse": {"name": "f", "response": {"output": "a"}, "parts": parts}}))
    assert isinstance(told.content, list)
    words, picture, file = told.content
    assert (words, picture["inlineData"]["bytes"], file) == ("a", 3, {"inlineData": {"fileUri": "u"}})
