"""What is pre-selected at a moment is what asking every conversation would give; what no model asked for
belongs where it lies in time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.assembly.conversations import Conversation
from abs_replay.assembly.nearness import Awaiting, Running
from abs_replay.assembly.pool import Line
from abs_replay.assembly.sightings import Seen, by_time
from abs_replay.decoders import Call, Decoded, Message, ToolUse, Turn
from abs_replay.exchange import Channel, Exchange, Request, Role
from tests.assembly.wire import A1, A2, LOOK, U1, U2, Wire, said

MOMENTS = st.integers(0, 20).map(float)
MINUTE = 60_000.0
ASKED = "no model asked for it: it "
type Told = tuple[int, float, float, bool]


def seen(number: int, start: float, took: float, calls: bool) -> Seen:
    reply = Message("assistant", "x", (Call("f"),) if calls else ())
    turn = Turn((Message("user", f"u{number}"),), reply)
    exchange = Exchange(f"x{number}", Channel(Role.AGENT, "agent"), start / 1000, Request("POST", "/"))
    decoded, line = Decoded("chat_contract"), Line.of(turn.history)
    return Seen(exchange, decoded, turn, start, start + took, line, (), None, None, False)


@given(st.lists(st.tuples(st.integers(0, 3), MOMENTS, MOMENTS, st.booleans())), st.lists(MOMENTS))
def test_preselection_gives_what_asking_every_conversation_gives(
    told: list[Told], moments: list[float]
) -> None:
    conversations = [Conversation(None, Role.AGENT) for _ in range(4)]
    placed = [(home, seen(i, start, took, calls)) for i, (home, start, took, calls) in enumerate(told)]
    for home, one in sorted(placed, key=lambda pair: by_time(pair[1])):
        conversations[home].place(one)
    running, awaiting = Running(conversations), Awaiting(conversations)
    for moment in sorted(moments):
        assert running.at(moment) == [
            c for c in conversations if any(t.seen.start <= moment <= t.seen.end for t in c.turns)
        ]
        assert awaiting.at(moment) == [c for c in conversations if c.open_calls(moment)]


def two_runs(*uses: float) -> Wire:
    """Two conversations, each of two turns a minute apart, 21 minutes after each other; and calls."""
    wire = Wire()
    for start in (0.0, 21 * MINUTE):
        wire.turn([U1], A1, start)
        wire.turn([U1, A1, U2], A2, start + MINUTE)
    for at in uses:
        wire.add(Decoded("rest", uses=(ToolUse("api", {"path": "/info"}, "ok"),)), at, Role.TOOL)
    return wire


@pytest.mark.parametrize(
    ("at", "home", "why"),
    [
        (MINUTE / 2, 0, "lies within the conversation"),
        (MINUTE + 10 + 2000, 0, "came 2.0 s after the conversation"),
        (21 * MINUTE - 1010, 1, "came 1.0 s before the conversation"),
        (22 * MINUTE, 1, "lies within the conversation"),
        (16 * MINUTE - 10, 1, "came 300.0 s before the conversation"),
        (6 * MINUTE + 10, 0, "came 300.0 s after the conversation"),
        (6 * MINUTE + 11, None, ""),
        (27 * MINUTE + 11, None, ""),
    ],
)
def test_a_call_that_no_model_asked_for_is_of_the_conversation_that_is_nearest_in_time(
    at: float, home: int | None, why: str
) -> None:
    account = two_runs(at).account()
    fate = next(fate for fate in account.fates if fate.exchange == "x5")
    calls = [sum(step.action == "calls" for step in trace.steps) for trace in account.traces]
    assert calls == [int(home == 0), int(home == 1)]
    left = "rest: no model asked for it, and no conversation is near it in time"
    assert fate.why == (ASKED + why if why else left)


def test_calls_that_no_model_asked_for_do_not_draw_out_a_conversation() -> None:
    account = two_runs(*(MINUTE * minutes for minutes in (5, 9, 13))).account()
    assert [fate.why[:33] for fate in account.fates if fate.exchange in ("x6", "x7")] == [
        "rest: no model asked for it, and ",
        "rest: no model asked for it, and ",
    ]


def test_a_call_of_two_conversations_as_near_is_of_the_one_that_begins_next() -> None:
    wire = Wire()
    wire.turn([U1], A1, 0)
    wire.turn([U2], A2, 2030)
    wire.add(Decoded("rest", uses=(ToolUse("api", {"path": "/info"}, "ok"),)), 1015, Role.TOOL)
    assert [len(trace.steps) for trace in wire.account().traces] == [2, 4]


def test_a_call_near_what_carried_out_a_models_call_is_of_that_conversation() -> None:
    wire = Wire()
    wire.turn([U1], said(None, LOOK), 0)
    wire.add(Decoded("mcp", uses=(ToolUse("look", {"n": 1}, "seen"),)), 8 * MINUTE, Role.TOOL)
    wire.add(Decoded("rest", uses=(ToolUse("api", {"path": "/info"}, "ok"),)), 9 * MINUTE, Role.TOOL)
    (trace,) = wire.account().traces
    assert [step.target for step in trace.steps if step.action == "calls"] == ["look", "api"]


def test_a_protocols_session_ties_a_call_however_late_but_not_out_of_another_conversation() -> None:
    wire = two_runs()
    wire.add(Decoded("mcp", session="m"), 10.0, Role.TOOL)
    for at in (10 * MINUTE, 21.5 * MINUTE):
        wire.add(Decoded("mcp", uses=(ToolUse("look", {}, "seen"),), session="m"), at, Role.TOOL)
    first, second = wire.account().traces
    assert [sum(s.action == "calls" for s in trace.steps) for trace in (first, second)] == [1, 1]


def test_calls_alone_are_one_conversation_however_far_apart() -> None:
    wire = Wire()
    for at in (0.0, 60 * MINUTE):
        wire.add(Decoded("rest", uses=(ToolUse("api", {"path": "/info"}, "ok"),)), at, Role.TOOL)
    assert len(wire.steps()) == 4
