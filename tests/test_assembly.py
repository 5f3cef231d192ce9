"""From exchanges to traces: what is one conversation, one step, one call, and what nobody saw."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.trace import Step, Trace, Usage, Visibility

AGENT, LLM = Channel(Role.AGENT, "agent"), Channel(Role.LLM, "openai")
MCP, ORDERS = Channel(Role.TOOL, "Order MCP"), Channel(Role.TOOL, "Orders")

type Fields = dict[str, Any]


class Wire:
    """Makes exchanges; times are ms after the first."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def add(
        self,
        channel: Channel,
        target: str,
        body: object,
        answer: object,
        at: float,
        took: float = 10,
        status: int = 200,
        method: str = "POST",
        headers: Mapping[str, str] | None = None,
        outcome: Outcome = Outcome.COMPLETE,
    ) -> Exchange:
        sent = b"" if body is None else json.dumps(body).encode()
        response = None
        if outcome is Outcome.COMPLETE:
            got = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            response = Response(status, (), Body(got, (Chunk(len(got), took),)))
        request = Request(method, target, tuple((headers or {}).items()), Body(sent))
        number = len(self.exchanges) + 1
        exchange = Exchange(f"x{number}", channel, 1000 + at / 1000, request, response, outcome, None, took)
        self.exchanges.append(exchange)
        return exchange

    def agent(
        self, messages: Sequence[Fields], reply: Fields | None, at: float, took: float = 10, **more: Any
    ) -> Exchange:
        answer = {"message": reply} if reply else {"error": {"message": "boom"}}
        return self.add(AGENT, "/chat", {"messages": messages}, answer, at, took, **more)

    def llm(
        self, messages: Sequence[Fields], reply: Fields | None, at: float, took: float = 10, **more: Any
    ) -> Exchange:
        body = {"model": "gpt-4o", "messages": messages}
        usage = {"prompt_tokens": 7, "completion_tokens": 3}
        answer: object = {"model": "gpt-4o-2024", "choices": [{"index": 0, "message": reply}], "usage": usage}
        if reply is None:
            answer = {"error": {"message": "slow down"}}
        return self.add(LLM, "/v1/chat/completions", body, answer, at, took, **more)

    def mcp(
        self, name: str, arguments: Fields, result: Json, at: float, took: float = 10, **more: Any
    ) -> Exchange:
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        said = {"content": [{"type": "text", "text": json.dumps(result)}]}
        return self.add(MCP, "/mcp", call, {"jsonrpc": "2.0", "id": 1, "result": said}, at, took, **more)

    def get(self, target: str, answer: object, at: float, took: float = 10, **more: Any) -> Exchange:
        return self.add(ORDERS, target, None, answer, at, took, method="GET", **more)

    def traces(self) -> tuple[Trace, ...]:
        return assemble(self.exchanges)

    def steps(self) -> tuple[Step, ...]:
        (trace,) = self.traces()
        return trace.steps


@pytest.fixture
def wire() -> Wire:
    return Wire()


def user(text: str) -> Fields:
    return {"role": "user", "content": text}


def said(text: str) -> Fields:
    return {"role": "assistant", "content": text}


def system(text: str) -> Fields:
    return {"role": "system", "content": text}


def calls(*named: tuple[str | None, str, object], text: str | None = None) -> Fields:
    asked = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for call_id, name, arguments in named
    ]
    return {"role": "assistant", "content": text, "tool_calls": asked}


def told(call_id: str | None, content: object) -> Fields:
    return {"role": "tool", "tool_call_id": call_id, "content": json.dumps(content)}


def brief(steps: Sequence[Step], internal: bool = False) -> list[tuple[Any, ...]]:
    """Give what matters of steps; internal ones only where asked for."""
    return [
        (step.actor, step.action, step.target or step.content)
        for step in steps
        if internal or step.visibility is Visibility.USER
    ]


U1, U2 = user("Where is my order?"), user("It is 12345")
A1, A2 = said("Which number?"), said("It is on its way.")
ORDER: Fields = {"orderId": "12345"}
SHIPPED: Fields = {"status": "shipped"}
WHOLE = [
    ("user", "says", "Where is my order?"),
    ("assistant", "responds", "Which number?"),
    ("user", "says", "It is 12345"),
    ("assistant", "calls", "get_order"),
    ("tool", "responds", "get_order"),
    ("assistant", "responds", "It is on its way."),
]


def play(wire: Wire, agent: bool = True, llm: bool = True, tool: str | None = "mcp") -> None:
    """Record the order conversation, on the channels that are named."""
    call, answer = calls(("c1", "get_order", ORDER)), told("c1", SHIPPED)
    prompt = system("You help with orders.")
    if agent:
        wire.agent([U1], A1, 0, 100)
    if llm:
        wire.llm([prompt, U1], A1, 10, 50)
    if agent:
        wire.agent([U1, A1, U2], A2, 200, 300)
    if llm:
        wire.llm([prompt, U1, A1, U2], call, 210, 50)
    if tool == "mcp":
        wire.mcp("get_order", ORDER, SHIPPED, 300, 40)
    if tool == "rest":
        wire.get("/orders/12345?full=1", SHIPPED | {"id": "12345"}, 300, 40)
    if llm:
        wire.llm([prompt, U1, A1, U2, call, answer], A2, 400, 50)


def test_a_models_conversation_tells_each_step_once(wire: Wire) -> None:
    play(wire, agent=False, tool=None)
    steps = wire.steps()
    assert brief(steps) == [("system", "says", "You help with orders."), *WHOLE]
    assert [step.seq for step in steps] == list(range(1, 8))


@pytest.mark.parametrize("tool", ["mcp", "rest", None])
@pytest.mark.parametrize("agent", [True, False])
def test_a_call_seen_on_several_channels_is_one_step(wire: Wire, agent: bool, tool: str | None) -> None:
    play(wire, agent=agent, tool=tool)
    steps = [step for step in wire.steps() if step.actor != "system"]
    assert brief(steps, internal=True) == WHOLE
    call, answer = steps[3], steps[4]
    assert (call.arguments, call.call_id) == (ORDER, "c1")
    assert (answer.content, answer.call_id) == (SHIPPED, "c1")
    seen = {source.exchange for source in call.sources}
    assert len(seen) == (2 if tool else 1)


def test_a_tool_channel_is_named_in_the_source_of_the_models_call(wire: Wire) -> None:
    play(wire, tool="rest")
    call = next(step for step in wire.steps() if step.action == "calls")
    assert call.target == "get_order"
    assert "tool:Orders GET /orders/12345?full=1" in {source.at for source in call.sources}


def test_an_agent_without_a_model_channel_shows_its_tools_calls(wire: Wire) -> None:
    play(wire, llm=False, tool="mcp")
    assert brief(wire.steps(), internal=True) == WHOLE
    call, answer = wire.steps()[3:5]
    assert call.call_id
    assert call.call_id == answer.call_id


def test_a_plain_http_call_is_named_after_its_channel(wire: Wire) -> None:
    play(wire, llm=False, tool="rest")
    call, answer = wire.steps()[3:5]
    assert (call.target, answer.target) == ("Orders", "Orders")
    assert call.arguments == {"method": "GET", "path": "/orders/12345", "full": "1"}
    assert answer.content == SHIPPED | {"id": "12345"}


def test_times_count_from_the_first_exchange_to_where_a_step_was_complete(wire: Wire) -> None:
    play(wire)
    steps = [step for step in wire.steps() if step.actor != "system"]
    assert [step.at_ms for step in steps] == pytest.approx([0, 100, 200, 260, 340, 500], abs=0.1)
    assert [step.duration_ms for step in steps] == pytest.approx([None, 100, None, None, 40, 300], abs=0.1)


def test_model_and_usage_stand_on_the_words_they_paid_for(wire: Wire) -> None:
    play(wire)
    counted = {step.action: (step.model, step.usage) for step in wire.steps() if step.usage}
    assert counted == {
        "responds": ("gpt-4o-2024", Usage(7, 3)),
        "calls": ("gpt-4o-2024", Usage(7, 3)),
    }


def test_model_text_that_never_reached_the_user_is_internal(wire: Wire) -> None:
    wire.agent([U1], A1, 0, 100)
    wire.llm([U1], said("Draft: ask for the number"), 10, 20)
    wire.llm([user("Rephrase politely: Draft: ask for the number")], A1, 40, 20)
    assert brief(wire.steps()) == WHOLE[:2]
    assert brief(wire.steps(), internal=True) == [
        WHOLE[0],
        ("assistant", "responds", "Draft: ask for the number"),
        ("system", "says", "Rephrase politely: Draft: ask for the number"),
        WHOLE[1],
    ]


def test_what_the_runner_answers_to_an_agents_call_is_the_tools_step(wire: Wire) -> None:
    call = calls(("call_1", "Order MCP", ORDER))
    wire.agent([U2], call, 0)
    wire.agent([U2, call, told("call_1", SHIPPED)], A2, 20)
    assert brief(wire.steps()) == [
        ("user", "says", "It is 12345"),
        ("assistant", "calls", "Order MCP"),
        ("tool", "responds", "Order MCP"),
        ("assistant", "responds", "It is on its way."),
    ]
    assert wire.steps()[2].content == SHIPPED


def test_an_agent_that_gives_every_call_the_same_id_still_makes_two_calls(wire: Wire) -> None:
    first, second = calls(("call_1", "find", {"n": 1})), calls(("call_1", "find", {"n": 2}))
    history = [U1, first, told("call_1", "a")]
    wire.agent([U1], first, 0)
    wire.agent(history, second, 20)
    wire.agent([*history, second, told("call_1", "b")], A2, 40)
    asked = [step for step in wire.steps() if step.target == "find"]
    assert [(step.arguments, step.content) for step in asked] == [
        ({"n": 1}, None),
        (None, '"a"'),
        ({"n": 2}, None),
        (None, '"b"'),
    ]


def test_parallel_calls_share_a_group_and_keep_their_answers_apart(wire: Wire) -> None:
    both = calls(("c1", "get_order", {"id": "1"}), ("c2", "get_order", {"id": "2"}))
    wire.llm([U1], both, 0, 10)
    wire.mcp("get_order", {"id": "2"}, {"n": 2}, 20, 30)
    wire.mcp("get_order", {"id": "1"}, {"n": 1}, 21, 10)
    wire.llm([U1, both, told("c1", {"n": 1}), told("c2", {"n": 2})], A2, 60)
    steps = wire.steps()
    asked = [step for step in steps if step.action == "calls"]
    assert [step.call_id for step in asked] == ["c1", "c2"]
    assert asked[0].parallel_group is not None
    assert asked[0].parallel_group == asked[1].parallel_group
    answered = [(step.call_id, step.content) for step in steps if step.actor == "tool"]
    assert answered == [("c1", {"n": 1}), ("c2", {"n": 2})]


def test_calls_of_one_rest_channel_side_by_side_are_each_served_by_their_own_request(wire: Wire) -> None:
    both = calls(
        ("c1", "list_orders", {}), ("c2", "cancel_order", {"id": "8"}), ("c3", "create_order", {"n": "x"})
    )
    wire.llm([U1], both, 0)
    wire.add(ORDERS, "/orders", {"n": "x"}, {"made": 1}, 20)
    wire.add(ORDERS, "/orders/8", None, {"gone": 8}, 30, method="DELETE")
    wire.get("/orders", [7, 8], 40)
    wire.llm([U1, both, told("c1", [7]), told("c2", 8), told("c3", 1)], A1, 60)
    served = {step.target: step.sources[1].at for step in wire.steps() if step.action == "calls"}
    assert served == {
        "list_orders": "tool:Orders GET /orders",
        "cancel_order": "tool:Orders DELETE /orders/8",
        "create_order": "tool:Orders POST /orders",
    }


def test_an_empty_answer_that_the_agent_passes_on_is_one_step(wire: Wire) -> None:
    wire.agent([U1], said(""), 0, 100)
    wire.llm([U1], said(""), 10, 50)
    (_, reply) = wire.steps()
    assert (reply.content, reply.visibility, len(reply.sources)) == ("", Visibility.USER, 2)


def test_polls_are_one_call_that_answers_what_the_model_was_told(wire: Wire) -> None:
    call = calls(("c1", "make_report", {"customer": "K-77"}))
    wire.llm([U1], call, 0)
    wire.add(ORDERS, "/reports", {"customer": "K-77"}, {"job": "j-9"}, 20, status=202)
    wire.get("/reports/j-9", {"state": "running"}, 40)
    wire.get("/reports/j-9", {"state": "done", "url": "u"}, 60)
    wire.llm([U1, call, told("c1", {"url": "u"})], A2, 80)
    steps = wire.steps()
    assert brief(steps)[1:3] == [("assistant", "calls", "make_report"), ("tool", "responds", "make_report")]
    assert len(steps) == 4
    assert steps[2].content == {"url": "u"}
    assert {source.exchange for source in steps[2].sources} == {"x2", "x3", "x4", "x5"}
    assert steps[2].duration_ms == pytest.approx(50, abs=0.1)


def test_polls_that_no_model_was_told_of_answer_with_the_last(wire: Wire) -> None:
    wire.llm([U1], calls(("c1", "get_order", ORDER)), 0)
    wire.get("/orders/12345", {"status": "pending"}, 20)
    wire.get("/orders/12345", SHIPPED, 40)
    assert [step.content for step in wire.steps() if step.actor == "tool"] == [SHIPPED]


def test_an_http_call_that_no_model_asked_for_stands_for_itself(wire: Wire) -> None:
    wire.llm([U1], calls(("c1", "get_order", ORDER)), 0)
    wire.get("/orders/12345", SHIPPED, 20)
    wire.get("/weather?city=Oslo", {"sky": "grey"}, 40)
    targets = [(step.action, step.target) for step in wire.steps()[1:]]
    assert targets == [
        ("calls", "get_order"),
        ("responds", "get_order"),
        ("calls", "Orders"),
        ("responds", "Orders"),
    ]


def test_a_use_after_the_model_was_told_is_another_call(wire: Wire) -> None:
    play(wire, agent=False, tool="mcp")
    wire.mcp("get_order", ORDER, SHIPPED, 900)
    assert [step.action for step in wire.steps() if step.target == "get_order"] == ["calls", "responds"] * 2


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_request_that_is_tried_again_counts_once(wire: Wire, status: int) -> None:
    wire.llm([U1], None, 0, status=status)
    wire.llm([U1], None, 20, status=status)
    wire.llm([U1], A1, 40)
    assert brief(wire.steps(), internal=True) == WHOLE[:2]


@pytest.mark.parametrize("status", [400, 401, 404])
def test_a_request_that_was_refused_for_good_stands_beside_the_same_one_later(
    wire: Wire, status: int
) -> None:
    wire.llm([U1], None, 0, status=status)
    wire.llm([U1], A1, 40)
    refused, answered = wire.traces()
    assert [step.action for step in refused.steps] == ["says", "fails"]
    assert brief(answered.steps, internal=True) == WHOLE[:2]


def test_a_request_whose_connection_failed_and_is_tried_again_counts_once(wire: Wire) -> None:
    wire.agent([U1], None, 0, outcome=Outcome.REFUSED)
    wire.agent([U1], A1, 40)
    assert brief(wire.steps(), internal=True) == WHOLE[:2]


def test_a_tool_that_is_tried_again_is_one_call(wire: Wire) -> None:
    wire.agent([U2], A2, 0, 100)
    wire.get("/orders/12345", {"error": "later"}, 10, status=503)
    wire.get("/orders/12345", SHIPPED, 30)
    steps = wire.steps()
    assert [step.action for step in steps if step.target] == ["calls", "responds"]
    assert [(step.content, step.error) for step in steps if step.actor == "tool"] == [(SHIPPED, None)]


def test_a_failure_that_nobody_mends_is_told_and_is_nobodys_answer(wire: Wire) -> None:
    wire.agent([U1], None, 0, status=500)
    said_, failed = wire.steps()
    assert (said_.actor, failed.actor, failed.action) == ("user", "system", "fails")
    assert failed.error == "HTTP 500: boom"


def test_a_failing_tool_answers_with_an_error(wire: Wire) -> None:
    wire.agent([U1], A1, 0, 100)
    wire.get("/orders/12345", {"detail": "no such order"}, 10, status=404)
    answer = next(step for step in wire.steps() if step.actor == "tool")
    assert (answer.content, answer.error) == ({"detail": "no such order"}, "HTTP 404: no such order")


def test_two_runs_of_one_session_are_two_traces(wire: Wire) -> None:
    for start in (0, 1000):
        wire.llm([U1], A1, start)
        wire.llm([U1, A1, U2], A2, start + 100)
    first, second = wire.traces()
    assert brief(first.steps) == brief(second.steps)
    assert first.id != second.id
    assert len(first.steps) == 4


def test_parallel_conversations_stay_apart_by_their_words(wire: Wire) -> None:
    oslo, rome = user("Weather in Oslo?"), user("Weather in Rome?")
    wire.agent([oslo], said("Grey"), 0, 200)
    wire.agent([rome], said("Blue"), 5, 200)
    for at, words, city in ((10, rome, "Rome"), (12, oslo, "Oslo")):
        wire.llm([system("Be brief"), words], calls((city, "weather", {"city": city})), at, 5)
    wire.mcp("weather", {"city": "Oslo"}, "grey", 30, 5)
    wire.mcp("weather", {"city": "Rome"}, "blue", 32, 5)
    for at, words, city, reply in ((50, rome, "Rome", "Blue"), (52, oslo, "Oslo", "Grey")):
        call = calls((city, "weather", {"city": city}))
        wire.llm([system("Be brief"), words, call, told(city, "x")], said(reply), at, 5)
    first, second = wire.traces()
    for trace, city, reply in ((first, "Oslo", "Grey"), (second, "Rome", "Blue")):
        steps = [step for step in trace.steps if step.actor != "system"]
        assert brief(steps, internal=True) == [
            ("user", "says", f"Weather in {city}?"),
            ("assistant", "calls", "weather"),
            ("tool", "responds", "weather"),
            ("assistant", "responds", reply),
        ]
        assert steps[1].arguments == {"city": city}


def test_an_explicit_session_id_keeps_like_conversations_apart(wire: Wire) -> None:
    for at, session in ((0, "s1"), (5, "s2")):
        wire.agent([U1], A1, at, 100, headers={"X-ABS-Session": session})
        wire.llm([U1], A1, at + 20, 5, headers={"x-abs-session": session})
    for at, session in ((200, "s2"), (205, "s1")):
        wire.agent([U1, A1, U2], A2, at, 100, headers={"x-abs-session": session})
    traces = wire.traces()
    assert [brief(trace.steps, internal=True) for trace in traces] == [[*WHOLE[:3], WHOLE[5]]] * 2
    assert [step.sources[0].exchange for trace in traces for step in trace.steps if step.actor == "user"] == [
        "x1",
        "x6",
        "x3",
        "x5",
    ]


def test_a_trace_id_ties_a_models_request_to_its_agents(wire: Wire) -> None:
    for at, trace in ((0, "a"), (1, "b")):
        parent = f"00-{trace * 32}-{'1' * 16}-01"
        wire.agent([U1], said(trace), at, 100, headers={"traceparent": parent})
    for at, trace in ((10, "b"), (11, "a")):
        parent = f"00-{trace * 32}-{'2' * 16}-01"
        wire.llm([user("?")], said(f"think {trace}"), at, 5, headers={"traceparent": parent})
    thoughts = [[s.content for s in t.steps if str(s.content).startswith("think")] for t in wire.traces()]
    assert thoughts == [["think a"], ["think b"]]


def test_an_agent_that_keeps_the_history_itself_is_followed_by_its_session(wire: Wire) -> None:
    same = {"x-abs-session": "s"}
    wire.agent([U1], A1, 0, headers=same)
    wire.agent([user("yes")], said("More?"), 20, headers=same)
    wire.agent([user("yes")], A2, 40, headers=same)
    assert [step.content for step in wire.steps() if step.actor == "user"] == [
        "Where is my order?",
        "yes",
        "yes",
    ]


def test_an_imported_history_is_told(wire: Wire) -> None:
    wire.llm([U1, A1, U2], A2, 0)
    assert brief(wire.steps()) == [*WHOLE[:3], WHOLE[5]]


def test_an_edited_echo_does_not_double_the_reply(wire: Wire) -> None:
    both = calls(("c1", "a", {}), ("c2", "b", {}), text="Let me look.")
    echoed = calls(("c1", "a", {}))
    wire.llm([U1], both, 0)
    wire.llm([U1, echoed, told("c1", "x")], A2, 20)
    assert brief(wire.steps()) == [
        WHOLE[0],
        ("assistant", "responds", "Let me look."),
        ("assistant", "calls", "a"),
        ("assistant", "calls", "b"),
        ("tool", "responds", "a"),
        WHOLE[5],
    ]


def test_a_changed_system_prompt_does_not_break_a_conversation(wire: Wire) -> None:
    wire.llm([system("It is 10:00"), U1], A1, 0)
    wire.llm([system("It is 10:01"), U1, A1, U2], A2, 20)
    steps = wire.steps()
    assert [step.content for step in steps if step.actor == "system"] == ["It is 10:00", "It is 10:01"]
    assert brief([step for step in steps if step.actor != "system"]) == [*WHOLE[:3], WHOLE[5]]


def test_a_sub_agents_thread_within_a_call_is_internal(wire: Wire) -> None:
    parent = {"traceparent": f"00-{'a' * 32}-{'1' * 16}-01"}
    call = calls(("c1", "research", {"topic": "orders"}))
    wire.llm([U1], call, 0, headers=parent)
    wire.llm([user("Research: orders")], said("Found it"), 20, headers=parent)
    wire.llm([U1, call, told("c1", "Found it")], A2, 40, headers=parent)
    assert brief(wire.steps()) == [
        WHOLE[0],
        ("assistant", "calls", "research"),
        ("tool", "responds", "research"),
        WHOLE[5],
    ]


def test_a_recording_gives_its_traces_session_tags_and_name(wire: Wire) -> None:
    play(wire)
    tags = {"agent_version": "1.4.2"}
    recording = Recording("r1", "by hand", 1000, session="Refund", tags=tags)
    (trace,) = assemble(wire.exchanges, recording)
    assert (trace.session, trace.recording, trace.tags, trace.agent_version) == (
        "Refund",
        "r1",
        tags,
        "1.4.2",
    )
    assert trace.started_at == 1000
    assert trace.id.startswith("t-")
    assert len(trace.id) == 14


def test_neither_order_nor_repetition_of_exchanges_changes_a_trace(wire: Wire) -> None:
    play(wire)
    assert assemble([*reversed(wire.exchanges), *wire.exchanges]) == wire.traces()


def test_tools_alone_are_a_trace_and_nothing_is_none(wire: Wire) -> None:
    assert wire.traces() == ()
    wire.add(Channel(Role.LLM, "x"), "/unknown", {"a": 1}, {"b": 2}, 0)
    assert wire.traces() == ()
    wire.mcp("get_order", ORDER, SHIPPED, 10)
    assert brief(wire.steps()) == WHOLE[3:5]


def test_a_client_that_keeps_words_alone_goes_on_with_its_conversation(wire: Wire) -> None:
    call = calls(("c1", "get_order", ORDER))
    wire.llm([U1], call, 0)
    wire.llm([U1, call, told("c1", SHIPPED)], A1, 20)
    wire.llm([U1, A1, U2], A2, 40)
    assert brief(wire.steps()) == [WHOLE[0], WHOLE[3], WHOLE[4], *WHOLE[1:3], WHOLE[5]]


def test_equal_parallel_conversations_share_models_and_tools_out(wire: Wire) -> None:
    call = calls(("c1", "policy", {"topic": "returns"}))
    for at in (0, 1):
        wire.agent([U1], A1, at, 100)
    for at in (10, 12):
        wire.llm([U1], call, at, 2)
    for at in (30, 31):
        wire.mcp("policy", {"topic": "returns"}, "30 days", at, 5)
    for at in (50, 51):
        wire.llm([U1, call, told("c1", "30 days")], A1, at, 5)
    for trace in wire.traces():
        assert brief(trace.steps, internal=True) == [
            WHOLE[0],
            ("assistant", "calls", "policy"),
            ("tool", "responds", "policy"),
            WHOLE[1],
        ]
        assert [len(step.sources) for step in trace.steps] == [2, 2, 2, 2]


def test_parallel_model_conversations_get_their_own_tools(wire: Wire) -> None:
    for at, city in ((0, "Oslo"), (1, "Rome")):
        wire.llm([user(f"Weather in {city}?")], calls((f"c-{city}", "weather", {"city": city})), at, 5)
    wire.get("/weather?city=Rome", {"sky": "blue"}, 20)
    wire.get("/weather?city=Oslo", {"sky": "grey"}, 21)
    contents = [[step.content for step in trace.steps if step.actor == "tool"] for trace in wire.traces()]
    assert contents == [[{"sky": "grey"}], [{"sky": "blue"}]]


def test_calls_that_only_a_clients_history_shows_are_told_before_the_reply_they_led_to(wire: Wire) -> None:
    call = calls(("c1", "get_order", ORDER))
    wire.agent([U1], A1, 0)
    wire.agent([U1, call, told("c1", SHIPPED), A1, U2], A2, 20)
    steps = brief(wire.steps())
    assert sorted(steps, key=str) == sorted(WHOLE, key=str)
    assert [step for step in steps if step[0] == "user"] == [WHOLE[0], WHOLE[2]]


turns = st.lists(
    st.tuples(
        st.sampled_from(["hi", "yes", "go on", "why?"]),
        st.lists(st.lists(st.sampled_from(["f", "g"]), min_size=1, max_size=2), max_size=2),
        st.sampled_from(["yes", "no", "done"]),
    ),
    min_size=1,
    max_size=4,
)


@given(turns, st.booleans(), st.booleans())
def test_whatever_is_said_is_told_once_and_in_order(
    script: list[tuple[str, list[list[str]], str]], fails: bool, keeps_calls: bool
) -> None:
    """Plays a script as a client does that sends the whole history, and reads it back."""
    wire, at, wanted = Wire(), 0, list[tuple[Any, ...]]()
    history: list[Fields] = []
    for words, rounds, reply in script:
        history.append(user(words))
        wanted.append(("user", "says", words))
        kept = list(history)
        for names in rounds:
            asked = calls(*((f"c{at}.{i}", name, {"at": at, "i": i}) for i, name in enumerate(names)))
            wire.llm(history, asked, at, 5)
            history += [asked, *(told(f"c{at}.{i}", {"ok": i}) for i in range(len(names)))]
            wanted += [("assistant", "calls", name) for name in names]
            wanted += [("tool", "responds", name) for name in names]
            at += 10
        if fails:
            wire.llm(history, None, at, 5, status=503)
            at += 10
        wire.llm(history, said(reply), at, 5)
        history = [*(history if keeps_calls else kept), said(reply)]
        wanted.append(("assistant", "responds", reply))
        at += 10
    assert brief(wire.steps(), internal=True) == wanted
