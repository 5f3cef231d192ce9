"""The proxy before a replay server: recorded answers under real names, and a way to nowhere else."""

import socket
import ssl
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosedOK
from websockets.sync.client import connect

from abs_replay.cassette import Cassette
from abs_replay.errors import RecordingError
from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Headers,
    Message,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    WebSocket,
)
from abs_replay.player import Miss, Player
from abs_replay.server import ReplayServer
from tests.proxied import Authority, authority

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of pyasn1 in ldap3, which mitmproxy imports
    from abs_replay.proxy.recorded_hosts import RecordedHosts
    from abs_replay.proxy.replay_listener import forwarding
    from abs_replay.proxy.replaying import Leading, asking

MODEL, SHOP, BAD = Channel(Role.LLM, "model"), Channel(Role.TOOL, "shop"), Channel(Role.TOOL, "bad.invalid")
PIECES = (b"data: 1\n\n", b"data: 2\n\n", b"data: [DONE]\n\n")
HEAD_ENDS = b"\r\n\r\n"
STREAM: Headers = (("content-type", "text/event-stream"), ("transfer-encoding", "chunked"))


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority({"ABS_STATE": str(tmp_path_factory.mktemp("state"))})


@pytest.fixture
def origin() -> Iterator[tuple[str, int]]:
    """Where something live would listen; nobody may ever have connected to it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def exchange(
    id_: str, channel: Channel, path: str, host: str, response: Response | None = None, **more: Any
) -> Exchange:
    return Exchange(id_, channel, 0.0, Request("GET", path, scheme="https", host=host), response, **more)


def streamed(*at_ms: float) -> Response:
    ends = (len(PIECES[0]), len(PIECES[0] + PIECES[1]), len(b"".join(PIECES)))
    chunks = tuple(Chunk(end, at) for end, at in zip(ends, at_ms or (0.0, 0.0, 0.0), strict=True))
    return Response(200, STREAM, Body(b"".join(PIECES), chunks))


def recorded(*exchanges: Exchange, upstreams: Sequence[Upstream] = ()) -> Cassette:
    return Cassette(Recording("r", "r", 0.0, upstreams=tuple(upstreams)), exchanges)


@dataclass
class Proxy:
    """A proxy that runs, and what came of it."""

    url: str
    trust: ssl.SSLContext
    player: Player
    listeners: dict[Channel, str]
    misses: list[Miss]
    distrusted: list[str]  # hosts whose certificate a client did not trust

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(proxy=self.url, verify=self.trust, timeout=10, **options)

    def get(self, url: str) -> httpx.Response:
        with self.client() as http:
            return http.get(url)


@contextmanager
def proxy(
    cassette: Cassette,
    trusted: Authority,
    leading: type[Leading] = Leading,
    token: str = "",
    speed: float | None = None,
) -> Iterator[Proxy]:
    player = Player(cassette)
    misses: list[Miss] = []
    distrusted: list[str] = []
    with ReplayServer(player, speed=speed, on_miss=misses.append) as server:
        hosts = RecordedHosts(server.upstreams, cassette.exchanges)
        ask = asking(player, server.soon, misses.append)
        lead = leading(hosts, server.addresses(), ask, distrusted.append, token)
        trust = ssl.create_default_context(cafile=str(trusted.certificate))
        with forwarding(lead, trusted) as url:
            yield Proxy(url, trust, player, dict(server.addresses()), misses, distrusted)


def raw(proxy: Proxy, head: bytes, enough: bytes = b"") -> bytes:
    """What comes back on a connection of its own until it ends, or until that is in it."""
    host, port = proxy.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(head)
        came = b""
        while not (enough and enough in came) and (piece := connection.recv(65536)):
            came += piece
        return came


def test_a_stream_comes_in_its_chunks_over_http1(trusted: Authority) -> None:
    there = Exchange("1", SHOP, 0.0, Request("GET", "/s", host="shop.invalid"), streamed())
    with proxy(recorded(there), trusted) as running:
        answer = raw(
            running,
            b"GET http://shop.invalid/s HTTP/1.1\r\nhost: shop.invalid\r\nconnection: close\r\n\r\n",
        )
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert body == b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in PIECES) + b"0\r\n\r\n"


def test_a_stream_keeps_its_pace_and_its_pieces_over_http2(trusted: Authority) -> None:
    there = exchange("1", SHOP, "/s", "shop.invalid", streamed(0.0, 150.0, 300.0))
    with (
        proxy(recorded(there), trusted, speed=1.0) as running,
        running.client(http2=True) as http,
        http.stream("GET", "https://shop.invalid/s") as response,
    ):
        assert response.http_version == "HTTP/2"
        came = [(piece, time.monotonic()) for piece in response.iter_raw()]
    assert tuple(piece for piece, _ in came) == PIECES
    assert all(later - earlier > 0.1 for (_, earlier), (_, later) in pairwise(came))


def test_a_host_that_nobody_recorded_is_a_miss_that_names_those_that_were(trusted: Authority) -> None:
    there = exchange("1", SHOP, "/s", "shop.invalid", streamed())
    upstream = Upstream(MODEL, "https://model.invalid:8443/v1")
    with proxy(recorded(there, upstreams=[upstream]), trusted) as running:
        answer = running.get("https://else.invalid/x")
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    title = (
        "nothing was recorded at else.invalid:443; the cassette knows model.invalid:8443, shop.invalid:443"
    )
    assert answer.json()["title"] == f"abs replay: {title}"
    assert (running.player.summary().missed, len(running.misses)) == (1, 1)


def test_a_host_that_nobody_recorded_misses_in_the_shape_of_the_api_that_is_asked(trusted: Authority) -> None:
    there = exchange("1", SHOP, "/s", "shop.invalid", streamed())
    with proxy(recorded(there), trusted) as running, running.client() as http:
        openai = http.post("https://api.openai.invalid/v1/chat/completions", json={"model": "m"})
        mcp = http.post("https://tools.invalid/mcp", json={"jsonrpc": "2.0", "id": 7, "method": "ping"})
    assert "cassette knows shop.invalid:443" in openai.json()["error"]["message"]
    assert openai.json()["error"]["code"] == "replay_miss"
    assert (mcp.json()["id"], mcp.json()["error"]["code"]) == (7, -32001)


def test_an_exchange_that_ended_before_its_first_byte_does_so_again(trusted: Authority) -> None:
    there = [
        exchange("1", SHOP, "/a", "shop.invalid", outcome=Outcome.UPSTREAM_CLOSED),
        exchange("2", SHOP, "/b", "shop.invalid", streamed(), outcome=Outcome.UPSTREAM_CLOSED),
        exchange("3", BAD, "/c", "bad.invalid", outcome=Outcome.REFUSED),
    ]
    with proxy(recorded(*there), trusted) as running:
        for url in ("https://shop.invalid/a", "https://shop.invalid/b", "https://bad.invalid/c"):
            with pytest.raises(httpx.RemoteProtocolError):
                running.get(url)
    assert running.misses == []


class Kept(Leading):
    """Which tells where the authority is that nobody trusts."""

    folder: Path | None = None

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        assert self._stranger is not None
        Kept.folder = Path(self._stranger._folder.name)


def test_a_host_with_which_no_handshake_succeeded_fails_again_as_often_as_recorded(
    trusted: Authority,
) -> None:
    there = exchange("1", BAD, "/c", "bad.invalid", outcome=Outcome.TLS_FAILED)
    with proxy(recorded(there), trusted, Kept) as running:
        for _ in range(2):
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                running.get("https://bad.invalid/c")
        assert Kept.folder is not None
        assert Kept.folder.exists()
    summary = running.player.summary()
    assert (summary.used, summary.missed) == ((there,), 1)
    assert not Kept.folder.exists()


def test_a_client_that_does_not_trust_the_authority_is_a_miss_unless_that_was_recorded(
    trusted: Authority,
) -> None:
    connect = Request("CONNECT", "shop.invalid:443", scheme="https", host="shop.invalid:443")
    there = exchange("1", SHOP, "/s", "shop.invalid", streamed())
    refused = Exchange("2", SHOP, 0.0, connect, outcome=Outcome.TLS_FAILED)
    with proxy(recorded(there, refused), trusted) as running:
        running.trust = ssl.create_default_context()
        for _ in range(2):
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
                running.get("https://shop.invalid/s")
    assert running.player.summary().used == (refused,)
    assert [(miss.request.method, miss.recorded) for miss in running.misses] == [("CONNECT", 1)]
    assert running.distrusted == ["shop.invalid:443"] * 2


def test_a_port_that_is_taken_is_an_error_that_says_so(trusted: Authority, origin: tuple[str, int]) -> None:
    lead = Leading(RecordedHosts((), ()), {}, lambda request, channel: None, print)
    with (
        pytest.raises(RecordingError, match=f"port {origin[1]} is taken"),
        forwarding(lead, trusted, origin[1]),
    ):
        pytest.fail("it listens where another does")


def test_a_websocket_is_played_through_tls(trusted: Authority) -> None:
    said = (
        Message(False, b"hello", True, 1.0),
        Message(True, b"hi", True, 2.0),
        Message(False, b"\0", False, 3.0),
    )
    upgraded = Response(101, (("upgrade", "websocket"),))
    there = exchange(
        "1", SHOP, "/w", "shop.invalid", upgraded, websocket=WebSocket(said, 1000, "done", False)
    )
    with (
        proxy(recorded(there), trusted) as running,
        connect("wss://shop.invalid/w", proxy=running.url, ssl=running.trust) as talk,
    ):
        assert talk.recv(timeout=10) == "hello"
        talk.send("hi")
        assert talk.recv(timeout=10) == b"\0"
        with pytest.raises(ConnectionClosedOK, match="done"):
            talk.recv(timeout=10)
    assert (running.misses, running.player.summary().used) == ([], (there,))


def test_what_comes_through_the_proxy_and_to_a_listener_is_played_in_one_scope(trusted: Authority) -> None:
    there = exchange("1", SHOP, "/s", "shop.invalid", streamed())
    with proxy(recorded(there), trusted, token="t1") as running:
        assert running.get("https://shop.invalid/s").status_code == 200
        own = running.listeners[SHOP].replace("127.0.0.1", "localhost")
        again = running.get(f"{own}/~t1/s")  # a client that goes to a listener by the proxy
    assert again.status_code == 422
    assert "all were played" in again.json()["title"]


class Faulty(Leading):
    """Whose hooks raise; mitmproxy logs that, and goes on."""

    def request(self, flow: object) -> None:
        raise RuntimeError("request")


class Faultier(Faulty):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        del self._own  # so that the hook that refuses raises, too


@pytest.mark.parametrize("leading", [Leading, Faulty, Faultier])
def test_nothing_live_is_ever_connected_to_whatever_the_hooks_do(
    trusted: Authority, origin: tuple[str, int], leading: type[Leading]
) -> None:
    place = f"{origin[0]}:{origin[1]}"
    declared = Upstream(SHOP, f"http://{place}")
    there = Exchange("1", SHOP, 0.0, Request("GET", "/s", host="127.0.0.1:7070"), streamed())
    with proxy(recorded(there, upstreams=[declared]), trusted, leading) as running:
        expected = (200, 422) if leading is Leading else (502, 502)
        answers = running.get(f"http://{place}/s"), running.get(f"http://{place}/unknown")
        assert tuple(answer.status_code for answer in answers) == expected
        assert running.get(f"http://{place}/s").status_code == expected[1]  # it was recorded once
        assert running.get(f"https://{place}/s").status_code == expected[1]
        tunnel = f"CONNECT {place} HTTP/1.1\r\nhost: {place}\r\n\r\nSSH-2.0-no-http\r\n"
        assert raw(running, tunnel.encode()).startswith(b"HTTP/1.1 200")
        upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"
        chat = f"GET http://{place}/w HTTP/1.1\r\nhost: {place}\r\n{upgrade}sec-websocket-key: eA==\r\n\r\n"
        assert raw(running, chat.encode(), HEAD_ENDS).startswith(b"HTTP/1.1 %d" % expected[1])


def test_a_request_belongs_to_who_was_asked_that_path_or_whose_url_it_is_under() -> None:
    other = Channel(Role.TOOL, "other")
    upstreams = (Upstream(MODEL, "https://Api.invalid/v1"), Upstream(SHOP, "https://api.invalid/v1/shop"))
    exchanges = (
        exchange("1", MODEL, "/v1/chat", "127.0.0.1:7070"),
        exchange("2", other, "/v1/other?x=1", "api.invalid"),
        exchange("3", other, "/", "[::1]:9000"),
        Exchange("4", other, 0.0, Request("GET", "/", scheme="stdio", host="server")),
        exchange("5", other, "/", "no port:x"),
    )
    hosts = RecordedHosts(upstreams, exchanges)
    asked = {
        path: hosts.channel("API.invalid.", 443, path) for path in ("/v1/x?y", "/v1/shop/1", "/v1/other")
    }
    assert asked == {"/v1/x?y": MODEL, "/v1/shop/1": SHOP, "/v1/other": other}
    assert hosts.channel("api.invalid", 443, "/v2") is not None
    assert hosts.channel("api.invalid", 80, "/v1/x") is None
    assert hosts.known == ("::1:9000", "api.invalid:443")
