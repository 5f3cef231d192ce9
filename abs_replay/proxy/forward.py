"""The forward listener: clients name any host, and it is asked for them, recorded, ignored or blocked.

What a listener of our own would get through it goes straight to that listener's upstream: it is recorded
once, and mitmproxy never connects to itself.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from mitmproxy import http, tls
from mitmproxy.proxy.mode_specs import RegularMode

from abs_replay.exchange import Channel, Upstream
from abs_replay.proxy.tap import LEFT_OUT, REFUSED
from abs_replay.routes import USUAL_PORTS, Routes

OWN: Final = "abs-own"  # a flow's metadata: the upstream whose listener, one of ours, it was meant for


def is_forward(flow: http.HTTPFlow) -> bool:
    return isinstance(flow.client_conn.proxy_mode, RegularMode)


def is_ours(flow: http.HTTPFlow) -> bool:
    """Whether a flow is meant for the listener that it came to, or that listener has one meaning alone."""
    return not is_forward(flow) or flow.request.port == flow.client_conn.sockname[1]


class Forward:
    """The mitmproxy addon that goes before the tap: it says where flows of the forward listener belong.

    `reverse` are the upstreams by the places, host and port, where listeners of our own stand before them.
    """

    def __init__(self, routes: Routes, reverse: Mapping[tuple[str, int], Upstream]) -> None:
        self._routes, self._reverse = routes, reverse

    def channel(self, flow: http.HTTPFlow) -> Channel:
        own, request = flow.metadata.get(OWN), flow.request
        if isinstance(own, Upstream):
            return own.channel
        scheme = "https" if request.method == "CONNECT" else request.scheme
        return self._routes.channel(scheme, request.host, request.port, request.path)

    def is_ours(self, flow: http.HTTPFlow) -> bool:
        """Whether a flow is meant for a listener of ours, by whatever name its client knows this machine."""
        return is_ours(flow) or (flow.request.host, flow.request.port) in self._reverse

    def names_us(self, flow: http.HTTPFlow) -> bool:
        """Whether the Host header names a listener of ours, so that the upstream is to get its own."""
        return not is_forward(flow) or OWN in flow.metadata

    def http_connect(self, flow: http.HTTPFlow) -> None:
        if self._blocks(flow):
            flow.response = _blocked(flow)

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        address = data.context.server.address
        if address is not None and isinstance(data.context.client.proxy_mode, RegularMode):
            names = {address[0], data.client_hello.sni or address[0]}
            data.ignore_connection = any(self._routes.is_ignored(name, address[1]) for name in names)
        if b"h2" in (data.client_hello.alpn_protocols or ()):
            # Servers prefer it, mitmproxy takes what the client named first: to many that is HTTP/1.1.
            data.context.server.alpn = b"h2"

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if not is_forward(flow) or LEFT_OUT in flow.metadata or self._blocks(flow):
            return
        place = flow.request.host, flow.request.port
        if (upstream := self._reverse.get(place)) is not None:
            flow.metadata[OWN] = upstream
            _lead_to(upstream, flow.request)
        elif self._routes.is_ignored(*place):
            flow.metadata[LEFT_OUT] = True
            flow.request.stream = True

    def request(self, flow: http.HTTPFlow) -> None:
        if REFUSED in flow.metadata:
            flow.response = _blocked(flow)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        if LEFT_OUT in flow.metadata and flow.request.stream and flow.response is not None:
            flow.response.stream = True

    def _blocks(self, flow: http.HTTPFlow) -> bool:
        host = flow.request.host
        pattern = self._routes.blocked_by(host, flow.request.port)
        if pattern is not None:
            flow.metadata[REFUSED] = f"{host} is blocked by --block-host {pattern}"
        return pattern is not None


def _lead_to(upstream: Upstream, request: http.Request) -> None:
    """Change where a request goes and nothing else: setting its host would change its Host header, too."""
    parts = urlsplit(upstream.url)
    request.data.scheme = parts.scheme.encode()
    request.data.host = parts.hostname or ""
    request.data.port = parts.port or USUAL_PORTS[parts.scheme]


def _blocked(flow: http.HTTPFlow) -> http.Response:
    """The answer to who asks a blocked host; of a failed CONNECT, most clients show the reason alone."""
    reason = f"abs record: {flow.metadata[REFUSED]}"
    answer = http.Response.make(403, reason, {"content-type": "text/plain"})
    answer.reason = reason
    return answer
