"""mitmproxy, embedded: one loopback listener per upstream, and an addon that copies what flows through.

The client must not notice: bodies flow chunk by chunk, and the copy is taken on the way. Hooks run
on the loop that carries every stream, so they only note references; turning what was noted into an
`Exchange` is left to whoever calls the function that `keep` is given (the recorder's writer thread).
"""

import asyncio
import errno
import os
import socket
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from h11 import EndOfMessage
from h11._readers import ChunkedReader
from mitmproxy import options, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.addons import disable_h2c, next_layer, proxyserver, tlsconfig
from mitmproxy.master import Master
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.mode_specs import ProxyMode

from abs_replay.channels import base_path, local_url
from abs_replay.errors import RecordingError, UsageError
from abs_replay.exchange import Channel, Upstream
from abs_replay.proxy.control import Control, ControlAddon, nothing_here
from abs_replay.proxy.tap import MAX_BODY, ChannelOf, Keep, Tap, outcome
from abs_replay.proxy.websocket import install

__all__ = ["MAX_BODY", "ChannelOf", "Control", "Keep", "Tap", "listening", "nothing_here", "outcome"]

SETTLE_S = 0.15  # for the last answers and hang-ups of a program that has just ended
OPTIONS: dict[str, object] = {
    "connection_strategy": "lazy",  # eager fires no hook for a refused upstream, and the client gets no 502
    "keep_host_header": True,  # the addon sets the upstream's, once it has noted the client's
    "upstream_cert": False,  # listeners speak plain HTTP: there is no certificate to imitate
    "http3": False,
    "tcp_timeout": 24 * 3600,  # the default cuts streams that are silent for ten minutes
}


class BodyReader(ChunkedReader):
    """Drops trailers: mitmproxy raises on those of HTTP/1, and the client would wait for ever for the end."""

    def __call__(self, buf: Any) -> Any:
        event = super().__call__(buf)
        return EndOfMessage() if isinstance(event, EndOfMessage) else event


setattr(_http1, "ChunkedReader", BodyReader)  # noqa: B010


class UpstreamTls:
    """TLS towards upstreams alone: no certificate authority is made, nothing is written to the home."""

    def __init__(self) -> None:
        self._config = tlsconfig.TlsConfig()

    def load(self, loader: Loader) -> None:
        self._config.load(loader)  # type: ignore[no-untyped-call]

    def tls_start_server(self, tls_start: tls.TlsData) -> None:
        self._config.tls_start_server(tls_start)


class Engine:
    """mitmproxy's master with the few addons that a reverse proxy needs; the others cost time each hook."""

    def __init__(self, tap: Tap, control: ControlAddon) -> None:
        self.tap = tap
        install()
        self._server = proxyserver.Proxyserver()  # type: ignore[no-untyped-call]
        self._master = Master(options.Options(mode=[]))
        others = next_layer.NextLayer(), disable_h2c.DisableH2C(), UpstreamTls()
        self._master.addons.add(self._server, *others, control, tap)  # type: ignore[no-untyped-call]
        trusted = os.environ.get("SSL_CERT_FILE")
        self._master.options.update(**OPTIONS, ssl_verify_upstream_trusted_ca=trusted)  # type: ignore[no-untyped-call]
        self._running = asyncio.create_task(self._master.run())

    async def listen(self, modes: Sequence[ProxyMode]) -> None:
        await asyncio.sleep(0)  # the master sets up its loop first
        if not await self._server.servers.update(modes):
            failed = next(s for s in self._server.servers if s.last_exception)
            raise RecordingError(_not_listening(failed.mode, failed.last_exception))

    async def stop(self) -> None:
        """Take no more connections, keep what is open, hang up on whoever is left."""
        await self._server.servers.update([])
        await _until(lambda: not self.tap, SETTLE_S)
        self.tap.finish()
        for handler in list(self._server.connections.values()):
            client = handler.transports.get(handler.client)
            if client is not None and client.handler is not None:
                client.handler.cancel()
        await _until(lambda: not self._server.connections, 1.0)
        self._master.shutdown()  # type: ignore[no-untyped-call]
        await self._running


@asynccontextmanager
async def listening(
    upstreams: Sequence[Upstream],
    keep: Keep,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    max_body: int = MAX_BODY,
    control: Control = nothing_here,
) -> AsyncIterator[Mapping[Channel, str]]:
    """Listen for every upstream on consecutive ports (0: any free ones); gives each channel's base URL.

    `control` answers what clients ask of a listener under `/__abs__/`, on the loop that carries every stream.

    What is still open when this ends is kept as incomplete. Raises `RecordingError` where a port is
    taken, `UsageError` for an upstream that can not be one. One at a time in a process: mitmproxy's
    context is global.
    """
    if port + len(upstreams) > 65536:
        raise UsageError(f"{len(upstreams)} listeners from --port {port} on: there is no port above 65535")
    ports = range(port, port + len(upstreams)) if port else _free_ports(host, len(upstreams))
    modes = [_mode(upstream, host, number) for upstream, number in zip(upstreams, ports, strict=True)]
    channels = {m.full_spec: upstream.channel for m, upstream in zip(modes, upstreams, strict=True)}
    asked = ControlAddon(control, lambda flow: True)
    tap = Tap(
        keep,
        lambda flow: channels[flow.client_conn.proxy_mode.full_spec],
        max_body,
        own_host=True,
        leave_out=asked.is_control,
    )
    engine = Engine(tap, asked)
    try:
        await engine.listen(modes)
        origins = (local_url(host, number) for number in ports)
        yield {u.channel: origin + base_path(u) for u, origin in zip(upstreams, origins, strict=True)}
    finally:
        await engine.stop()


def _mode(upstream: Upstream, host: str, port: int) -> ProxyMode:
    parts = urlsplit(upstream.url)
    if parts.username or parts.query or parts.fragment:
        raise UsageError(f"{upstream.url!r}: leave out user, query and fragment; the client says them")
    try:
        return ProxyMode.parse(f"reverse:{parts.scheme}://{parts.netloc}@{host}:{port}")
    except ValueError as error:
        raise UsageError(f"{upstream.url!r} can not be an upstream: {error}") from error


def _free_ports(host: str, count: int) -> list[int]:
    """Ports that are free together: all are held until all are known."""
    with ExitStack() as held:
        try:
            family, _, _, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
            servers = (socket.create_server(address[:2], family=family) for _ in range(count))
            sockets = [held.enter_context(server) for server in servers]
        except OSError as error:
            raise RecordingError(f"can not listen on {host}: {error.strerror}; name another host") from error
        return [each.getsockname()[1] for each in sockets]


def _not_listening(mode: ProxyMode, error: Exception | None) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {mode.custom_listen_port} is taken: say --port N for other ones, 0 for any free ones"
    return f"can not listen on {mode.custom_listen_host}:{mode.custom_listen_port}: {error}"


async def _until(reached: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
