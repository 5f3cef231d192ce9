"""MCP's streams with the official client: messages of the server's own, what it asks, and resumption."""

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import httpx
import mcp as mcp_client
import pytest

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Outcome, Recording, Request, Response, Role
from abs_replay.player import Miss, Player
from abs_replay.server import ReplayServer

MCP = Channel(Role.TOOL, "mcp")
SESSION = ("mcp-session-id", "afc7799dcb6849b2b570ebe76dd445fd")
JSON = ("content-type", "application/json")
EVENTS = ("content-type", "text/event-stream")
VERSION = "2025-11-25"

type Serve = Callable[..., ReplayServer]


def message(body: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **body}).encode()


def event(body: dict[str, Any], number: int | None = None) -> bytes:
    named = b"" if number is None else f"id: {number}\n".encode()
    return b"%bevent: message\ndata: %b\n\n" % (named, message(body))


def timed(*pieces: tuple[float, bytes]) -> Body:
    data = b"".join(piece for _, piece in pieces)
    ends = [len(b"".join(piece for _, piece in pieces[: n + 1])) for n in range(len(pieces))]
    return Body(data, tuple(Chunk(end, at_ms) for end, (at_ms, _) in zip(ends, pieces, strict=True)))


def post(at: float, asked: dict[str, Any], answer: Response, in_session: bool = True) -> Exchange:
    fields = (JSON, SESSION) if in_session else (JSON,)
    request = Request("POST", "/mcp", fields, Body(message(asked)))
    return Exchange(f"{at}", MCP, at, request, replace(answer, headers=(*answer.headers, SESSION)))


def get(at: float, body: Body, *fields: tuple[str, str]) -> Exchange:
    answer = Response(200, (EVENTS, SESSION), body)
    return Exchange(
        f"{at}", MCP, at, Request("GET", "/mcp", (SESSION, *fields)), answer, Outcome.CLIENT_CLOSED
    )


def said(body: dict[str, Any], at_ms: float = 1.0) -> Response:
    return Response(200, (JSON,), timed((at_ms, message(body))))


ACCEPTED = Response(202)


def beginning(**capabilities: Any) -> list[Exchange]:
    begin = {
        "protocolVersion": VERSION,
        "capabilities": capabilities,
        "clientInfo": {"name": "mcp", "version": "0.1.0"},
    }
    server = {"protocolVersion": VERSION, "capabilities": {}, "serverInfo": {"name": "w", "version": "1"}}
    return [
        post(
            1.0,
            {"id": 91, "method": "initialize", "params": begin},
            said({"id": 91, "result": server}),
            False,
        ),
        post(2.0, {"method": "notifications/initialized"}, ACCEPTED),
    ]


def ending(at: float) -> Exchange:
    return Exchange("end", MCP, at, Request("DELETE", "/mcp", (SESSION,)), Response(200, (SESSION,)))


CALL = {"name": "weather", "arguments": {"city": "Oslo"}}
SUNNY = {"content": [{"type": "text", "text": "sunny"}], "isError": False}
HAIKU = {"role": "assistant", "content": {"type": "text", "text": "a haiku"}, "model": "m"}


def asks_the_model(number: int) -> dict[str, Any]:
    content = {"type": "text", "text": "Write a haiku"}
    params = {"messages": [{"role": "user", "content": content}], "maxTokens": 9}
    return {"id": number, "method": "sampling/createMessage", "params": params}


def noted(text: str) -> dict[str, Any]:
    return {"method": "notifications/message", "params": {"level": "info", "data": text}}


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[ReplayServer] = []

    def start(*exchanges: Exchange, **options: Any) -> ReplayServer:
        player = Player(loads(dumps(Cassette(Recording("r", "n", 0.0), exchanges))))
        server = ReplayServer(player, **options)
        PLAYERS[server] = player
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


def address(server: ReplayServer) -> str:
    return f"{server.addresses()[MCP]}/mcp"


PLAYERS: WeakKeyDictionary[ReplayServer, Player] = WeakKeyDictionary()


def unused(server: ReplayServer) -> list[str]:
    return [exchange.id for exchange in PLAYERS[server].summary().unused]


class Heard:
    """What a client was told and asked, in order, with its own doings."""

    def __init__(self) -> None:
        self.order: list[str] = []

    async def log(self, params: Any) -> None:
        self.order.append(f"told {params.data}")

    async def sample(self, context: Any, params: Any) -> Any:
        self.order.append(f"asked {params.messages[0].content.text}")
        return mcp_client.types.CreateMessageResult.model_validate(HAIKU)

    def client(self, url: str) -> Any:
        callbacks = {"sampling_callback": self.sample, "logging_callback": self.log}
        return mcp_client.Client(url, mode="legacy", **callbacks)  # type: ignore[arg-type]

    async def call(self, client: Any) -> str:
        self.order.append("call")
        types = mcp_client.types
        params = types.CallToolRequestParams(name="weather", arguments={"city": "Oslo"})
        result = await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
        self.order.append("answered")
        return str(result.content[0].text)


def played(server: ReplayServer, misses: list[Miss]) -> Heard:
    async def run() -> Heard:
        heard = Heard()
        async with heard.client(address(server)) as client:
            await asyncio.sleep(0.05)  # what comes too early is heard too early
            heard.order.append("ready")
            assert await heard.call(client) == "sunny"
            await asyncio.sleep(0.05)
        return heard

    heard = asyncio.run(run())
    assert [one.request.body.data for one in misses] == []
    return heard


def test_a_message_of_the_servers_own_comes_after_the_request_that_it_came_after(serve: Serve) -> None:
    listening = get(2.5, timed((10.0, event(noted("hello"))), (8_000.0, event(noted("called")))))
    call = post(10.0, {"id": 92, "method": "tools/call", "params": CALL}, said({"id": 92, "result": SUNNY}))
    misses: list[Miss] = []
    server = serve(*beginning(sampling={}), listening, call, ending(20.0), on_miss=misses.append)
    order = played(server, misses).order
    assert order.index("told hello") < order.index("ready") < order.index("call") < order.index("told called")


def test_what_the_server_asks_on_the_listening_stream_is_answered_before_the_call_is(serve: Serve) -> None:
    listening = get(2.5, timed((8_000.0, event(asks_the_model(7)))))
    result = said({"id": 92, "result": SUNNY}, 3_000.0)
    call = post(10.0, {"id": 92, "method": "tools/call", "params": CALL}, result)
    answer = post(11.0, {"id": 7, "result": HAIKU}, ACCEPTED)
    misses: list[Miss] = []
    server = serve(*beginning(sampling={}), listening, call, answer, ending(20.0), on_miss=misses.append)
    assert played(server, misses).order == ["ready", "call", "asked Write a haiku", "answered"]
    assert unused(server) == []


def test_what_the_server_asks_within_a_call_is_answered_before_the_call_is(serve: Serve) -> None:
    stream = timed((5.0, event(asks_the_model(0))), (3_000.0, event({"id": 92, "result": SUNNY})))
    call = post(10.0, {"id": 92, "method": "tools/call", "params": CALL}, Response(200, (EVENTS,), stream))
    answer = post(11.0, {"id": 0, "result": HAIKU}, ACCEPTED)
    misses: list[Miss] = []
    listening = get(2.5, Body())
    server = serve(*beginning(sampling={}), listening, call, answer, ending(20.0), on_miss=misses.append)
    assert played(server, misses).order == ["ready", "call", "asked Write a haiku", "answered"]
    assert unused(server) == []


# -- resumption


def heard(server: ReplayServer, last: str | None, expected: int) -> list[str]:
    headers = dict([SESSION]) | ({"last-event-id": last} if last is not None else {})
    found: list[str] = []
    with httpx.stream("GET", address(server), headers=headers, timeout=5, trust_env=False) as stream:
        lines = stream.iter_lines()
        while len(found) < expected:
            line = next(lines)
            if line.startswith("id: "):
                found.append(line[4:])
    return found


def test_a_listening_stream_goes_on_after_the_last_event_that_a_client_had(serve: Serve) -> None:
    body = timed(*((float(n), event(noted(f"{n}"), n)) for n in range(1, 5)))
    misses: list[Miss] = []
    server = serve(get(2.0, body), on_miss=misses.append)
    assert heard(server, None, 4) == ["1", "2", "3", "4"]
    assert heard(server, "2", 2) == ["3", "4"]
    assert heard(server, "3", 1) == ["4"]
    assert misses == []


def test_a_stream_that_was_resumed_when_recorded_is_resumed_so_in_any_order(serve: Serve) -> None:
    first = get(2.0, timed((1.0, event(noted("a"), 1))))
    second = get(3.0, timed((1.0, event(noted("b"), 2))), ("Last-Event-ID", "1"))
    server = serve(first, second)
    assert heard(server, "1", 1) == ["2"]
    assert heard(server, None, 1) == ["1"]


def test_an_event_that_nobody_recorded_resumes_nothing(serve: Serve) -> None:
    server = serve(get(2.0, timed((1.0, event(noted("a"), 1)))))
    assert heard(server, None, 1) == ["1"]
    answer = httpx.get(address(server), headers=dict([SESSION]) | {"last-event-id": "9"}, trust_env=False)
    assert answer.status_code == 422


def test_a_call_whose_stream_broke_off_is_answered_on_the_resumed_one_with_its_own_id(serve: Serve) -> None:
    priming = b"id: 1\nretry: 10\ndata: \n\n"
    stream = Response(200, (EVENTS,), timed((1.0, priming)))
    call = post(10.0, {"id": 92, "method": "tools/call", "params": CALL}, stream)
    rest = get(11.0, timed((5.0, event({"id": 92, "result": SUNNY}, 2))), ("last-event-id", "1"))
    misses: list[Miss] = []
    listening = get(2.5, Body())
    server = serve(*beginning(sampling={}), listening, call, rest, ending(20.0), on_miss=misses.append)
    assert played(server, misses).order == ["ready", "call", "answered"]
