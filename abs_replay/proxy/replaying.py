"""Leads what mitmproxy meets to the listeners of a replay server, which are all that it may connect to.

mitmproxy itself can not stream an answer that an addon makes up; so each request goes on, over loopback, to
the one engine there is. `server_connect` refuses everything else, whatever becomes of the other hooks.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from mitmproxy import http, tls
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from abs_replay.exchange import Body, Channel, Request, Role
from abs_replay.player import Miss, Player, Reason
from abs_replay.player.miss import STATUS, shaped
from abs_replay.proxy.authority import authority
from abs_replay.proxy.engine import Tls
from abs_replay.proxy.recorded_hosts import LOCAL_NAMES, Address, RecordedHosts, address

LED: Final = "abs-led"  # a flow's metadata: a recorded exchange answers it, or a miss of the server's

type Ask = Callable[[Request, Channel], None]


def asking(
    player: Player,
    soon: Callable[[Callable[[], object]], None],
    on_miss: Callable[[Miss], None],
    scope: str = "",
) -> Ask:
    """What plays a request that no listener is asked for, and whose answer nobody gets.

    `soon` has something done in the thread that plays: a player is for one thread.
    """

    def play(request: Request, channel: Channel) -> None:
        result = player.play(request, channel, scope)
        if isinstance(result, Miss):
            on_miss(result)

    return lambda request, channel: soon(partial(play, request, channel))


class Leading:
    """The mitmproxy addon. `listeners` are the base URLs of the replay server's channels.

    `distrusted` is told of each host whose certificate a client refuses to trust. `token` is that of the run,
    whose requests are played in one scope, whichever way they come.
    """

    def __init__(
        self,
        hosts: RecordedHosts,
        listeners: Mapping[Channel, str],
        ask: Ask,
        distrusted: Callable[[str], None],
        token: str = "",
    ) -> None:
        self._hosts, self._ask, self._distrusted = hosts, ask, distrusted
        self._prefix = f"/~{token}" if token else ""
        self._listeners = {channel: address(url) for channel, url in listeners.items()}
        self._own = frozenset(self._listeners.values())
        self._names = {(name, own[1]): own for own in self._own for name in (*LOCAL_NAMES, own[0])}
        self._failures: Counter[Address] = Counter()
        self._stranger = _Stranger() if hosts.has_tls_failures else None

    def __len__(self) -> int:
        return 0  # nothing that is open has to be kept

    def finish(self) -> None:
        if self._stranger is not None:
            self._stranger.forget()

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        if b"h2" in (data.client_hello.alpn_protocols or ()):
            # Without a connection upstream, mitmproxy would offer clients no HTTP/2.
            data.context.server.alpn = b"h2"

    def tls_start_client(self, data: tls.TlsData) -> None:
        """Show a certificate that nobody trusts, for a host with which no handshake ever succeeded."""
        there = data.context.server.address
        if self._stranger is not None and there and self._hosts.tls_failed(there[0], there[1]):
            self._stranger.tls_start_client(data)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """Play a handshake that failed. One that nobody recorded is a miss: its client may swallow it."""
        there = data.context.server.address
        if there is None:
            return
        place = there[0], there[1]
        if failed := self._hosts.tls_failed(*place):
            exchange = failed[min(self._failures[place], len(failed) - 1)]
            self._failures[place] += 1
            self._ask(exchange.request, exchange.channel)
            return
        name = f"{place[0]}:{place[1]}"
        self._distrusted(name)
        channel = self._hosts.channel(*place, name) or Channel(Role.TOOL, name)
        self._ask(Request("CONNECT", name, scheme="https", host=name), channel)

    def request(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        if own := self._names.get((request.host, request.port)):
            _lead_to(own, request)
            return
        channel = self._hosts.channel(request.host, request.port, request.path)
        if channel is None:
            flow.response = self._nowhere(request)
            return
        flow.metadata[LED] = True
        _lead_to(self._listeners[channel], request)
        request.data.path = self._prefix.encode() + request.data.path

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if flow.response is not None:
            flow.response.stream = True

    def error(self, flow: http.HTTPFlow) -> None:
        """What ended before its first byte does so again: mitmproxy would answer 502."""
        if LED in flow.metadata and flow.response is None and flow.killable:
            flow.kill()  # type: ignore[no-untyped-call]

    def server_connect(self, data: ServerConnectionHookData) -> None:
        data.server.error = "replay connects to nothing but its own listeners"  # even if what follows raises
        there = data.server.address
        if there is not None and tuple(there[:2]) in self._own and data.server.via is None:
            data.server.error = None

    def _nowhere(self, request: http.Request) -> http.Response:
        place = f"{request.host}:{request.port}"
        body = Body(request.raw_content or b"")
        asked = Request(request.method, request.path, body=body, scheme=request.scheme, host=place)
        self._ask(asked, Channel(Role.TOOL, place))  # where nothing can have been recorded: a miss
        known = ", ".join(self._hosts.known) or "no host"
        title = f"abs replay: nothing was recorded at {place}; the cassette knows {known}"
        content_type, told = shaped(asked, title, Reason.UNKNOWN)
        return http.Response.make(STATUS, told, {"content-type": content_type, "x-should-retry": "false"})


class _Stranger:
    """An authority that nobody trusts, made anew each time, with what it takes to speak in its name."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="abs-stranger-")
        self._tls = Tls(authority({"ABS_STATE": self._folder.name}).certificates())

    def tls_start_client(self, data: tls.TlsData) -> None:
        data.ssl_conn = None  # what another addon made of it
        self._tls.tls_start_client(data)

    def forget(self) -> None:
        self._folder.cleanup()


def _lead_to(listener: Address, request: http.Request) -> None:
    """Change where a request goes and nothing else: setting its host would change its Host header, too."""
    request.data.scheme = b"http"
    request.data.host, request.data.port = listener
