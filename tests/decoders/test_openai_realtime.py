"""OpenAI's Realtime API: a connection is a conversation, whatever order its events come in."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, Decoded, Message, Round, decode
from abs_replay.exchange import Channel, Exchange, Request, Response, Role, WebSocket
from abs_replay.exchange import Message as Sent
from abs_replay.trace import Usage

PATH = "/v1/realtime?model=gpt-realtime"
CREATE = (True, {"type": "response.create"})


def exchange(
    *said: tuple[bool, Any], target: str = PATH, role: Role = Role.LLM, close: int | None = 1000
) -> Exchange:
    messages = (
        Sent(ours, json.dumps(event).encode(), True, n * 10.0) for n, (ours, event) in enumerate(said)
    )
    socket = WebSocket(tuple(messages), close)
    took = len(said) * 10.0
    request = Request("GET", target, (("upgrade", "websocket"),))
    return Exchange("x", Channel(role, role), 1.0, request, Response(101), ended_ms=took, websocket=socket)


def user(text: str, **fields: Any) -> tuple[bool, Any]:
    content = [{"type": "input_text", "text": text}]
    item = {"type": "message", "role": "user", "content": content, **fields}
    return True, {"type": "conversation.item.create", "event_id": f"e_{text}", "item": item}


def server(kind: str, **fields: Any) -> tuple[bool, Any]:
    return False, {"type": kind, **fields}


def created(name: str = "r1") -> tuple[bool, Any]:
    return server("response.created", response={"id": name, "status": "in_progress", "output": []})


def done(name: str = "r1", words: str | None = None, **fields: Any) -> tuple[bool, Any]:
    content = [{"type": "output_text", "text": words}]
    output = (
        [{"id": f"i_{name}", "type": "message", "role": "assistant", "content": content}] if words else []
    )
    return server("response.done", response={"id": name, "status": "completed", "output": output, **fields})


def rounds(*said: tuple[bool, Any], **how: Any) -> tuple[Round, ...]:
    decoded = decode(exchange(*said, **how))
    assert decoded.protocol == "openai_realtime"
    return decoded.rounds


def words(messages: tuple[Message, ...]) -> list[tuple[str, Any]]:
    return [(message.role, message.content) for message in messages]


# -- what is claimed ----------------------------------------------------------


@pytest.mark.parametrize(
    "target", [PATH, "/openai/v1/realtime", "/openai/realtime?deployment=d", "/x/realtime/"]
)
def test_the_path_is_enough_where_events_are_the_apis(target: str) -> None:
    assert decode(exchange(user("hi"), target=target)).protocol == "openai_realtime"


@pytest.mark.parametrize(
    ("said", "how"),
    [
        ([(True, {"hello": 1})], {}),
        ([], {}),
        ([user("hi")], {"target": "/v1/responses"}),
        ([user("hi")], {"role": Role.TOOL}),
    ],
)
def test_other_websockets_are_not_claimed(said: list[tuple[bool, Any]], how: dict[str, Any]) -> None:
    assert not DECODERS["openai_realtime"].claims(exchange(*said, **how))


def test_an_agent_may_speak_it_on_any_path() -> None:
    begun = server("session.created", session={"id": "s"})
    assert decode(exchange(begun, target="/talk", role=Role.AGENT)).protocol == "openai_realtime"


def test_a_handshake_that_was_refused_is_a_turn_that_failed() -> None:
    request = Request("GET", PATH, (("Upgrade", "websocket"),))
    decoded = decode(Exchange("x", Channel(Role.LLM, "m"), 0.0, request, Response(401)))
    assert decoded.turn is not None
    assert (decoded.turn.error, decoded.turn.model) == ("HTTP 401", "gpt-realtime")


# -- what is said -------------------------------------------------------------


def test_an_item_counts_once_whether_the_server_confirms_it_or_not() -> None:
    item = {"id": "i1", "type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
    echoes = [server(f"conversation.item.{kind}", item=item) for kind in ("added", "created", "done")]
    for before, after in (([], []), (echoes, []), ([], echoes)):
        (one,) = rounds(user("hi"), *before, CREATE, created(), *after, done(words="ho"))
        assert words(one.turn.history) == [("user", "hi")]
        assert one.turn.history[0].at == "websocket.messages[0]"


def test_speech_is_told_by_its_transcript_even_where_it_comes_after_the_answer() -> None:
    heard = server("conversation.item.input_audio_transcription.completed", item_id="i1", transcript="hi")
    committed = server("input_audio_buffer.committed", item_id="i1")
    (one,) = rounds(committed, created(), done(words="ho"), heard)
    assert words(one.turn.history) == [("user", "hi")]


def test_pieces_of_a_transcript_count_where_the_whole_never_comes() -> None:
    kind = "conversation.item.input_audio_transcription.delta"
    pieces = [server(kind, item_id="i1", delta=piece) for piece in ("h", "i")]
    (one,) = rounds(server("input_audio_buffer.committed", item_id="i1"), *pieces, created(), done())
    assert words(one.turn.history) == [("user", "hi")]


def test_sound_without_words_is_named_not_copied() -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": "AAAA"}]}
    (one,) = rounds((True, {"type": "conversation.item.create", "item": item}), created(), done())
    ((_, content),) = words(one.turn.history)
    assert content[0]["type"] == "input_audio"
    assert content[0]["bytes"] == 3
    assert "audio" not in content[0]


@pytest.mark.parametrize("kind", ["output_text", "text", "output_audio_transcript", "audio_transcript"])
def test_an_answer_that_broke_off_is_told_as_far_as_it_came(kind: str) -> None:
    pieces = [server(f"response.{kind}.delta", response_id="r1", item_id="i", delta=d) for d in ("Hel", "lo")]
    decoded = decode(exchange(user("hi"), created(), *pieces, close=1006))
    (one,) = decoded.rounds
    assert one.turn.reply is not None
    assert (one.turn.reply.content, one.turn.error) == ("Hello", "the stream ended before its last event")
    assert decoded.complete is False


def test_what_is_done_counts_not_its_pieces_twice() -> None:
    delta = server("response.output_text.delta", response_id="r1", item_id="i_r1", delta="Hello")
    whole = server("response.output_text.done", response_id="r1", item_id="i_r1", text="Hello!")
    (one,) = rounds(user("hi"), created(), delta, whole, done(words="Hello!"))
    assert one.turn.reply is not None
    assert one.turn.reply.content == "Hello!"


def test_calls_and_their_results_are_rounds_of_one_trace() -> None:
    call = {"id": "c", "type": "function_call", "name": "f", "call_id": "call_1", "arguments": '{"a":1}'}
    asked = server("response.done", response={"id": "r1", "status": "completed", "output": [call]})
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"b":2}'}
    answered = (True, {"type": "conversation.item.create", "item": output})
    said = user("go"), CREATE, created(), asked, answered, CREATE, created("r2"), done("r2", "done")
    (trace,) = assemble([exchange(*said)])
    assert [(s.actor, s.action, s.target, s.content or s.arguments) for s in trace.steps] == [
        ("user", "says", None, "go"),
        ("assistant", "calls", "f", {"a": 1}),
        ("tool", "responds", "f", {"b": 2}),
        ("assistant", "responds", None, "done"),
    ]
    assert [step.at_ms for step in trace.steps] == [0.0, 30.0, 40.0, 70.0]


def test_an_interrupted_answer_is_marked_with_what_was_heard_of_it() -> None:
    ended = done(words="A long", status="cancelled", status_details={"reason": "turn_detected"})
    cut = server("conversation.item.truncated", item_id="i_r1", content_index=0, audio_end_ms=700)
    for events, error in (
        ((ended,), "interrupted: turn_detected"),
        ((ended, cut), "interrupted: turn_detected; 700 ms were heard"),
        ((done(words="A long"), cut), "interrupted; 700 ms were heard"),
    ):
        (one,) = rounds(user("hi"), created(), *events)
        assert one.turn.reply is not None
        assert (one.turn.reply.content, one.turn.error) == ("A long", error)


def test_usage_model_and_session_are_those_of_the_server() -> None:
    session = server("session.created", session={"id": "s1", "model": "m-1"})
    decoded = decode(
        exchange(session, user("hi"), created(), done(usage={"input_tokens": 3, "output_tokens": 4}))
    )
    assert (decoded.session, decoded.rounds[0].turn.model) == ("s1", "m-1")
    assert decoded.rounds[0].turn.usage == Usage(3, 4)


def test_instructions_are_told_when_they_are_new() -> None:
    update = (True, {"type": "session.update", "session": {"instructions": "Be kind."}})
    told = server("session.updated", session={"instructions": "Be kind."})
    first, second = rounds(
        update, told, user("a"), created(), done(words="b"), user("c"), created("r2"), done("r2", "d")
    )
    assert words(first.turn.history) == [("system", "Be kind."), ("user", "a")]
    assert words(second.turn.history) == [("user", "c")]


def test_a_response_beside_the_conversation_takes_no_words_from_it() -> None:
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "classify"}]}
    aside = (True, {"type": "response.create", "response": {"conversation": "none", "input": [item]}})
    first, second = rounds(
        user("hi"), aside, created(), done(words="greeting"), CREATE, created("r2"), done("r2", "hello")
    )
    assert words(first.turn.history) == [("user", "classify")]
    assert words(second.turn.history) == [("user", "hi")]


# -- failures -----------------------------------------------------------------


def test_an_item_that_was_refused_is_no_step() -> None:
    error = server("error", error={"message": "bad item", "event_id": "e_wrong"})
    decoded = decode(exchange(user("wrong"), error, user("right"), created(), done(words="ok")))
    assert [words(one.turn.history) for one in decoded.rounds] == [[("user", "right")]]
    assert "an item was not added: bad item" in decoded.remarks


def test_a_response_that_was_refused_is_a_turn_that_failed() -> None:
    error = server("error", error={"message": "overloaded", "event_id": None})
    (one,) = rounds(user("hi"), CREATE, error)
    assert (words(one.turn.history), one.turn.reply, one.turn.error) == ([("user", "hi")], None, "overloaded")


def test_words_that_nothing_answered_are_told_with_how_the_connection_ended() -> None:
    (one,) = rounds(user("hi"), close=1006)
    assert (words(one.turn.history), one.turn.error) == ([("user", "hi")], "the connection broke off")


# -- any events ---------------------------------------------------------------

NAMES = st.sampled_from(["i1", "i2", "r1", "r2", "", None])
SCALARS = st.none() | st.booleans() | st.integers(-1, 3) | st.text(max_size=4) | NAMES
ITEMS = st.dictionaries(
    st.sampled_from(["id", "type", "role", "content", "name", "call_id", "arguments", "output", "status"]),
    SCALARS
    | st.sampled_from(["message", "function_call", "function_call_output", "mcp_call", "user", "assistant"])
    | st.lists(
        st.dictionaries(
            st.sampled_from(["type", "text", "transcript", "audio"]),
            SCALARS | st.sampled_from(["input_text", "input_audio", "output_audio", "text"]),
        ),
        max_size=2,
    ),
)
KINDS = st.sampled_from(
    [
        *("session.created", "session.update", "conversation.item.create", "conversation.item.added"),
        *("conversation.item.deleted", "conversation.item.truncated", "input_audio_buffer.committed"),
        *("conversation.item.input_audio_transcription.completed", "response.create", "response.created"),
        *("response.output_item.added", "response.output_text.delta", "response.output_text.done"),
        *("response.function_call_arguments.delta", "response.done", "error", "unheard.of"),
    ]
)
EVENTS = st.fixed_dictionaries(
    {"type": KINDS},
    optional={
        "item": ITEMS | SCALARS,
        "item_id": NAMES,
        "response_id": NAMES,
        "delta": SCALARS,
        "text": SCALARS,
        "content_index": SCALARS,
        "event_id": NAMES,
        "error": ITEMS | SCALARS,
        "session": ITEMS | SCALARS,
        "response": st.dictionaries(
            st.sampled_from(["id", "status", "status_details", "output", "usage", "input", "conversation"]),
            SCALARS | ITEMS | st.lists(ITEMS | SCALARS, max_size=2),
        ),
    },
)


@settings(max_examples=150)
@given(st.lists(st.tuples(st.booleans(), EVENTS | SCALARS), max_size=10))
def test_no_events_make_it_raise_and_rounds_keep_their_order(said: list[tuple[bool, Any]]) -> None:
    shown = exchange(*said)
    decoded: Decoded = DECODERS["openai_realtime"].decode(shown)
    assert all(one.asked_ms <= one.answered_ms for one in decoded.rounds)
    for trace in assemble([shown]):
        assert [step.seq for step in trace.steps] == list(range(1, len(trace.steps) + 1))


SPOKEN = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)


@settings(max_examples=60)
@given(st.lists(st.tuples(SPOKEN, SPOKEN), min_size=1, max_size=5), st.booleans())
def test_every_word_is_one_step_in_order(talk: list[tuple[str, str]], confirmed: bool) -> None:
    said: list[tuple[bool, Any]] = []
    for number, (asked, answered) in enumerate(talk):
        name = f"r{number}"
        said += [user(asked), CREATE]
        if confirmed:
            item = {**said[-2][1]["item"], "id": f"u{number}"}
            said.append(server("conversation.item.added", item=item))
        said += [created(name), done(name, answered)]
    (trace,) = assemble([exchange(*said)])
    steps = [(step.actor, step.content) for step in trace.steps]
    assert steps == [pair for a, b in talk for pair in (("user", a), ("assistant", b))]
