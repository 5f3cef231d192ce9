"""What is pre-selected at a moment is what asking every conversation would give."""

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.assembly.conversations import Conversation
from abs_replay.assembly.nearness import Awaiting, Running
from abs_replay.assembly.pool import Line
from abs_replay.assembly.sightings import Seen, by_time
from abs_replay.decoders import Call, Decoded, Message, Turn
from abs_replay.exchange import Channel, Exchange, Request, Role

MOMENTS = st.integers(0, 20).map(float)
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
