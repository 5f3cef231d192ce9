"""Every recording of the shared corpus replays: who sends the recorded request gets the recorded bytes.

The length is that of what is sent: where a recorder undid a compression, or wrote JSON anew, the recorded one
is wrong. A wait before the next request is as long as the replay takes, which is none. A framing that a
recorder struck out can not be told to any client.
"""

import asyncio
import http.client
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.exchange import Channel, Exchange, Headers, Recording, Request, Response, header
from abs_replay.player import Miss, Player
from abs_replay.server import App, ReplayServer
from tests import corpus

FOLLOWS = ("content-length", "retry-after", "x-ratelimit-reset-requests", "x-ratelimit-reset-tokens")
STRUCK_OUT = [(name, "**REDACTED**") for name in ("Content-Length", "Transfer-Encoding")]
OVER_A_SOCKET = (
    "crewai/lib/crewai/tests/cassettes/test_llm_call_when_stop_is_unsupported.yaml",  # a 400 and its cure
    "langchain-aws/libs/aws/tests/cassettes/test_agent_loop_streaming[v1].yaml.gz",  # binary event streams
    "pydantic-ai/tests/cassettes/test_tool_search/test_tool_search_eval[anthropic].yaml",  # many turns
    "pydantic-ai/tests/models/cassettes/test_huggingface/test_max_completion_tokens.yaml",  # two 429s
)


@pytest.fixture(scope="module")
def cassettes(shared: Path) -> dict[str, Cassette]:
    """Every recording as it would be replayed: imported, and read again from the text of a cassette."""
    folder = shared / "corpus"
    if not folder.is_dir():
        pytest.skip(f"no corpus in {shared}")
    return {
        str(path.relative_to(folder)): loads(dumps(Cassette(Recording("", path.name, 0.0), exchanges)))
        for path, exchanges in corpus.recordings(folder).items()
    }


class Listened:
    """An application with a port for each channel, asked without a socket."""

    def __init__(self, cassette: Cassette) -> None:
        self.missed: list[Miss] = []
        self._app = App(Player(cassette), on_miss=self.missed.append)
        channels = sorted({exchange.channel for exchange in cassette.exchanges})
        self._app.channels = dict(enumerate(channels))
        self._ports: dict[Channel, int] = {channel: port for port, channel in enumerate(channels)}

    async def ask(self, request: Request, channel: Channel) -> tuple[int, Headers, bytes, bool]:
        """Give status, headers, body, and whether the connection was kept."""
        path, _, query = request.target.encode("latin-1").partition(b"?")
        scope = {
            "type": "http",
            "method": request.method,
            "raw_path": path,
            "query_string": query,
            "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in request.headers],
            "server": ("127.0.0.1", self._ports[channel]),
            "abs.close": lambda: closed.append(True),
        }
        said = iter([{"type": "http.request", "body": request.body.data}])
        sent: list[dict[str, Any]] = []
        closed: list[bool] = []

        async def receive() -> dict[str, Any]:
            return next(said, {"type": "http.disconnect"})

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        start, *pieces = sent
        headers = tuple((name.decode(), value.decode("latin-1")) for name, value in start["headers"])
        body = b"".join(piece["body"] for piece in pieces)
        return start["status"], headers, body, not closed and not pieces[-1]["more_body"]


def in_order(cassette: Cassette) -> list[Exchange]:
    """Those that plain HTTP asks for, and that were answered."""
    plain = [each for each in cassette.exchanges if each.response is not None and each.websocket is None]
    return sorted(plain, key=lambda exchange: exchange.started_at)


def listened_on(exchange: Exchange) -> bool:
    """Say whether a client may have listened until it left, so that the stream ends when it leaves."""
    response = exchange.response
    kind = header(response.headers, "content-type") if response else None
    return exchange.request.method == "GET" and kind is not None and kind.startswith("text/event-stream")


def fixed(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers that say the same whenever the answer is sent, and however long it is."""
    return [(name, value) for name, value in headers if name.lower() not in FOLLOWS]


async def replayed(cassette: Cassette, name: str) -> int:
    listened = Listened(cassette)
    for exchange in in_order(cassette):
        status, headers, body, kept = await listened.ask(exchange.request, exchange.channel)
        assert not listened.missed, name
        recorded = exchange.response
        assert recorded is not None
        assert (status, body) == (recorded.status, recorded.body.data), name
        assert kept or listened_on(exchange), name
        assert fixed(headers) == fixed(sendable(recorded)), name
        assert [key for key, _ in headers] == [key for key, _ in sendable(recorded)], name
        lengths = {int(value) for key, value in headers if key.lower() == "content-length"}
        assert lengths <= {len(body)}, name
    return len(in_order(cassette))


def sendable(response: Response) -> list[tuple[str, str]]:
    return [header for header in response.headers if header not in STRUCK_OUT]


def test_whoever_sends_what_was_recorded_gets_the_recorded_bytes(cassettes: dict[str, Cassette]) -> None:
    played = [asyncio.run(replayed(cassette, name)) for name, cassette in cassettes.items()]
    assert len(played) >= 196
    assert sum(played) >= 510


@pytest.mark.parametrize("name", OVER_A_SOCKET)
def test_a_socket_brings_the_same_bytes(name: str, cassettes: dict[str, Cassette]) -> None:
    cassette = cassettes[name]
    with ReplayServer(Player(cassette)) as server:
        addresses = server.addresses()
        for exchange in in_order(cassette):
            recorded = exchange.response
            assert recorded is not None
            port = urlsplit(addresses[exchange.channel]).port
            assert over_http(port, exchange.request) == (recorded.status, recorded.body.data)


def over_http(port: int | None, request: Request) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {key: value for key, value in request.headers if key.lower() in ("content-type", "accept")}
    try:
        connection.request(request.method, request.target, request.body.data, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
