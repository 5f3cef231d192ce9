"""A WebSocket is played in recorded order, and a client may say what it said then in other words of JSON."""

import json
import uuid
from typing import Any

import pytest

from abs_replay.cassette import Cassette
from abs_replay.exchange import Channel, Exchange, Message, Recording, Request, Response, Role, WebSocket
from abs_replay.player import Miss, Played, Player, Reason
from abs_replay.player.dialogue import Dialogue

REALTIME = Channel(Role.LLM, "openai")
U = [str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(4)]
ASKED = Request("GET", "/v1/realtime", (("upgrade", "websocket"),))


def client(said: Any) -> Message:
    return Message(True, said if isinstance(said, bytes) else json.dumps(said).encode(), True, 0.0)


def server(said: Any) -> Message:
    return Message(False, json.dumps(said).encode(), True, 0.0)


def dialogue(*messages: Message) -> Dialogue:
    return Dialogue(WebSocket(messages), REALTIME)


def test_the_server_speaks_up_to_the_clients_next_message_and_goes_on_after_it() -> None:
    hello, more, bye = (server({"type": kind}) for kind in ("hello", "more", "bye"))
    asks = client({"type": "ask"})
    talk = dialogue(hello, more, asks, bye)
    assert talk.due() == (hello, more)
    assert talk.due() == ()
    assert talk.awaited is asks
    assert talk.hear(asks.data, is_text=True)
    assert talk.due() == (bye,)
    assert talk.awaited is None
    assert not talk.hear(asks.data, is_text=True)


@pytest.mark.parametrize(
    ("recorded", "said", "heard"),
    [
        ({"type": "ask", "n": 1}, b'{"n":1,"type":"ask"}', True),
        ({"type": "ask", "event_id": "e1"}, b'{"type":"ask","event_id":"e2"}', True),
        ({"type": "ask", "event_id": "e1"}, b'{"type":"tell","event_id":"e1"}', False),
        ({"type": "ask", "n": 1}, b'{"type":"ask","n":2}', False),
        (b"plain words", b"plain words", True),
        (b"plain words", b"other words", False),
    ],
)
def test_a_message_is_heard_by_its_meaning(recorded: Any, said: bytes, heard: bool) -> None:
    talk = dialogue(client(recorded))
    assert talk.hear(said, is_text=True) is heard
    assert (talk.awaited is None) is heard


def test_bytes_are_no_text() -> None:
    assert not dialogue(client(b"words")).hear(b"words", is_text=False)


def test_a_fresh_id_stands_for_the_same_recorded_one_in_the_whole_dialogue() -> None:
    talk = dialogue(*(client({"type": kind, "item": U[0]}) for kind in ("make", "read", "drop")))
    assert talk.hear(json.dumps({"type": "make", "item": U[1]}).encode(), is_text=True)
    assert not talk.hear(json.dumps({"type": "read", "item": U[2]}).encode(), is_text=True)
    assert talk.hear(json.dumps({"type": "read", "item": U[1]}).encode(), is_text=True)


def test_an_id_that_was_recorded_stands_for_no_other() -> None:
    talk = dialogue(client({"type": "make", "item": U[0]}), client({"type": "make", "item": U[1]}))
    assert not talk.hear(json.dumps({"type": "make", "item": U[1]}).encode(), is_text=True)


# -- in a player


def opened() -> tuple[Player, Played]:
    spoken = WebSocket((client({"type": "ask", "text": "hello"}),))
    recorded = Exchange("e0", REALTIME, 0.0, ASKED, Response(101), websocket=spoken)
    player = Player(Cassette(Recording("r", "n", 0.0), (recorded,)))
    played = player.open(ASKED, REALTIME)
    assert isinstance(played, Played)
    return player, played


def test_what_nobody_said_then_is_a_miss_that_tells_what_differs() -> None:
    player, played = opened()
    talk = player.dialogue(played)
    said = b'{"type":"ask","text":"good-bye"}'
    assert not talk.hear(said, is_text=True)
    miss = player.miss_message(played, ASKED, talk, said)
    assert (miss.reason, miss.nearest, player.summary().missed) == (Reason.MESSAGE, 0, 1)
    assert [(one.recorded, one.asked) for one in miss.differences] == [('"hello"', '"good-bye"')]


def test_what_is_said_after_the_end_differs_from_nothing() -> None:
    player, played = opened()
    talk = player.dialogue(played)
    assert talk.hear(b'{"type":"ask","text":"hello"}', is_text=True)
    assert player.miss_message(played, ASKED, talk, b"{}").differences == ()


def test_a_recorded_websocket_answers_no_plain_request() -> None:
    player, _ = opened()
    player.reset()
    miss = player.play(ASKED, REALTIME)
    assert isinstance(miss, Miss)
    assert (miss.reason, miss.nearest) == (Reason.WEBSOCKET, 0)


def test_a_websocket_on_a_channel_that_is_asked_live_is_a_miss() -> None:
    player, _ = opened()
    miss = player.not_asked_live(ASKED, REALTIME)
    assert (miss.reason, miss.request.target, player.summary().misses) == (
        Reason.LIVE_WEBSOCKET,
        "/v1/realtime",
        (miss,),
    )


def test_a_miss_that_is_answered_elsewhere_does_not_count() -> None:
    player, _ = opened()
    kept, spared = (player.play(Request("GET", target), REALTIME) for target in ("/a", "/b"))
    assert isinstance(spared, Miss)
    player.spare(spared)
    assert (player.summary().missed, player.summary().misses) == (1, (kept,))


def test_an_exchange_that_is_given_back_answers_once_more_in_its_scope() -> None:
    player, played = opened()
    assert (player.was_asked(0), player.was_asked(0, "another")) == (True, False)
    assert isinstance(player.open(ASKED, REALTIME), Miss)
    player.give_back(played)
    assert not player.was_asked(0)
    assert isinstance(player.open(ASKED, REALTIME), Played)
