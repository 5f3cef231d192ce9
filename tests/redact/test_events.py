"""A secret in pieces is found whatever its stream looks like."""

import json

import pytest

from abs_replay.exchange import Body, Channel, Exchange, Message, Outcome, Request, Response, Role, WebSocket
from abs_replay.redact import Redactor, redact, rules_of
from abs_replay.redact.events import divided
from abs_replay.spec.redaction import Redaction

KEY = "sk-proj-Abcdefghijklmnop1234567890"


def answered(body: bytes, outcome: Outcome = Outcome.COMPLETE, redactor: Redactor | None = None) -> str:
    response = Response(200, (), Body(body))
    made = Exchange("1", Channel(Role.LLM, "llm"), 0.0, Request("GET", "/"), response, outcome=outcome)
    result = (redactor or Redactor()).redact(made)
    assert result.response
    assert redact(result) == result
    return result.response.body.data.decode()


def split(size: int) -> list[str]:
    return [KEY[at : at + size] for at in range(0, len(KEY), size)]


def said(kept: str, name: str) -> str:
    lines = [line.removeprefix("data: ") for line in kept.splitlines() if "{" in line]
    return "".join(json.loads(line).get(name, "") for line in lines)


@pytest.mark.parametrize("size", [1, 3, 8, 20])
@pytest.mark.parametrize("before", ["", "data: "])
@pytest.mark.parametrize("around", [0, 300])
def test_members_of_any_name_are_joined_over_events(size: int, before: str, around: int) -> None:
    parts = [*["word "] * around, *split(size), *[" word"] * around]
    events = [before + json.dumps({"id": "a", "x": part, "n": 1}) + "\n" for part in parts]
    kept = answered("".join(events).encode())
    assert said(kept, "x") == "word " * around + "<key:1>" + " word" * around
    assert kept.count("\n") == len(events)


@pytest.mark.parametrize("size", [3, 20])
def test_data_that_is_no_json_is_joined_over_events(size: int) -> None:
    kept = answered("".join(f"data: {part}\n\n" for part in split(size)).encode() + b"data: [DONE]\n\n")
    assert "".join(line.removeprefix("data: ") for line in kept.splitlines()) == "<key:1>[DONE]"


@pytest.mark.parametrize("size", [3, 20])
def test_messages_of_plain_text_are_joined(size: int) -> None:
    messages = tuple(Message(False, part.encode(), True, 1.0) for part in ["it is ", *split(size), " ok"])
    made = Exchange("1", Channel(Role.LLM, "llm"), 0.0, Request("GET", "/"), websocket=WebSocket(messages))
    result = redact(made).websocket
    assert result is not None
    assert b"".join(each.data for each in result.messages) == b"it is <key:1> ok"
    assert len(result.messages) == len(messages)


def test_the_beginning_of_a_secret_in_members_of_any_name_is_held_back_where_a_stream_broke_off() -> None:
    events = "".join(json.dumps({"x": part}) + "\n" for part in ["it is ", "sk-proj", "-Abcd"])
    assert said(answered(events.encode(), Outcome.UPSTREAM_CLOSED), "x") == "it is "


def test_ids_that_differ_from_event_to_event_keep_their_digits_from_an_authors_rules() -> None:
    redactor = Redactor(rules_of(Redaction(pii=("phone", "card"))))
    events = "".join(json.dumps({"seq": f"{number:05}", "x": "a"}) + "\n" for number in range(41, 90))
    assert answered(events.encode(), redactor=redactor) == events


def test_what_is_no_stream_is_not_divided() -> None:
    assert not list(divided(b"sk-", lambda data: [(0, len(data), b"")]))
