"""What the server sends equals what was recorded, down to the chunks and the way it ended."""

import asyncio
import json
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import httpx
import mcp as mcp_client
import openai
import pytest

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.errors import RecordingError
from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Headers,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    WebSocket,
)
from abs_replay.player import Miss, Player
from abs_replay.player.miss import explain
from abs_replay.server import ReplayServer

LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "orders")
U = [str(uuid.uuid5(uuid.NAMESPACE_URL, str(number))) for number in range(2)]
JSON = (("content-type", "application/json"),)

type Serve = Callable[..., ReplayServer]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve exchanges until the test ends; each goes through a cassette's text, as it would."""
    servers: list[ReplayServer] = []

    def start(*exchanges: Exchange, **options: Any) -> ReplayServer:
        upstreams = (Upstream(LLM, "https://api.openai.com/v1"), Upstream(TOOL, "http://orders:9001"))
        cassette = loads(dumps(Cassette(Recording("r", "n", 0.0, upstreams=upstreams), exchanges)))
        server = ReplayServer(Player(cassette), **options)
        server.start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.stop()


def in_chunks(*pieces: bytes, every_ms: float = 1.0) -> Body:
    ends = [len(b"".join(pieces[: number + 1])) for number in range(len(pieces))]
    return Body(b"".join(pieces), tuple(Chunk(end, n * every_ms) for n, end in enumerate(ends)))


def tool(path: str, response: Response | None, **changes: Any) -> Exchange:
    return replace(Exchange(path, TOOL, 0.0, Request("GET", path), response), **changes)


def messages(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def completion(text: str, said: str, stream: bool = False) -> Exchange:
    """A recorded chat completion, whole or as a stream of its letters."""
    asked: dict[str, Any] = {"messages": messages(text), "model": "gpt-test"} | (
        {"stream": True} if stream else {}
    )
    if stream:
        deltas = [{"choices": [{"index": 0, "delta": {"content": letter}}]} for letter in said]
        events = [b"data: %b\n\n" % json.dumps({"id": "c1", **delta}).encode() for delta in deltas]
        body = in_chunks(*events, b"data: [DONE]\n\n")
        headers: Headers = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
    else:
        message = {"role": "assistant", "content": said}
        body = in_chunks(json.dumps({"id": "c1", "choices": [{"index": 0, "message": message}]}).encode())
        headers = JSON
    request = Request("POST", "/v1/chat/completions", JSON, Body(json.dumps(asked).encode()))
    return Exchange(said, LLM, 0.0, request, Response(200, headers, body))


def url(server: ReplayServer, channel: Channel = TOOL, token: str = "") -> str:
    return server.addresses(token)[channel]


def raw(server: ReplayServer, path: str, method: str = "GET") -> bytes:
    """Everything that comes back on a connection until the server closes it or is silent for a second."""
    host, _, port = url(server).removeprefix("http://").partition(":")
    with closing(socket.create_connection((host, int(port)), timeout=1)) as connection:
        connection.sendall(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        received = b""
        while data := connection.recv(65536):
            received += data
        return received


def client(server: ReplayServer, token: str = "") -> openai.OpenAI:
    return openai.OpenAI(base_url=url(server, LLM, token), api_key="placeholder", timeout=10)


# -- the SDK


def ask(sdk: openai.OpenAI, text: str) -> str | None:
    asked: Any = messages(text)
    return sdk.chat.completions.create(model="gpt-test", messages=asked).choices[0].message.content


def test_the_openai_sdk_is_answered(serve: Serve) -> None:
    with client(serve(completion("hi", "hello"))) as sdk:
        assert ask(sdk, "hi") == "hello"


def test_the_openai_sdk_is_streamed_to(serve: Serve) -> None:
    asked: Any = messages("hi")
    with (
        client(serve(completion("hi", "hello", stream=True))) as sdk,
        sdk.chat.completions.create(model="gpt-test", messages=asked, stream=True) as stream,
    ):
        assert [chunk.choices[0].delta.content for chunk in stream] == list("hello")


def test_two_orders_asked_in_the_other_order_each_get_their_own_answer(serve: Serve) -> None:
    server = serve(*(completion(f"Where is {order}?", f"{order} is on its way") for order in U))
    with client(server) as sdk:
        assert [ask(sdk, f"Where is {order}?") for order in reversed(U)] == [
            f"{order} is on its way" for order in reversed(U)
        ]


def test_the_openai_sdk_does_not_retry_a_miss_and_shows_its_message(serve: Serve) -> None:
    misses: list[Miss] = []
    with (
        client(serve(completion("hi", "hello"), on_miss=misses.append)) as sdk,
        pytest.raises(
            openai.UnprocessableEntityError, match=r"body\.messages\[0\]\.content: recorded \"hi\""
        ),
    ):
        ask(sdk, "ho")
    assert len(misses) == 1


def test_a_run_token_in_the_url_makes_a_scope(serve: Serve) -> None:
    server = serve(completion("hi", "hello"))
    for token in ("a", "b"):
        with client(server, token) as sdk:
            assert ask(sdk, "hi") == "hello"
    with client(server, "a") as sdk, pytest.raises(openai.UnprocessableEntityError, match="all were played"):
        ask(sdk, "hi")


# -- bytes


def test_status_headers_and_bytes_go_out_as_they_were_stored(serve: Serve) -> None:
    headers = (("X-Odd", "ä"), ("Set-Cookie", "a=1"), ("Content-Encoding", "gzip"), ("Set-Cookie", "b=2"))
    data = b"\x1f\x8b\x00 no real gzip \xff"
    server = serve(tool("/x", Response(418, (*headers, ("Content-Length", str(len(data)))), in_chunks(data))))
    head, _, body = raw(server, "/x").partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    assert lines[0].startswith("HTTP/1.1 418 ")
    assert lines[1:] == [
        "x-odd: ä",
        "set-cookie: a=1",
        "content-encoding: gzip",
        "set-cookie: b=2",
        f"content-length: {len(data)}",
        "connection: close",
    ]
    assert body == data


def test_chunks_keep_their_borders(serve: Serve) -> None:
    pieces = [b"data: 1\n", b"\ndata: 2\n\n", b"data: [DO", b"NE]\n\n"]
    headers = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))
    body = raw(serve(tool("/s", Response(200, headers, in_chunks(*pieces)))), "/s").partition(b"\r\n\r\n")[2]
    assert body == b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


def test_a_length_that_no_longer_fits_is_mended(serve: Serve) -> None:
    response = Response(200, (("content-length", "3"),), in_chunks(b"edited by hand"))
    assert httpx.get(f"{url(serve(tool('/x', response)))}/x").text == "edited by hand"


@pytest.mark.parametrize("status", [204, 304])
def test_answers_without_body_have_none(serve: Serve, status: int) -> None:
    edited = Response(status, (("etag", '"1"'),), in_chunks(b"put here by hand"))
    for response in (replace(edited, body=Body()), edited):
        server = serve(tool("/x", response))
        assert raw(server, "/x").endswith(b'etag: "1"\r\nconnection: close\r\n\r\n')


def test_head_keeps_the_length_that_was_declared(serve: Serve) -> None:
    recorded = tool("/x", Response(200, (("content-length", "1234"),)))
    server = serve(replace(recorded, request=replace(recorded.request, method="HEAD")))
    assert httpx.head(f"{url(server)}/x").headers["content-length"] == "1234"


# -- endings


def test_a_stream_that_broke_breaks_again(serve: Serve) -> None:
    chunked = Response(200, (("transfer-encoding", "chunked"),), in_chunks(b"data: 1\n\n"))
    server = serve(tool("/s", chunked, outcome=Outcome.UPSTREAM_CLOSED))
    with httpx.stream("GET", f"{url(server)}/s") as response:
        pieces = response.iter_bytes()
        assert next(pieces) == b"data: 1\n\n"
        with pytest.raises(httpx.RemoteProtocolError):
            next(pieces)


def test_a_broken_stream_made_longer_by_hand_still_breaks(serve: Serve) -> None:
    response = Response(200, (("content-length", "3"),), in_chunks(b"much longer"))
    server = serve(tool("/s", response, outcome=Outcome.UPSTREAM_CLOSED))
    assert raw(server, "/s").endswith(b"\r\n\r\nb\r\nmuch longer\r\n")


def test_a_body_that_was_kept_cut_is_not_passed_off_as_whole(serve: Serve) -> None:
    body = replace(in_chunks(b"only the beginning"), size=1000)
    server = serve(tool("/s", Response(200, (("content-length", "1000"),), body)))
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{url(server)}/s")


def test_one_refused_exchange_of_a_channel_ends_before_the_first_byte(serve: Serve) -> None:
    server = serve(tool("/x", None, outcome=Outcome.REFUSED), tool("/x", Response(200, (), in_chunks(b"up"))))
    with pytest.raises(httpx.RemoteProtocolError):
        httpx.get(f"{url(server)}/x")
    assert httpx.get(f"{url(server)}/x").text == "up"


def test_a_channel_that_refused_everything_has_no_listener(serve: Serve) -> None:
    server = serve(completion("hi", "hello"), tool("/x", None, outcome=Outcome.REFUSED))
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url(server)}/x")


def test_where_the_client_gave_up_it_gives_up_again(serve: Serve) -> None:
    server = serve(tool("/slow", None, outcome=Outcome.CLIENT_CLOSED, ended_ms=500.0))
    with pytest.raises(httpx.ReadTimeout):
        httpx.get(f"{url(server)}/slow", timeout=0.3)


def test_an_sdk_that_hung_up_after_the_last_event_may_now_read_to_the_end(serve: Serve) -> None:
    body = in_chunks(b"data: 1\n\n", b"data: [DONE]\n\n")
    response = Response(200, (("transfer-encoding", "chunked"), ("content-type", "text/event-stream")), body)
    recorded = tool("/s", response, outcome=Outcome.CLIENT_CLOSED)
    server = serve(replace(recorded, request=replace(recorded.request, method="POST")))
    assert httpx.post(f"{url(server)}/s").content == body.data


def test_a_listening_stream_stays_open_until_the_client_leaves(serve: Serve) -> None:
    response = Response(200, (("content-type", "text/event-stream"),), in_chunks(b": hello\n\n"))
    server = serve(tool("/mcp", response, outcome=Outcome.CLIENT_CLOSED))
    with httpx.stream("GET", f"{url(server)}/mcp", timeout=0.3) as stream:
        pieces = stream.iter_bytes()
        assert next(pieces) == b": hello\n\n"
        with pytest.raises(httpx.ReadTimeout):
            next(pieces)


# -- MCP


MCP = Channel(Role.TOOL, "mcp")
SESSION = ("mcp-session-id", "afc7799dcb6849b2b570ebe76dd445fd")


def mcp(method: str, asked: Any, answer: Any = None, status: int = 200, in_session: bool = True) -> Exchange:
    data = b"" if asked is None else json.dumps({"jsonrpc": "2.0", **asked}).encode()
    fields = (*JSON, SESSION) if in_session else JSON
    body = Body() if answer is None else in_chunks(json.dumps({"jsonrpc": "2.0", **answer}).encode())
    return Exchange(
        method,
        MCP,
        0.0,
        Request(method, "/mcp", fields, Body(data)),
        Response(status, (*JSON, SESSION), body),
    )


def mcp_session() -> list[Exchange]:
    """What the official client of protocol 2025-11-25 asks for around one call of a tool."""
    client_info = {"name": "mcp", "version": "0.1.0"}
    begin = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client_info}
    server = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "w", "version": "1"},
    }
    called = {"content": [{"type": "text", "text": "sunny"}], "isError": False}
    call = {"name": "weather", "arguments": {"city": "Oslo"}}
    listening = mcp("GET", None)
    stream = Response(200, (("content-type", "text/event-stream"), SESSION))
    return [
        mcp(
            "POST",
            {"id": 91, "method": "initialize", "params": begin},
            {"id": 91, "result": server},
            in_session=False,
        ),
        mcp("POST", {"method": "notifications/initialized"}, status=202),
        replace(listening, response=stream),
        mcp("POST", {"id": 92, "method": "tools/call", "params": call}, {"id": 92, "result": called}),
        mcp("DELETE", None),
    ]


async def call_weather(url: str, city: str) -> Any:
    async with mcp_client.Client(url, mode="legacy") as client:
        return await client.session.send_request(
            mcp_client.types.CallToolRequest(
                params=mcp_client.types.CallToolRequestParams(name="weather", arguments={"city": city})
            ),
            mcp_client.types.CallToolResult,
        )


def test_the_mcp_client_is_answered_twice_over_with_its_own_ids(serve: Serve) -> None:
    misses: list[Miss] = []
    server = serve(*mcp_session(), on_miss=misses.append)
    for token in ("a", "b"):
        result = asyncio.run(call_weather(f"{url(server, MCP, token)}/mcp", "Oslo"))
        assert result.content[0].text == "sunny"
    assert misses == []


def test_the_mcp_client_is_told_of_a_miss(serve: Serve) -> None:
    server = serve(*mcp_session())
    with pytest.raises(BaseExceptionGroup) as error:
        asyncio.run(call_weather(f"{url(server, MCP)}/mcp", "Rome"))
    assert "nobody recorded this request" in repr(error.value.exceptions)


# -- timing, scopes, control


@pytest.mark.parametrize(("speed", "least", "most"), [(None, 0.0, 0.25), (1.0, 0.3, 2.0), (10.0, 0.03, 0.25)])
def test_timing_is_none_as_recorded_or_faster(
    serve: Serve, speed: float | None, least: float, most: float
) -> None:
    server = serve(
        tool("/s", Response(200, (), in_chunks(b"a", b"b", b"c", b"d", every_ms=100))), speed=speed
    )
    with httpx.Client() as http:
        begun = time.monotonic()
        assert http.get(f"{url(server)}/s").text == "abcd"
    assert least <= time.monotonic() - begun <= most


def test_sessions_named_by_a_header_are_scopes(serve: Serve) -> None:
    server = serve(
        tool("/x", Response(200, (), in_chunks(b"one"))), tool("/x", Response(200, (), in_chunks(b"two")))
    )
    asked = [("a", "one"), ("b", "one"), ("a", "two"), ("b", "two")]
    for name, expected in asked:
        assert httpx.get(f"{url(server)}/x", headers={"X-Abs-Session": name}).text == expected


def test_reset_begins_the_play_again(serve: Serve) -> None:
    server = serve(tool("/x", Response(200, (), in_chunks(b"one"))))
    assert httpx.get(f"{url(server)}/x").text == "one"
    assert httpx.get(f"{url(server)}/x").status_code == 422
    assert httpx.post(f"{url(server)}/__abs__/reset").status_code == 204
    assert httpx.get(f"{url(server)}/x").text == "one"


def test_a_miss_is_no_success_and_says_not_to_retry(serve: Serve) -> None:
    response = httpx.get(f"{url(serve(tool('/x', Response(200))))}/y?a=1")
    assert response.status_code == 422
    assert response.headers["x-should-retry"] == "false"
    assert response.json()["title"].endswith("GET /y?a=1 on tool:orders: nobody recorded this request")


def test_many_clients_at_once_each_get_their_own_answer(serve: Serve) -> None:
    server = serve(*(tool(f"/{n}", Response(200, (), in_chunks(str(n).encode()))) for n in range(200)))

    async def get_all() -> list[str]:
        async with httpx.AsyncClient(base_url=url(server), limits=httpx.Limits(max_connections=20)) as http:
            responses = await asyncio.gather(*(http.get(f"/{n}") for n in reversed(range(200))))
        return [response.text for response in responses]

    assert asyncio.run(get_all()) == [str(n) for n in reversed(range(200))]


def test_what_can_not_be_read_is_a_miss(serve: Serve) -> None:
    misses: list[Miss] = []
    server = serve(tool("/x", Response(200)), on_miss=misses.append)
    host, _, port = url(server).removeprefix("http://").partition(":")
    for sent in (
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET /%s HTTP/1.1\r\n\r\n",
    ):
        with closing(socket.create_connection((host, int(port)), timeout=5)) as connection:
            connection.sendall(sent.replace(b"%s", b"x" * 100_000))
            assert connection.recv(100).startswith(b"HTTP/1.1 400")
    assert [explain(miss, ()).split(" that")[0] for miss in misses] == ["something on tool:orders"] * 3


def test_a_request_that_breaks_off_asks_nothing(serve: Serve) -> None:
    misses: list[Miss] = []
    server = serve(tool("/up", Response(200)), on_miss=misses.append)
    host, _, port = url(server).removeprefix("http://").partition(":")
    with closing(socket.create_connection((host, int(port)), timeout=1)) as connection:
        connection.sendall(b"POST /up HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nten bytes.")
    assert httpx.get(f"{url(server)}/up").status_code == 200
    server.stop()
    assert misses == []


def test_a_large_request_is_read_whole(serve: Serve) -> None:
    data = b"x" * 3_000_000
    recorded = tool("/up", Response(200, (), in_chunks(b"got it")))
    server = serve(replace(recorded, request=Request("POST", "/up", (), Body(data))))
    assert httpx.post(f"{url(server)}/up", content=data).text == "got it"


def test_a_taken_port_is_one_line(serve: Serve) -> None:
    server = serve(tool("/x", Response(200)))
    port = int(url(server).rsplit(":", 1)[1])
    with pytest.raises(RecordingError, match=r"^can not listen on 127\.0\.0\.1:\d+: [^\n]*--port"):
        serve(tool("/x", Response(200)), port=port)


def test_stopping_does_not_wait_for_clients(serve: Serve) -> None:
    response = Response(200, (("content-type", "text/event-stream"),), in_chunks(b": hello\n\n"))
    server = serve(tool("/mcp", response, outcome=Outcome.CLIENT_CLOSED))
    with httpx.stream("GET", f"{url(server)}/mcp") as stream:
        assert next(stream.iter_bytes()) == b": hello\n\n"
        begun = time.monotonic()
        server.stop()
        assert time.monotonic() - begun < 2


class Faulty(Player):
    """A player with a bug in it."""

    def play(self, request: Request, channel: Channel, scope: str = "") -> Any:
        raise RuntimeError("a bug")


def test_a_fault_of_the_player_counts_as_a_miss() -> None:
    player = Faulty(Cassette(Recording("r", "n", 0.0), (tool("/orders/1", Response(200)),)))
    reported: list[Miss] = []
    with ReplayServer(player, on_miss=reported.append) as server:
        answer = httpx.get(f"{server.addresses()[TOOL]}/orders/1")

    assert answer.status_code == 500
    assert (len(reported), player.summary().missed) == (1, 1)


# -- WebSockets


def test_a_websocket_that_is_asked_for_as_plain_http_is_a_miss(serve: Serve) -> None:
    socket_ = tool("/live", Response(101, (("upgrade", "websocket"),)), websocket=WebSocket())
    missed: list[Miss] = []
    server = serve(socket_, on_miss=missed.append)
    answer = httpx.get(f"{url(server)}/live", trust_env=False)
    assert answer.status_code == 422
    assert [explain(miss, [socket_]).splitlines() for miss in missed] == [
        [
            "GET /live on tool:orders: recorded as a WebSocket, and asked for without opening one",
            "  recorded as: exchanges[0], GET /live (id /live)",
        ]
    ]
