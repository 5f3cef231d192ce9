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
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from h11 import EndOfMessage
from h11._readers import ChunkedReader
from mitmproxy import http, options, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.addons import disable_h2c, next_layer, proxyserver, tlsconfig
from mitmproxy.connection import Client
from mitmproxy.master import Master
from mitmproxy.net.http.url import hostport
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.mode_specs import ProxyMode

from abs_replay.channels import base_path, local_url
from abs_replay.errors import RecordingError, UsageError
from abs_replay.exchange import Channel, Exchange, Headers, Outcome, Request, Response, Upstream
from abs_replay.recorder import Tee

MAX_BODY = 64 * 1024 * 1024
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

type Keep = Callable[[Callable[[], Exchange]], None]
type ChannelOf = Callable[[http.HTTPFlow], Channel]
type Fields = tuple[tuple[bytes, bytes], ...]


class Noted:
    """What the hooks noted of one exchange, by reference; `exchange()` makes the value of it."""

    def __init__(self, flow: http.HTTPFlow, channel: Channel, limit: int) -> None:
        self.id, self.channel = flow.id, channel
        self.started_at, self.start = time.time(), time.perf_counter()
        request = flow.request.data
        self.line = (request.method, request.path, request.http_version)
        self.scheme = "https" if flow.client_conn.tls_established else "http"
        self.host = flow.request.host_header or ""
        self.fields: Fields = request.headers.fields
        self.sent, self.received = Tee(self.start, limit), Tee(self.start, limit)
        self.response: http.Response | None = None
        self.response_fields: Fields = ()
        self.ended: float | None = None
        self.outcome, self.error = Outcome.COMPLETE, ""

    def end(self, outcome: Outcome = Outcome.COMPLETE, error: str = "") -> None:
        self.ended, self.outcome, self.error = time.perf_counter(), outcome, error

    def exchange(self) -> Exchange:
        return Exchange(
            id=self.id,
            channel=self.channel,
            started_at=self.started_at,
            request=self._request(),
            response=self._response(self.response.data) if self.response else None,
            outcome=self.outcome,
            error=self.error or None,
            ended_ms=None if self.ended is None else (self.ended - self.start) * 1000,
        )

    def _request(self) -> Request:
        method, target, version = (part.decode("latin-1") for part in self.line)
        headers, body = _headers(self.fields), self.sent.body()
        return Request(method, target, headers, body, version, self.scheme, self.host)

    def _response(self, data: http.ResponseData) -> Response:
        return Response(
            data.status_code,
            _headers(self.response_fields),
            self.received.body(),
            data.reason.decode("latin-1"),
            data.http_version.decode("latin-1"),
            _headers(data.trailers.fields) if data.trailers else (),
        )


def _headers(fields: Fields) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)


class Tap:
    """The mitmproxy addon: hands every exchange to `keep` when it ends, however it ends.

    `channel_of` says where a flow belongs; `own_host` has it name the upstream in the Host header,
    as mitmproxy would have, had `keep_host_header` not kept the client's for us to note.
    """

    def __init__(
        self, keep: Keep, channel_of: ChannelOf, max_body: int = MAX_BODY, own_host: bool = False
    ) -> None:
        self._keep, self._channel_of, self.max_body, self._own_host = keep, channel_of, max_body, own_host
        self._open: dict[str, Noted] = {}
        self._tls_failed: set[str] = set()

    def __len__(self) -> int:
        return len(self._open)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        try:
            noted = self._open[flow.id] = Noted(flow, self._channel_of(flow), self.max_body)
            flow.request.stream = noted.sent
        except Exception as fault:  # mitmproxy would log it, and the exchange would be missing in silence
            self._keep(partial(_fail, fault))
        if self._own_host:
            request = flow.request
            request.host_header = hostport(request.scheme, request.host, request.port)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        noted = self._open.get(flow.id)
        if noted is not None and flow.response is not None:
            noted.response, noted.response_fields = flow.response, flow.response.data.headers.fields
            flow.response.stream = noted.received

    def response(self, flow: http.HTTPFlow) -> None:
        self._end(
            flow, Outcome.COMPLETE, "the messages of a WebSocket are not kept" if flow.websocket else ""
        )

    def error(self, flow: http.HTTPFlow) -> None:
        message = flow.error.msg if flow.error else ""
        self._end(flow, self._outcome(flow, message), message)

    def tls_failed_server(self, data: tls.TlsData) -> None:
        self._tls_failed.add(data.context.client.id)

    def client_disconnected(self, client: Client) -> None:
        self._tls_failed.discard(client.id)

    def _outcome(self, flow: http.HTTPFlow, message: str) -> Outcome:
        if flow.client_conn.id in self._tls_failed and flow.response is None:
            return Outcome.TLS_FAILED
        return outcome(message, connected=flow.server_conn.peername is not None)

    def _end(self, flow: http.HTTPFlow, outcome: Outcome, error: str) -> None:
        noted = self._open.pop(flow.id, None)
        if noted is not None:
            noted.end(outcome, error)
            self._keep(noted.exchange)

    def finish(self) -> None:
        """Hand over what is still open, as far as it came; what comes after is not for this recording."""
        for noted in self._open.values():
            noted.end(Outcome.UPSTREAM_CLOSED, "the recording ended first")
            self._keep(noted.exchange)
        self._open.clear()


def _fail(fault: Exception) -> Exchange:
    raise fault


def outcome(message: str, connected: bool) -> Outcome:
    """Read mitmproxy's error message: who ended an exchange, and when."""
    if message.startswith("Client disconnected"):
        return Outcome.CLIENT_CLOSED
    if connected:
        return Outcome.UPSTREAM_CLOSED
    return Outcome.TIMED_OUT if f"[Errno {errno.ETIMEDOUT}]" in message else Outcome.REFUSED


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

    def __init__(self, tap: Tap) -> None:
        self.tap = tap
        self._server = proxyserver.Proxyserver()  # type: ignore[no-untyped-call]
        self._master = Master(options.Options(mode=[]))
        others = next_layer.NextLayer(), disable_h2c.DisableH2C(), UpstreamTls()
        self._master.addons.add(self._server, *others, tap)  # type: ignore[no-untyped-call]
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
) -> AsyncIterator[Mapping[Channel, str]]:
    """Listen for every upstream on consecutive ports (0: any free ones); gives each channel's base URL.

    What is still open when this ends is kept as incomplete. Raises `RecordingError` where a port is
    taken, `UsageError` for an upstream that can not be one. One at a time in a process: mitmproxy's
    context is global.
    """
    if port + len(upstreams) > 65536:
        raise UsageError(f"{len(upstreams)} listeners from --port {port} on: there is no port above 65535")
    ports = range(port, port + len(upstreams)) if port else _free_ports(host, len(upstreams))
    modes = [_mode(upstream, host, number) for upstream, number in zip(upstreams, ports, strict=True)]
    channels = {m.full_spec: upstream.channel for m, upstream in zip(modes, upstreams, strict=True)}
    tap = Tap(keep, lambda flow: channels[flow.client_conn.proxy_mode.full_spec], max_body, own_host=True)
    engine = Engine(tap)
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
