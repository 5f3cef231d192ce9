"""WebSockets play in recorded order, and say which message of the client's was not recorded."""

import json
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.exchange import (
    Body,
    Channel,
    Exchange,
    Message,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    WebSocket,
)
from abs_replay.player import Miss, Player, Reason
from abs_replay.player.miss import explain
from abs_replay.server import ReplayServer
from abs_replay.server.live import Live
from abs_replay.spec.faults import FaultRule, Faults
from abs_replay.spec.ignoring import Ignore

LLM = Channel(Role.LLM, "openai")
UPGRADED = (("upgrade", "websocket"), ("sec-websocket-protocol", "realtime"))
U = [str(uuid.UUID(int=number)) for number in range(4)]

type Serve = Callable[..., ReplayServer]
type Said = tuple[str, Any]


def socket(*said: Said, code: int | None = 1000, by_client: bool | None = False, **more: Any) -> Exchange:
    messages = [
        Message(who == "client", data, is_text, 10.0 * n)
        for n, (who, what) in enumerate(said)
        for data, is_text in [(what, False) if isinstance(what, bytes) else (json.dumps(what).encode(), True)]
    ]
    talk = WebSocket(tuple(messages), code, "done" if code and code < 4999 else "", by_client)
    request = Request("GET", "/v1/realtime?model=m")
    return Exchange("talk", LLM, 0.0, request, Response(101, UPGRADED), websocket=talk, **more)


@pytest.fixture
def misses() -> list[Miss]:
    return []


@pytest.fixture
def serve(misses: list[Miss]) -> Iterator[Serve]:
    servers: list[ReplayServer] = []

    def start(*exchanges: Exchange, ignore: tuple[Ignore, ...] = (), **options: Any) -> ReplayServer:
        cassette = loads(dumps(Cassette(Recording("r", "n", 0.0), exchanges)))
        server = ReplayServer(Player(cassette, ignore=ignore), on_miss=misses.append, **options)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


def opened(server: ReplayServer, path: str = "/v1/realtime?model=m", **options: Any) -> ClientConnection:
    address = server.addresses()[LLM].replace("http", "ws", 1) + path
    client: ClientConnection = connect(address, proxy=None, **options)
    return client


def closing(client: ClientConnection) -> tuple[int, str]:
    with pytest.raises(ConnectionClosed) as closed:
        client.recv(timeout=5)
    return (closed.value.rcvd.code, closed.value.rcvd.reason) if closed.value.rcvd else (1006, "")


def ask(text: str, event: str = "e1", **more: Any) -> dict[str, Any]:
    return {"type": "item", "event_id": event, "text": text, **more}


TALK = (
    ("server", {"type": "session.created"}),
    ("client", ask("hi")),
    ("server", {"type": "delta", "text": "hel"}),
    ("server", b"\x00\xff"),
    ("client", ask("bye", "e2")),
    ("server", {"type": "delta", "text": "bye"}),
)


def test_both_sides_speak_in_recorded_order_and_the_code_is_the_recorded_one(
    serve: Serve, misses: list[Miss]
) -> None:
    with opened(serve(socket(*TALK, code=4001)), subprotocols=["other", "realtime"]) as client:
        assert client.subprotocol == "realtime"
        assert json.loads(client.recv()) == {"type": "session.created"}
        with pytest.raises(TimeoutError):
            client.recv(timeout=0.05)
        client.send('{"text":"hi", "type":"item","event_id":"fresh"}')
        assert json.loads(client.recv()) == {"type": "delta", "text": "hel"}
        assert client.recv() == b"\x00\xff"
        client.send(json.dumps(ask("bye", "fresh 2")))
        assert json.loads(client.recv()) == {"type": "delta", "text": "bye"}
        assert closing(client) == (4001, "done")
    assert misses == []


def test_a_message_that_nobody_recorded_there_closes_and_is_a_miss_with_what_differs(
    serve: Serve, misses: list[Miss]
) -> None:
    exchange = socket(*TALK)
    with opened(serve(exchange)) as client:
        client.recv()
        client.send(json.dumps(ask("hello")))
        assert closing(client)[0] == 1008
    (miss,) = misses
    assert miss.reason is Reason.MESSAGE
    said = explain(miss, [exchange])
    assert "GET /v1/realtime?model=m on llm:openai: a message on its WebSocket that nobody recorded" in said
    assert 'body.text: recorded "hi", asked "hello"' in said


@pytest.mark.parametrize("extra", ["more", b"more"])
def test_what_is_said_after_the_last_recorded_message_is_a_miss(
    serve: Serve, misses: list[Miss], extra: str | bytes
) -> None:
    with opened(serve(socket(("client", ask("hi")), by_client=True))) as client:
        client.send(json.dumps(ask("hi")))
        client.send(extra)
        assert closing(client)[0] == 1008
    assert [miss.reason for miss in misses] == [Reason.MESSAGE]


def test_fresh_ids_are_renamed_one_to_one_over_the_whole_conversation(
    serve: Serve, misses: list[Miss]
) -> None:
    said = [("client", ask("a", item=U[0])), ("client", ask("b", item=U[0])), ("server", {"n": 1})]
    with opened(serve(socket(*said), socket(*said))) as client:
        client.send(json.dumps(ask("a", item=U[2])))
        client.send(json.dumps(ask("b", item=U[2])))
        assert json.loads(client.recv(timeout=5)) == {"n": 1}
    assert misses == []


def test_another_fresh_id_is_not_taken_for_the_same_one(serve: Serve, misses: list[Miss]) -> None:
    said = [("client", ask("a", item=U[0])), ("client", ask("b", item=U[0])), ("server", {"n": 1})]
    with opened(serve(socket(*said))) as client:
        client.send(json.dumps(ask("a", item=U[2])))
        client.send(json.dumps(ask("b", item=U[3])))
        assert closing(client)[0] == 1008
    assert len(misses) == 1


def test_what_the_configuration_ignores_does_not_count(serve: Serve, misses: list[Miss]) -> None:
    with opened(serve(socket(("client", ask("a", n=1))), ignore=(Ignore(json=("n",)),))) as client:
        client.send(json.dumps(ask("a", n=2)))
        assert closing(client) == (1000, "done")
    assert misses == []


def test_where_no_close_frame_came_none_comes(serve: Serve, misses: list[Miss]) -> None:
    with opened(serve(socket(("server", {"n": 1}), code=1006, outcome=Outcome.UPSTREAM_CLOSED))) as client:
        client.recv(timeout=5)
        assert closing(client) == (1006, "")
    assert misses == []


def test_a_client_that_closed_may_close_when_it_likes(serve: Serve, misses: list[Miss]) -> None:
    with opened(serve(socket(("server", {"n": 1}), by_client=True))) as client:
        client.recv(timeout=5)
        time.sleep(0.05)
    assert misses == []


def test_every_scope_and_every_recorded_time_plays_once(serve: Serve, misses: list[Miss]) -> None:
    server = serve(socket(("server", {"n": 1})), socket(("server", {"n": 2})))
    for expected in ({"n": 1}, {"n": 2}):
        with opened(server) as client:
            assert json.loads(client.recv(timeout=5)) == expected
    with pytest.raises(InvalidStatus) as refused:
        opened(server)
    assert refused.value.response.status_code == 422
    assert [miss.reason for miss in misses] == [Reason.USED_UP]


def test_an_opening_that_was_refused_is_refused_again(serve: Serve, misses: list[Miss]) -> None:
    refusal = Response(401, (("content-type", "text/plain"),), Body(b"no key"))
    refused = Exchange("no", LLM, 0.0, Request("GET", "/v1/other"), refusal)
    with pytest.raises(InvalidStatus) as error:
        opened(serve(socket(*TALK), refused), "/v1/other")
    assert (error.value.response.status_code, error.value.response.body) == (401, b"no key")
    assert misses == []


def test_messages_keep_their_pace_where_it_is_asked_for(serve: Serve) -> None:
    said = [("server", {"n": number}) for number in range(11)]
    begun = time.monotonic()
    with opened(serve(socket(*said), speed=1.0)) as client:
        for _ in said:
            client.recv(timeout=5)
    assert time.monotonic() - begun >= 0.09


def test_a_cut_breaks_off_after_so_many_messages_and_who_comes_again_hears_all(
    serve: Serve, misses: list[Miss]
) -> None:
    said = [("server", {"n": number}) for number in range(3)]
    server = serve(socket(*said), faults=Faults((FaultRule("cut", 2, first=1),)))
    for heard, code in ((2, 1006), (3, 1000)):
        with opened(server) as client:
            assert [json.loads(client.recv(timeout=5)) for _ in range(heard)] == [
                {"n": number} for number in range(heard)
            ]
            assert closing(client)[0] == code
    assert misses == []
    assert server.faults == {"cut": 1}


@pytest.mark.parametrize("messages", [0, 9])
def test_a_cut_before_the_first_message_or_after_the_last_sends_no_close_frame(
    serve: Serve, messages: int
) -> None:
    server = serve(socket(("server", {"n": 0})), faults=Faults((FaultRule("cut", messages),)))
    with opened(server) as client:
        if messages:
            client.recv(timeout=5)
        assert closing(client) == (1006, "")


def test_a_malformed_message_is_as_long_as_it_was_and_no_json(serve: Serve) -> None:
    server = serve(socket(*TALK), faults=Faults((FaultRule("malformed", 2),)))
    with opened(server) as client:
        assert json.loads(client.recv(timeout=5)) == {"type": "session.created"}
        client.send(json.dumps(ask("hi")))
        garbled = client.recv(timeout=5)
        assert len(garbled) == len(json.dumps(TALK[2][1]))
        with pytest.raises(json.JSONDecodeError):
            json.loads(garbled)


def test_a_status_and_a_latency_come_before_the_handshake(serve: Serve, misses: list[Miss]) -> None:
    rules = FaultRule("latency", 60), FaultRule("rate_limit", 7, first=1)
    server = serve(socket(("server", {"n": 0})), faults=Faults(rules))
    begun = time.monotonic()
    with pytest.raises(InvalidStatus) as refused:
        opened(server)
    assert time.monotonic() - begun >= 0.06
    response = refused.value.response
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    with opened(server) as client:
        assert json.loads(client.recv(timeout=5)) == {"n": 0}
    assert misses == []


def test_a_websocket_on_a_channel_that_is_asked_live_is_refused_in_words(
    serve: Serve, misses: list[Miss]
) -> None:
    def ask(*_: object) -> Any:
        raise AssertionError("nothing is to be asked")

    plain = Exchange("plain", LLM, 0.0, Request("GET", "/v1/models"), Response(200))
    with pytest.raises(InvalidStatus) as refused:
        opened(serve(plain, live=Live(ask, frozenset({LLM}))))
    assert refused.value.response.status_code == 422
    assert b"not asked live" in refused.value.response.body
    assert [miss.reason for miss in misses] == [Reason.LIVE_WEBSOCKET]


def test_stopping_waits_for_no_conversation(serve: Serve) -> None:
    server = serve(socket(*TALK))
    with opened(server) as client:
        client.recv(timeout=5)
        begun = time.monotonic()
        server.stop()
        assert time.monotonic() - begun < 3
