"""Replay in stock mitmproxy: `mitmdump -s abs_player.py --set abs_cassette=FILE [--mode ..]`.

For clients that insist on the real `https://` hosts (regular mode, with HTTPS_PROXY and mitmproxy's CA), or
for looking on in mitmweb. Every request is led to the same replay server that `abs replay` runs, started
here on free ports of loopback; mitmproxy can not stream an answer that an addon makes up.

Nothing else is ever connected to: `server_connect` refuses, whatever becomes of the other hooks.
"""

import json
import logging
from pathlib import Path
from urllib.parse import urlsplit

from mitmproxy import ctx, exceptions, http, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.log import ALERT
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from abs_replay.cassette import Cassette, loads
from abs_replay.channels import base_path
from abs_replay.errors import AbsReplayError
from abs_replay.exchange import Channel
from abs_replay.matching import Match
from abs_replay.player import Miss, Player
from abs_replay.player.miss import STATUS, explain
from abs_replay.server import ReplayServer
from abs_replay.spec.configuration import find

type Address = tuple[str, int]

log = logging.getLogger("abs_player")
DEFAULT_PORTS = {"http": 80, "https": 443}


class AbsPlayer:
    """Leads every flow to the replay server's listener for its channel."""

    def __init__(self) -> None:
        self._server: ReplayServer | None = None
        self._player: Player | None = None
        self._places: tuple[Place, ...] = ()
        self._ours: frozenset[Address] = frozenset()

    def load(self, loader: Loader) -> None:
        loader.add_option("abs_cassette", str, "", "The cassette to replay.")
        loader.add_option("abs_match", str, "canonical", "How alike: strict, canonical or loose.")

    def configure(self, updated: set[str]) -> None:
        if not {"abs_cassette", "abs_match"} & updated or not ctx.options.abs_cassette:
            return
        # Eager connections, and looking at the upstream's certificate, would call the real hosts.
        ctx.options.update(connection_strategy="lazy", upstream_cert=False)  # type: ignore[no-untyped-call]
        self.done()
        try:
            path = Path(ctx.options.abs_cassette).expanduser()
            self._start(loads(path.read_text(encoding="utf-8"), str(path)), Match(ctx.options.abs_match))
        except (AbsReplayError, OSError, ValueError) as error:
            problem = f"abs_cassette: {error}"
            raise exceptions.OptionsError(problem) from error  # type: ignore[no-untyped-call]

    def _start(self, cassette: Cassette, match: Match) -> None:
        def report(miss: Miss) -> None:
            log.warning("miss: %s", explain(miss, cassette.exchanges))

        self._player = Player(cassette, match, find(Path.cwd()).match.ignore)
        self._server = ReplayServer(self._player, on_miss=report)
        self._server.start()
        ports = {channel: _address(url) for channel, url in self._server.addresses().items()}
        self._ours = frozenset(ports.values())
        self._places = _places(self._server, cassette, ports)

    def done(self) -> None:
        if self._server is None or self._player is None:
            return
        self._server.stop()
        summary = self._player.summary()
        used, unused = len(summary.used), len(summary.unused)
        log.log(ALERT, "abs: %d exchanges used, %d unused, %d missed", used, unused, summary.missed)
        self._server = self._player = None
        self._ours = frozenset()

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        # Without a connection upstream, mitmproxy would offer clients no HTTP/2.
        data.context.server.alpn = b"h2"

    def request(self, flow: http.HTTPFlow) -> None:
        place = next((place for place in self._places if place.holds(flow.request)), None)
        if place is None:
            flow.response = self._nowhere(flow.request)
            return
        flow.request.scheme = "http"
        flow.request.host, flow.request.port = place.listener

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None:
            flow.response.stream = True

    def server_connect(self, data: ServerConnectionHookData) -> None:
        address = data.server.address
        if address is None or tuple(address[:2]) not in self._ours:
            data.server.error = "replay connects to nothing but its own listeners"

    def _nowhere(self, request: http.Request) -> http.Response:
        known = ", ".join(sorted({f"{place.host}:{place.port}{place.path}" for place in self._places}))
        title = (
            f"nothing was recorded at {request.host}:{request.port}; the cassette knows {known or 'no host'}"
        )
        log.warning("miss: %s %s: %s", request.method, request.path, title)
        problem = {"type": "about:blank", "title": f"abs replay: {title}", "status": STATUS}
        return http.Response.make(STATUS, json.dumps(problem), {"content-type": "application/problem+json"})


class Place:
    """Where a channel's traffic went when it was recorded, and the listener that answers for it now."""

    def __init__(self, host: str, port: int, path: str, listener: Address) -> None:
        self.host, self.port, self.path, self.listener = host, port, path, listener

    def holds(self, request: http.Request) -> bool:
        return (request.host, request.port) == (self.host, self.port) and request.path.startswith(self.path)


def _places(server: ReplayServer, cassette: Cassette, listeners: dict[Channel, Address]) -> tuple[Place, ...]:
    """The declared upstreams, and the hosts that exchanges of other channels name; longest path first."""
    declared = [upstream for upstream in server.upstreams if upstream.url]
    places = [
        Place(*_address(upstream.url), base_path(upstream), listeners[upstream.channel])
        for upstream in declared
    ]
    known = {upstream.channel for upstream in declared}
    for exchange in cassette.exchanges:
        if exchange.channel not in known and exchange.request.host:
            address = _address(f"{exchange.request.scheme}://{exchange.request.host}")
            places.append(Place(*address, "", listeners[exchange.channel]))
    return tuple(sorted(places, key=lambda place: -len(place.path)))


def _address(url: str) -> Address:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or DEFAULT_PORTS.get(parts.scheme, 80)


addons = [AbsPlayer()]
