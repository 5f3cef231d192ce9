"""Calls and what answers them, seen in several exchanges, stand once."""

from dataclasses import replace

import pytest

from abs_replay.decoders import Call, Decoded, Message, Served, Span, ToolUse, Turn
from abs_replay.exchange import Role
from tests.assembly.wire import A1, A2, LOOK, SEARCH, U1, U2, Wire, brief, parts, said, told, user


@pytest.fixture
def wire() -> Wire:
    return Wire()


def test_a_call_that_a_client_put_into_an_echo_is_told(wire: Wire) -> None:
    wire.turn([U1], said(None, LOOK), 0)
    added = Call("add", {"n": 2}, "c9")
    wire.turn([U1, said(None, LOOK, added), told("c1", "seen"), told("c9", "3")], A1, 20)
    steps = brief(wire.steps())
    assert ("assistant", "calls", "add") in steps
    assert steps.count(("tool", "responds", "add")) == 1


def test_an_id_that_a_client_made_up_is_the_calls(wire: Wire) -> None:
    bare = Call("look", {"n": 1})
    wire.turn([U1], said(None, bare), 0)
    echoed = said(None, Call("look", {"n": 1}, "made-up"))
    wire.turn([U1, echoed, told("made-up", "seen")], A1, 20)
    account = wire.account()
    (trace,) = account.traces
    assert brief(trace.steps)[1:3] == [("assistant", "calls", "look"), ("tool", "responds", "look")]
    assert account.notes[trace.id][1][-1].text == "the next request repeats it, by another id"


def test_a_tools_answer_that_a_later_history_repeats_is_told_once(wire: Wire) -> None:
    wire.turn([U1], said(None, LOOK), 0)
    history = [U1, said(None, LOOK), told("c1", "seen")]
    wire.turn(history, A1, 20)
    wire.turn([*history, A1, told("c1", "seen"), U2], A2, 40)
    answers = [step for step in wire.steps() if step.actor == "tool"]
    assert [[source.exchange for source in step.sources] for step in answers] == [["x2", "x3"]]


def test_an_answer_to_a_call_that_nobody_saw_bears_the_tools_name(wire: Wire) -> None:
    wire.turn([U1, Message("tool", "seen", call_id="c7", name="look"), U2], A1, 0)
    assert brief(wire.steps())[1] == ("tool", "responds", "look")


def test_a_served_call_whose_result_comes_again_has_both_as_sources(wire: Wire) -> None:
    wire.turn([U1], parts(SEARCH), 0)
    wire.turn([U1, parts(SEARCH), U2], parts(SEARCH, Served(Call("other", {}, "s9"), "x")), 20)
    steps = [step for step in wire.steps() if step.target == "search"]
    assert [[source.exchange for source in step.sources] for step in steps] == [["x1", "x2"], ["x1", "x2"]]


def test_a_span_of_a_turn_that_failed_is_in_its_trace(wire: Wire) -> None:
    wire.turn([U1], None, 0, error="HTTP 400", status=400, response_id="r1")
    span = Span("1", 1000.0, 1000.01, turn=Turn((), None, response_id="r1"))
    wire.add(Decoded("otlp", spans=(span,)), 500)
    assert [len(fate.traces) for fate in wire.account().fates] == [1, 1]


def test_a_model_that_no_agent_asked_has_a_conversation_of_its_own(wire: Wire) -> None:
    wire.turn([user("hello there")], A1, 100, role=Role.AGENT)
    wire.turn([user("unheard of")], A2, 0)
    wire.turn([Message("user", ["a picture"])], A2, 5000)
    traces = wire.account().traces
    assert len(traces) == 3
    assert [trace.steps[0].content for trace in traces] == ["unheard of", "hello there", ["a picture"]]


def test_a_use_that_carries_other_values_than_the_call_is_a_call_of_its_own(wire: Wire) -> None:
    wire.turn([U1], said(None, Call("look", {"n": "one"}, "c1")), 0)
    wire.add(Decoded("mcp", uses=(ToolUse("look", {"n": "two"}, "seen"),)), 20, Role.TOOL)
    assert [step.arguments for step in wire.steps() if step.action == "calls"] == [{"n": "one"}, {"n": "two"}]


def test_a_failed_attempt_behind_an_agent_is_tried_again(wire: Wire) -> None:
    exchange = wire.turn([U1], A1, 0, role=Role.AGENT)
    wire.said[0] = replace(exchange, ended_ms=200.0), wire.said[0][1]
    wire.turn([U1], None, 20, error="HTTP 503", status=503)
    wire.turn([U1], said(None, LOOK, Call("look", {"n": 2}, "c2")), 40)
    more = [said(None, LOOK, Call("look", {"n": 2}, "c2")), told("c1", "seen")]
    late = said(None, Call("late", {}, "c5"), Call("later", {}, "c6"))
    wire.turn([U1, *more, told("c2", "seen"), late], A1, 60)
    steps = wire.steps()
    assert [step.target for step in steps if step.action == "calls"] == ["look", "look", "late", "later"]
    assert next(step.retries for step in steps if step.action == "calls") == 1
    assert exchange.id in {source.exchange for source in steps[0].sources}


def test_an_answer_in_a_models_first_prompt_that_nobody_called_for_is_not_told(wire: Wire) -> None:
    wire.turn([U1], A1, 0, Role.AGENT)
    wire.turn([U1, told("c9", "an example")], A1, 1)
    assert brief(wire.steps()) == [("user", "says", "one"), ("assistant", "responds", "first")]


def test_a_use_waits_for_no_call_that_was_made_behind_it(wire: Wire) -> None:
    look = Decoded("mcp", uses=(ToolUse("look", {"n": 1}, "seen"),))
    for words, at in (("one", 0), ("other", 1)):
        wire.turn([user(words)], said("done"), at, Role.AGENT)
    wire.turn([U1], said(None, LOOK), 2)
    wire.add(look, 4, Role.TOOL)
    wire.turn([user("other")], said(None, LOOK), 6)
    first, second = wire.account().traces
    assert ("tool", "responds", "look") in brief(first.steps)
    assert ("tool", "responds", "look") not in brief(second.steps)


def test_an_answer_under_an_id_that_no_call_bears_goes_to_the_open_call_without_one(wire: Wire) -> None:
    bare = said(None, Call("look", {"n": 1}))
    wire.turn([U1], bare, 0)
    wire.turn([U1, bare, told("made-up", "seen")], A1, 20)
    assert brief(wire.steps())[2] == ("tool", "responds", "look")


def test_an_answer_without_an_id_goes_to_the_first_open_call_of_its_name(wire: Wire) -> None:
    calls = said(None, Call("look", {"n": 1}), Call("find", {"n": 2}))
    wire.turn([U1], calls, 0)
    wire.turn([U1, calls, Message("tool", "found", name="find"), Message("tool", "seen")], A1, 20)
    answers = [(step.target, step.content) for step in wire.steps() if step.actor == "tool"]
    assert answers == [("find", "found"), ("look", "seen")]
