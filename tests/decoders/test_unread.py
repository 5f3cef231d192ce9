"""Nothing of a history is left out without a word."""

import json
from typing import Any

import pytest

from abs_replay.decoders import decode
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

JSON = (("content-type", "application/json"),)
ROLELESS = {"content": "lost?"}


def asked(path: str, body: Any, role: Role = Role.LLM) -> Exchange:
    request = Request("POST", path, JSON, Body(json.dumps(body).encode()))
    return Exchange("x", Channel(role, str(role)), 0.0, request, Response(200, JSON, Body(b"{}")))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", {"messages": [ROLELESS, 7]}),
        ("/v1/messages", {"messages": [ROLELESS, 7], "max_tokens": 9}),
        ("/api/chat", {"messages": [ROLELESS, 7], "model": "m"}),
        ("/v2/chat", {"messages": [ROLELESS, 7], "model": "m"}),
        ("/model/m/converse", {"messages": [ROLELESS, 7]}),
        ("/v1/chat", {"chat_history": [ROLELESS, 7], "message": "hi"}),
    ],
)
def test_a_message_without_a_role_and_one_that_is_no_object_are_remarked(path: str, body: Any) -> None:
    decoded = decode(asked(path, body))
    key = "chat_history" if "chat_history" in body else "messages"
    assert decoded.turn is not None
    assert f"not traced: request.{key}[0] (without a role)" in decoded.remarks
    assert f"not traced: request.{key}[1] (no object)" in decoded.remarks


@pytest.mark.parametrize(
    ("path", "key"), [("/v1/responses", "input"), ("/v1beta/models/m:generateContent", "contents")]
)
def test_what_is_no_object_is_remarked_where_entries_need_no_role(path: str, key: str) -> None:
    assert decode(asked(path, {key: [7]})).remarks[-1] == f"not traced: request.{key}[0] (no object)"


def test_many_of_a_kind_are_one_remark() -> None:
    decoded = decode(asked("/v1/chat/completions", {"messages": [7] * 9}))
    places = ", ".join(f"request.messages[{index}]" for index in range(3))
    assert decoded.remarks == (f"not traced: {places} and 6 more (no object)",)
