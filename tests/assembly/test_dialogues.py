"""Rounds of one connection are turns like others: alone, side by side, and behind an agent."""

import json
from typing import Any

from abs_replay.assembly import assemble, explain
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role, WebSocket
from abs_replay.exchange import Message as Sent

AGENT, LLM, TOOL = Channel(Role.AGENT, "agent"), Channel(Role.LLM, "llm"), Channel(Role.TOOL, "orders")
JSON = (("content-type", "application/json"),)


def user(text: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text}]
    return {
        "type": "conversation.item.create",
        "item": {"type": "message", "role": "user", "content": content},
    }


def created(name: str) -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": name}}


def done(name: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.done", "response": {"id": name, "status": "completed", "output": [item]}}


def said(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text}]
    return {"id": f"i_{text}", "type": "message", "role": "assistant", "content": content}


def call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "c",
        "type": "function_call",
        "name": name,
        "call_id": "call_1",
        "arguments": json.dumps(arguments),
    }


def talk(id_: str, *events: tuple[float, dict[str, Any]], started: float = 100.0) -> Exchange:
    clients = ("conversation.item.create", "response.create")
    messages = (
        Sent(event["type"] in clients, json.dumps(event).encode(), True, at_ms) for at_ms, event in events
    )
    request = Request("GET", "/v1/realtime")
    return Exchange(
        id_,
        LLM,
        started,
        request,
        Response(101),
        ended_ms=events[-1][0] + 5,
        websocket=WebSocket(tuple(messages), 1000),
    )


def http(id_: str, channel: Channel, at: float, took: float, path: str, sent: Any, answer: Any) -> Exchange:
    return Exchange(
        *(id_, channel, 100.0 + at / 1000),
        Request("POST", path, JSON, Body(json.dumps(sent).encode())),
        Response(200, JSON, Body(json.dumps(answer).encode())),
        ended_ms=took,
    )


def lines(trace: Any) -> list[tuple[str, Any]]:
    return [(f"{step.actor} {step.action}", step.target or step.content) for step in trace.steps]


def test_two_connections_at_one_time_are_two_traces() -> None:
    exchanges = [
        talk(
            *(name, (10, user(f"hi {name}")), (20, created("r")), (50, done("r", said(f"ho {name}")))),
            started=started,
        )
        for name, started in (("a", 100.0), ("b", 100.001))
    ]
    assert [lines(trace) for trace in assemble(exchanges)] == [
        [("user says", f"hi {name}"), ("assistant responds", f"ho {name}")] for name in ("a", "b")
    ]


def test_the_same_words_twice_are_two_rounds() -> None:
    events = [
        event
        for at, name in ((10.0, "r1"), (110.0, "r2"))
        for event in ((at, user("hi")), (at + 5, created(name)), (at + 50, done(name, said("ho"))))
    ]
    (trace,) = assemble([talk("a", *events)])
    assert lines(trace) == [("user says", "hi"), ("assistant responds", "ho")] * 2


def test_a_call_that_a_tools_channel_shows_too_is_one_step() -> None:
    output = {"type": "function_call_output", "call_id": "call_1", "output": '{"status": "shipped"}'}
    model = talk(
        "ws",
        *((10, user("where?")), (20, created("r1")), (50, done("r1", call("get_order", {"id": 42})))),
        *((90, {"type": "conversation.item.create", "item": output}), (95, created("r2"))),
        (120, done("r2", said("on its way"))),
    )
    order = http("t", TOOL, 60, 20, "/get_order", {"id": 42}, {"status": "shipped"})
    (trace,) = assemble([model, order])
    assert lines(trace) == [
        ("user says", "where?"),
        ("assistant calls", "get_order"),
        ("tool responds", "get_order"),
        ("assistant responds", "on its way"),
    ]
    assert {source.exchange for step in trace.steps for source in step.sources} == {"ws", "t"}


def test_rounds_of_a_model_behind_an_agent_are_what_the_agent_said() -> None:
    model = talk(
        "ws",
        *((10, user("hi there")), (20, created("r1")), (50, done("r1", said("hello")))),
        *((210, user("bye now")), (220, created("r2")), (250, done("r2", said("goodbye")))),
    )
    asked = [{"role": "user", "content": "hi there"}]
    first = http(
        "a1",
        AGENT,
        5,
        60,
        "/chat",
        {"messages": asked},
        {"message": {"role": "assistant", "content": "hello"}},
    )
    asked = [*asked, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "bye now"}]
    second = http(
        "a2",
        AGENT,
        205,
        60,
        "/chat",
        {"messages": asked},
        {"message": {"role": "assistant", "content": "goodbye"}},
    )
    account = explain([first, model, second])
    (trace,) = account.traces
    assert lines(trace) == [
        ("user says", "hi there"),
        ("assistant responds", "hello"),
        ("user says", "bye now"),
        ("assistant responds", "goodbye"),
    ]
    assert {source.exchange for source in trace.steps[3].sources} == {"a2", "ws"}
    assert [(fate.exchange, fate.traces) for fate in account.fates] == [
        (name, (trace.id,)) for name in ("a1", "ws", "a2")
    ]
