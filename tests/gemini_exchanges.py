"""Gemini exchanges for tests, and what they decode to."""

import json
from typing import Any

from abs_replay.decoders import decode
from abs_replay.decoders.events import Message, Turn
from abs_replay.exchange import Body, Channel, Exchange, Outcome, Request, Response, Role

PATH = "/v1beta/models/gemini-2.5-flash:generateContent"
STREAM = "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
EVENTS = (("content-type", "text/event-stream"),)
ASKED = [{"role": "user", "parts": [{"text": "hi"}]}]


def exchange(
    answer: object,
    contents: object = ASKED,
    target: str = PATH,
    status: int = 200,
    role: Role = Role.LLM,
    outcome: Outcome = Outcome.COMPLETE,
    **more: object,
) -> Exchange:
    streamed = isinstance(answer, bytes) and not answer.startswith((b"[", b"{"))
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    request = Request("POST", target, (), Body(json.dumps({"contents": contents, **more}).encode()))
    response = Response(status, EVENTS if streamed else (), Body(data))
    return Exchange("x", Channel(role, "m"), 0.0, request, response, outcome)


def answer(*parts: object, finish: object = "STOP", **more: object) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "finishReason": finish, "index": 0}
    return {"candidates": [candidate], **more}


def piece(*parts: object, **more: object) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **more}]}


def sse(*values: object) -> bytes:
    return "".join(f"data: {json.dumps(value)}\r\n\r\n" for value in values).encode()


def turn(one: Exchange) -> Turn:
    found = decode(one)
    assert found.protocol == "gemini"
    assert found.turn is not None
    return found.turn


def reply(given: object, **more: Any) -> Message:
    found = turn(exchange(given, **more)).reply
    assert found is not None
    return found


def history(*contents: object, **more: Any) -> tuple[Message, ...]:
    return turn(exchange(answer({"text": "x"}), list(contents), **more)).history


def user(*parts: object) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: object) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}
