"""A recorded conversation over the Realtime API (of xAI, who speak it), as its cassette has the messages."""

import json
from pathlib import Path

import pytest
import yaml

from abs_replay.assembly import assemble
from abs_replay.decoders import decode
from abs_replay.exchange import Channel, Exchange, Message, Request, Response, Role, WebSocket
from abs_replay.trace import Usage

PATH = "corpus/pydantic-ai/tests/realtime/cassettes/test_xai_ws/test_tool_call_round.yaml"


def test_a_recorded_round_with_a_tool_is_told_once_and_in_order(shared: Path) -> None:
    if not (shared / PATH).exists():
        pytest.skip("no corpus")
    said = yaml.safe_load((shared / PATH).read_text())["interactions"]
    messages = tuple(
        Message(one["direction"] == "sent", json.dumps(one["data"]).encode(), True, float(number))
        for number, one in enumerate(said)
        if one["kind"] == "message"
    )
    request = Request("GET", "/v1/realtime?model=grok-voice-latest")
    exchange = Exchange(
        "x", Channel(Role.LLM, "x"), 0.0, request, Response(101), websocket=WebSocket(messages, 1000)
    )
    decoded = decode(exchange)
    assert (decoded.protocol, decoded.complete, decoded.remarks) == ("openai_realtime", True, ())
    (trace,) = assemble([exchange])
    assert [(s.actor, s.action, s.target, s.content or s.arguments) for s in trace.steps[1:]] == [
        ("user", "says", None, "What is the weather in London?"),
        ("assistant", "responds", None, "I'll check the weather for London right away."),
        ("assistant", "calls", "get_weather", {"city": "London"}),
        ("tool", "responds", "get_weather", "It is foggy and 12 degrees in London."),
        (
            *("assistant", "responds", None),
            "It is foggy and 12 degrees in London. The weather is foggy and 12 degrees.",
        ),
    ]
    assert trace.models == ("grok-voice-latest",)
    assert trace.usage == Usage(7, 382)
