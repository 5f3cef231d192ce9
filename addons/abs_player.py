"""Replay in stock mitmproxy: `mitmdump -s abs_player.py --set abs_cassette=FILE [--mode ..]`.

For clients that insist on the real `https://` hosts (regular mode, with HTTPS_PROXY and mitmproxy's CA), or
for looking on in mitmweb. Every request is led to the same replay server that `abs replay` runs, started
here on free ports of loopback; mitmproxy can not stream an answer that an addon makes up. What leads it
there is what `abs replay --forward` has, too.

Nothing else is ever connected to: `server_connect` refuses, whatever becomes of the other hooks.
"""

import logging
from pathlib import Path

from mitmproxy import ctx, exceptions, http, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.log import ALERT
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from abs_replay.cassette import Cassette, loads
from abs_replay.errors import AbsReplayError
from abs_replay.matching import Match
from abs_replay.player import Miss, Player
from abs_replay.player.miss import explain
from abs_replay.proxy.recorded_hosts import RecordedHosts
from abs_replay.proxy.replaying import Leading, asking
from abs_replay.server import ReplayServer
from abs_replay.spec.configuration import find

log = logging.getLogger("abs_player")


class AbsPlayer:
    """Leads every flow to the replay server's listener for its channel; without a cassette, to nowhere."""

    def __init__(self) -> None:
        self._server: ReplayServer | None = None
        self._player: Player | None = None
        self.leading = _nowhere()

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

        player = Player(cassette, match, find(Path.cwd()).match.ignore)
        server = ReplayServer(player, on_miss=report)
        server.start()
        self._server, self._player = server, player
        hosts = RecordedHosts(server.upstreams, cassette.exchanges)
        ask = asking(player, server.soon, report)
        self.leading = Leading(hosts, server.addresses(), ask, _warn_of_distrust)

    def done(self) -> None:
        if self._server is None or self._player is None:
            return
        self.leading.finish()
        self.leading = _nowhere()
        self._server.stop()
        summary = self._player.summary()
        used, unused = len(summary.used), len(summary.unused)
        log.log(ALERT, "abs: %d exchanges used, %d unused, %d missed", used, unused, summary.missed)
        self._server = self._player = None

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        self.leading.tls_clienthello(data)

    def tls_start_client(self, data: tls.TlsData) -> None:
        self.leading.tls_start_client(data)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        self.leading.tls_failed_client(data)

    def request(self, flow: http.HTTPFlow) -> None:
        self.leading.request(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        self.leading.responseheaders(flow)

    def error(self, flow: http.HTTPFlow) -> None:
        self.leading.error(flow)

    def server_connect(self, data: ServerConnectionHookData) -> None:
        data.server.error = "replay connects to nothing but its own listeners"
        self.leading.server_connect(data)


def _nowhere() -> Leading:
    """What leads nowhere, for there is no cassette yet, or no more."""
    return Leading(RecordedHosts((), ()), {}, lambda request, channel: None, _warn_of_distrust)


def _warn_of_distrust(host: str) -> None:
    log.warning("a client does not trust mitmproxy's certificate for %s", host)


addons = [AbsPlayer()]
