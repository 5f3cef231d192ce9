"""A key that stands twice is told to whoever asks for reasons, and no other key is."""

import json

import pytest

from abs_replay.assembly import explain
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

JSON = (("content-type", "application/json"),)
ASKED = json.dumps({"messages": [{"role": "user", "content": "hi"}]}).encode()
ANSWERED = b'{"choices": [{"message": {"role": "assistant", "content": "ho"}}]}'


def remarks(asked: bytes, answered: bytes) -> tuple[str, ...]:
    request = Request("POST", "/v1/chat/completions", JSON, Body(asked))
    one = Exchange("x", Channel(Role.LLM, "m"), 0.0, request, Response(200, JSON, Body(answered)))
    (fate,) = explain([one]).fates
    return fate.remarks


def test_what_stands_twice_is_told_with_its_side() -> None:
    asked = ASKED.replace(b'"role"', b'"content": "lost", "role"')
    assert remarks(asked, ANSWERED) == (
        'request: the key "content" is there twice in one object; the last counts',
    )
    answered = ANSWERED.replace(b'"choices"', b'"id": 1, "id": 2, "choices"')
    assert remarks(ASKED, answered) == (
        'response: the key "id" is there twice in one object; the last counts',
    )


@pytest.mark.parametrize("answered", [ANSWERED, b"{", b"[" * 100_000, b"data: {}\n\n", b"", b"\xff"])
def test_nothing_is_told_where_nothing_stands_twice(answered: bytes) -> None:
    assert not [remark for remark in remarks(ASKED, answered) if "twice" in remark]
