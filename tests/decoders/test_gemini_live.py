"""Gemini Live: a connection is a conversation, and transcripts come when they come."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, Message, Round, decode
from abs_replay.exchange import Channel, Exchange, Request, Response, Role, WebSocket
from abs_replay.exchange import Message as Sent
from abs_replay.trace import Usage

PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k"
SETUP = (True, {"setup": {"model": "models/m"}})


def exchange(
    *said: tuple[bool, Any],
    target: str = PATH,
    role: Role = Role.LLM,
    close: int | None = 1000,
    reason: str = "",
) -> Exchange:
    messages = (
        Sent(ours, json.dumps(event).encode(), ours, n * 10.0) for n, (ours, event) in enumerate(said)
    )
    socket = WebSocket(tuple(messages), close, reason)
    took = len(said) * 10.0
    return Exchange(
        "x", Channel(role, role), 1.0, Request("GET", target), Response(101), ended_ms=took, websocket=socket
    )


def user(text: str) -> tuple[bool, Any]:
    turns = [{"role": "user", "parts": [{"text": text}]}]
    return True, {"clientContent": {"turns": turns, "turnComplete": True}}


def content(**fields: Any) -> tuple[bool, Any]:
    return False, {"serverContent": fields}


def spoken(*texts: str, **fields: Any) -> tuple[bool, Any]:
    return content(modelTurn={"parts": [{"text": text} for text in texts]}, **fields)


def rounds(*said: tuple[bool, Any], **how: Any) -> tuple[Round, ...]:
    decoded = decode(exchange(SETUP, *said, **how))
    assert decoded.protocol == "gemini_live"
    return decoded.rounds


def words(messages: tuple[Message, ...]) -> list[tuple[str, Any]]:
    return [(message.role, message.content) for message in messages]


def answer(one: Round) -> Any:
    return one.turn.reply.content if one.turn.reply else None


@pytest.mark.parametrize(
    "target",
    [
        PATH,
        "/ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContentConstrained",
        "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent",
    ],
)
def test_the_path_is_enough(target: str) -> None:
    assert decode(exchange(SETUP, target=target)).protocol == "gemini_live"


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ([SETUP], {"target": PATH, "role": Role.TOOL}),
        ([(True, {"setup": 1})], {"target": "/talk"}),
        ([(False, {"setup": {"model": "m"}})], {"target": "/talk"}),
    ],
)
def test_other_websockets_are_not_claimed(said: list[tuple[bool, Any]], how: dict[str, Any]) -> None:
    assert not DECODERS["gemini_live"].claims(exchange(*said, **how))


def test_an_agent_may_speak_it_on_any_path() -> None:
    assert decode(exchange(SETUP, target="/talk", role=Role.AGENT)).protocol == "gemini_live"


def test_pieces_of_a_turn_are_one_answer_in_either_frame_and_either_case() -> None:
    turns = {"parts": [{"text": "hi"}]}
    asked = (True, {"client_content": {"turns": turns, "turn_complete": True}})
    (one,) = rounds(asked, spoken("Hel"), spoken("lo"), content(turnComplete=True))
    assert (words(one.turn.history), answer(one)) == ([("user", "hi")], "Hello")
    assert one.turn.reply is not None
    assert one.turn.reply.at == "websocket.messages[2-3]"
    assert (one.asked_ms, one.answered_ms, one.turn.model) == (10.0, 30.0, "m")


def test_a_transcript_that_comes_while_the_model_speaks_is_of_what_it_answers() -> None:
    early, late = (content(inputTranscription={"text": text}) for text in ("hel", "lo"))
    (one,) = rounds(early, spoken("Hi"), late, content(turnComplete=True))
    assert (words(one.turn.history), answer(one)) == ([("user", "hello")], "Hi")


def test_words_that_interrupt_open_the_next_turn() -> None:
    first, second = rounds(
        user("a"),
        spoken("Once upon"),
        content(interrupted=True),
        content(inputTranscription={"text": "stop"}),
        content(turnComplete=True),
        spoken("Fine.", turnComplete=True),
    )
    assert (answer(first), first.turn.error) == ("Once upon", "interrupted")
    assert (words(second.turn.history), answer(second), second.turn.error) == (
        [("user", "stop")],
        "Fine.",
        None,
    )


def test_calls_end_a_turn_and_their_results_open_the_next() -> None:
    calls = [{"id": "1", "name": "f", "args": {"a": 1}}, {"id": "2", "name": "g", "args": {}}]
    results = [
        {"id": "2", "name": "g", "response": {"output": "two"}},
        {"id": "1", "response": {"error": "no"}},
    ]
    said = [
        user("go"),
        (False, {"toolCall": {"functionCalls": calls}}),
        (True, {"toolResponse": {"functionResponses": results}}),
        spoken("Half of it.", turnComplete=True),
    ]
    (trace,) = assemble([exchange(SETUP, *said)])
    assert [(s.actor, s.action, s.target, s.error) for s in trace.steps] == [
        ("user", "says", None, None),
        ("assistant", "calls", "f", None),
        ("assistant", "calls", "g", None),
        ("tool", "responds", "g", None),
        ("tool", "responds", "f", "no"),
        ("assistant", "responds", None, None),
    ]


def test_sound_is_told_by_its_words_and_else_named_once() -> None:
    sound = {"inlineData": {"mimeType": "audio/pcm;rate=24000", "data": "AAAA"}}
    said = content(modelTurn={"parts": [sound]}), content(modelTurn={"parts": [sound]})
    (heard,) = rounds(
        user("a"), *said, content(outputTranscription={"text": "Hi"}), content(turnComplete=True)
    )
    (silent,) = rounds(user("a"), *said, content(turnComplete=True))
    assert answer(heard) == "Hi"
    assert answer(silent)["inlineData"]["bytes"] == 6


def test_usage_counts_to_the_turn_it_follows() -> None:
    counts = {"promptTokenCount": 5, "responseTokenCount": 3, "thoughtsTokenCount": 2}
    first, second = rounds(
        user("a"), spoken("b", turnComplete=True), (False, {"usageMetadata": counts}), user("c"), spoken("d")
    )
    assert (first.turn.usage, second.turn.usage) == (Usage(5, 5, reasoning_tokens=2), None)


@pytest.mark.parametrize(
    ("close", "error"),
    [
        (1000, "the stream ended before its last event"),
        (1006, "the connection broke off"),
        (1011, "the connection was closed with 1011: quota"),
    ],
)
def test_an_answer_that_was_cut_says_how_the_connection_ended(close: int, error: str) -> None:
    (one,) = rounds(user("a"), spoken("b"), close=close, reason="quota")
    assert (answer(one), one.turn.error) == ("b", error)
    assert decode(exchange(SETUP, user("a"), spoken("b"))).complete is False


def test_a_setup_that_was_refused_is_a_turn_that_failed() -> None:
    (one,) = rounds(close=1008, reason="no such model")
    assert one.turn.error == "the connection was closed with 1008: no such model"


SCALARS = st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=4)
KEYS = st.sampled_from(
    [
        *("setup", "model", "systemInstruction", "clientContent", "turns", "realtimeInput", "text", "audio"),
        *("toolResponse", "functionResponses", "serverContent", "modelTurn", "parts", "turnComplete"),
        *("interrupted", "inputTranscription", "outputTranscription", "toolCall", "functionCalls", "name"),
        *("args", "id", "inlineData", "mimeType", "data", "usageMetadata", "promptTokenCount", "error"),
    ]
)
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=2) | st.dictionaries(KEYS, v, max_size=3), max_leaves=10
)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.booleans(), VALUES), max_size=8))
def test_no_messages_make_it_raise(said: list[tuple[bool, Any]]) -> None:
    shown = exchange(*said)
    decoded = DECODERS["gemini_live"].decode(shown)
    assert all(one.asked_ms <= one.answered_ms for one in decoded.rounds)
    for trace in assemble([shown]):
        assert [step.seq for step in trace.steps] == list(range(1, len(trace.steps) + 1))


SPOKEN = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)


@settings(max_examples=60)
@given(st.lists(st.tuples(SPOKEN, SPOKEN), min_size=1, max_size=5))
def test_every_word_is_one_step_in_order(talk: list[tuple[str, str]]) -> None:
    said = [one for a, b in talk for one in (user(a), spoken(b, turnComplete=True))]
    (trace,) = assemble([exchange(SETUP, *said)])
    steps = [(step.actor, step.content) for step in trace.steps]
    assert steps == [pair for a, b in talk for pair in (("user", a), ("assistant", b))]
