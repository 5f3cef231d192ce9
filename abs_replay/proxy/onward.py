"""The proxy that a user's environment names, asked by us in turn: many a network has no other way out.

Every connection through it is a CONNECT, of plain HTTP, too, and of hosts that are ignored.
"""

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]

from mitmproxy import http
from mitmproxy.connection import Server
from mitmproxy.net.server_spec import ServerSpec
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers import TCPLayer
from mitmproxy.proxy.layers.http import HttpStream
from mitmproxy.proxy.layers.http._upstream_proxy import HttpUpstreamProxy
from mitmproxy.proxy.mode_specs import RegularMode

from abs_replay.channels import is_loopback

USUAL_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class _Proxy:
    spec: ServerSpec
    authorization: str | None


class Onward:
    """The mitmproxy addon that leads flows through the user's own proxy, as HTTPS_PROXY and NO_PROXY say.

    `own` are our ports: an earlier recording may have left itself in the environment. `ignored` says of a
    host and a port whether what is said with it passes unread.
    """

    def __init__(
        self,
        environ: Mapping[str, str],
        own: frozenset[int],
        ignored: Callable[[str, int], bool] = lambda host, port: False,
    ) -> None:
        self._ignored = ignored
        named = {scheme: _proxy(_variable(environ, f"{scheme}_proxy")) for scheme in USUAL_PORTS}
        self._proxies = {
            scheme: proxy for scheme, proxy in named.items() if proxy and not _is_own(proxy.spec, own)
        }
        self._bypassed = {"no": _variable(environ, "no_proxy")}

    def next_layer(self, data: layer.NextLayer) -> None:
        """Lead a tunnel to a host that is ignored through the proxy, unread: no flow will be made of it."""
        there, proxy = data.context.server.address, self._proxies.get("https")
        if proxy is None or there is None or data.context.server.via is not None:
            return
        if not isinstance(data.context.client.proxy_mode, RegularMode) or not _is_tunnel(data.context):
            return
        if self._ignored(*there[:2]) and not self._bypasses(*there[:2]):
            data.context.server.via = proxy.spec
            tunnel = HttpUpstreamProxy.make(data.context, send_connect=True)
            tunnel /= TCPLayer(data.context, ignore=True)
            data.layer = tunnel[0]

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        request = flow.request
        proxy = self._proxies.get(request.scheme)
        if proxy is not None and not self._bypasses(request.host, request.port):
            flow.server_conn = Server(address=(request.host, request.port))  # the old one is others' too
            flow.server_conn.via = proxy.spec

    def http_connect_upstream(self, flow: http.HTTPFlow) -> None:
        for proxy in self._proxies.values():
            if proxy.spec[1] == flow.server_conn.address and proxy.authorization:
                flow.request.headers["proxy-authorization"] = proxy.authorization

    def _bypasses(self, host: str, port: int) -> bool:
        return is_loopback(host) or bool(proxy_bypass_environment(f"{host}:{port}", self._bypassed))


def _is_tunnel(context: Context) -> bool:
    """Whether a client asked for a tunnel, and what goes through it is not known yet."""
    return bool(context.layers) and isinstance(context.layers[-1], HttpStream)


def _variable(environ: Mapping[str, str], name: str) -> str:
    """A variable in small letters or, as usual, in large ones; for a proxy, ALL_PROXY stands in."""
    value = environ.get(name) or environ.get(name.upper())
    if not value and name != "no_proxy":
        value = environ.get("all_proxy") or environ.get("ALL_PROXY")
    return value or ""


def _proxy(url: str) -> _Proxy | None:
    """A proxy that can be asked: of HTTP, over TLS or not."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in USUAL_PORTS or not parts.hostname:
        return None
    secret = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}".encode()
    authorization = f"Basic {base64.b64encode(secret).decode()}" if parts.username else None
    scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
    return _Proxy((scheme, (parts.hostname, parts.port or USUAL_PORTS[scheme])), authorization)


def _is_own(spec: ServerSpec, own: frozenset[int]) -> bool:
    host, port = spec[1]
    return is_loopback(host) and port in own
