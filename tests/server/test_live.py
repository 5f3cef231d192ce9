"""A channel that is asked live beside one that is played: real origins on loopback, which count."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from abs_replay.cassette import Cassette
from abs_replay.exchange import (
    Body,
    Channel,
    Exchange,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    header,
)
from abs_replay.player import Player
from abs_replay.server import ReplayServer
from abs_replay.server.live import Live
from abs_replay.upstream import Upstreams

LLM, TOOL = Channel(Role.LLM, "openai"), Channel(Role.TOOL, "Orders")


class Origin:
    """An HTTP server that keeps what it was asked; `serve` answers."""

    def __init__(self, serve: Callable[[BaseHTTPRequestHandler], None]) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                origin.asked.append((self.command, self.path, dict(self.headers.items()), body))
                serve(self)
                self.close_connection = True

            do_GET = do_POST = do_DELETE = handle_one

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@contextmanager
def origin(serve: Callable[[BaseHTTPRequestHandler], None]) -> Iterator[Origin]:
    made = Origin(serve)
    thread = threading.Thread(target=made.server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()
        thread.join()


def hello(handler: BaseHTTPRequestHandler) -> None:
    data = b'{"live": true}'
    handler.send_response(201)
    handler.send_header("content-type", "application/json")
    handler.send_header("x-twice", "a")
    handler.send_header("x-twice", "b")
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def recorded(channel: Channel, path: str, answer: bytes) -> Exchange:
    return Exchange(path, channel, 0.0, Request("GET", path), Response(200, (), Body(answer)))


@contextmanager
def hybrid(
    url: str, *, live: frozenset[Channel] = frozenset(), misses: bool = False
) -> Iterator[tuple[ReplayServer, Player, list[Exchange]]]:
    upstreams = (Upstream(LLM, f"{url}/v1"), Upstream(TOOL, f"{url}/api"))
    exchanges = recorded(LLM, "/v1/models", b"recorded"), recorded(TOOL, "/api/orders/1", b"shipped")
    player = Player(Cassette(Recording("r", "r", 0.0, upstreams=upstreams), exchanges))
    kept: list[Exchange] = []
    asking = Upstreams(upstreams, kept.append)
    given = Live(asking.ask, live, asking.channels if misses else frozenset())
    with ReplayServer(player, live=given) as server:
        yield server, player, kept


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_while_everything_is_recorded_the_origin_is_asked_nothing() -> None:
    with origin(hello) as real, hybrid(real.url, misses=True) as (server, player, kept):
        urls = server.addresses()
        assert httpx.get(f"{urls[LLM]}/models").content == b"recorded"
        assert httpx.get(f"{urls[TOOL]}/orders/1").content == b"shipped"
        assert (real.asked, kept, player.summary().missed) == ([], [], 0)


def test_exactly_the_live_channel_reaches_its_origin_and_is_kept() -> None:
    with origin(hello) as real, hybrid(real.url, live=frozenset((TOOL,))) as (server, player, kept):
        urls = server.addresses()
        assert httpx.get(f"{urls[LLM]}/models").content == b"recorded"
        headers = {"authorization": "Bearer k", "x-abs-session": "s", "X-Own": "1"}
        answer = httpx.post(f"{urls[TOOL]}/orders?a=%2F&b", content=b'{"n": 1}', headers=headers)
        assert (answer.status_code, answer.content) == (201, b'{"live": true}')
        assert answer.headers.get_list("x-twice") == ["a", "b"]
        assert httpx.get(f"{urls[LLM]}/other").status_code == 422
        until(lambda: kept)
        ((method, target, sent, body),) = real.asked
        assert (method, target, body) == ("POST", "/api/orders?a=%2F&b", b'{"n": 1}')
        named = {name.lower(): value for name, value in sent.items()}
        assert (named["authorization"], named["x-own"]) == ("Bearer k", "1")
        assert named["host"] == real.url.removeprefix("http://")
        assert "x-abs-session" not in named
        (exchange,) = kept
        assert (exchange.channel, exchange.outcome, exchange.error) == (TOOL, Outcome.COMPLETE, None)
        assert (exchange.request.target, exchange.request.body.data) == ("/api/orders?a=%2F&b", b'{"n": 1}')
        assert header(exchange.request.headers, "X-Own") == "1"
        assert exchange.response is not None
        assert (exchange.response.status, exchange.response.body.data) == (201, b'{"live": true}')
        assert player.summary().missed == 1


def test_a_miss_is_asked_live_where_that_is_wanted_and_then_is_none() -> None:
    with origin(hello) as real, hybrid(real.url, misses=True) as (server, player, kept):
        url = server.addresses()[TOOL]
        assert httpx.get(f"{url}/orders/1").content == b"shipped"
        assert httpx.get(f"{url}/orders/1").status_code == 201  # used up
        assert httpx.get(f"{url}/orders/2").status_code == 201  # unknown
        until(lambda: len(kept) == 2)
        assert [target for _, target, _, _ in real.asked] == ["/api/orders/1", "/api/orders/2"]
        assert (player.summary().missed, player.summary().misses) == (0, ())


def test_a_stream_comes_on_chunk_by_chunk_and_is_kept_so() -> None:
    got_first = threading.Event()

    def stream(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("transfer-encoding", "chunked")
        handler.end_headers()
        for data in (b"data: 1\n\n", b"data: 2\n\n"):
            handler.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            handler.wfile.flush()
            assert got_first.wait(5)  # the second is not sent until the client has the first
        handler.wfile.write(b"0\r\n\r\n")

    with origin(stream) as real, hybrid(real.url, live=frozenset((TOOL,))) as (server, _, kept):
        pieces = []
        with httpx.stream("GET", f"{server.addresses()[TOOL]}/events") as answer:
            for data in answer.iter_raw():
                pieces.append(data)
                got_first.set()
        assert pieces == [b"data: 1\n\n", b"data: 2\n\n"]
        until(lambda: kept)
        assert kept[0].response is not None
        assert [chunk.end for chunk in kept[0].response.body.chunks] == [9, 18]


def test_a_client_that_leaves_ends_the_asking_and_what_came_is_kept() -> None:
    left = threading.Event()

    def listen(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(b"data: 1\n\n")
        handler.wfile.flush()
        assert handler.connection.recv(1) == b""  # until the other side ends it
        left.set()

    with origin(listen) as real, hybrid(real.url, live=frozenset((TOOL,))) as (server, _, kept):
        with httpx.stream("GET", f"{server.addresses()[TOOL]}/events") as answer:
            assert next(answer.iter_raw()) == b"data: 1\n\n"
        assert left.wait(5)
        until(lambda: kept)
        assert kept[0].outcome is Outcome.CLIENT_CLOSED
        assert kept[0].response is not None
        assert kept[0].response.body.data == b"data: 1\n\n"


def test_an_upstream_that_is_not_there_answers_502_and_is_kept_as_refused() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        with hybrid(url, live=frozenset((TOOL,))) as (server, _, kept):
            answer = httpx.get(f"{server.addresses()[TOOL]}/orders/1")
            assert (answer.status_code, answer.headers["content-type"]) == (502, "application/problem+json")
            problem = json.loads(answer.content)
            assert problem["code"] == "upstream_failed"
            assert "tool:Orders could not be asked at 127.0.0.1:" in problem["detail"]
            until(lambda: kept)
            assert (kept[0].outcome, kept[0].response) == (Outcome.REFUSED, None)
            assert kept[0].error


def test_an_answer_that_breaks_off_breaks_off_for_the_client_too() -> None:
    def tear(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("content-length", "100")
        handler.end_headers()
        handler.wfile.write(b"half")

    with origin(tear) as real, hybrid(real.url, live=frozenset((TOOL,))) as (server, _, kept):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{server.addresses()[TOOL]}/orders/1")
        until(lambda: kept)
        assert kept[0].outcome is Outcome.UPSTREAM_CLOSED
        assert kept[0].response is not None
        assert kept[0].response.body.data == b"half"


def test_a_channel_that_was_refused_is_there_when_it_is_live() -> None:
    refused = Exchange("x", TOOL, 0.0, Request("GET", "/api/x"), outcome=Outcome.REFUSED)
    with origin(hello) as real:
        upstreams = (Upstream(TOOL, f"{real.url}/api"),)
        player = Player(Cassette(Recording("r", "r", 0.0, upstreams=upstreams), (refused,)))
        live = Live(Upstreams(upstreams, lambda _: None).ask, frozenset((TOOL,)))
        with ReplayServer(player, live=live) as server:
            assert httpx.get(f"{server.addresses()[TOOL]}/x").status_code == 201


def test_a_target_that_no_url_can_hold_is_answered_and_kept_like_any_failure() -> None:
    with origin(hello) as real, hybrid(real.url, live=frozenset((TOOL,))) as (server, _, kept):
        port = int(server.addresses()[TOOL].split(":")[2].partition("/")[0])
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(b"OPTIONS * HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 502 ")
        until(lambda: kept)
        assert (kept[0].outcome, real.asked) == (Outcome.REFUSED, [])
