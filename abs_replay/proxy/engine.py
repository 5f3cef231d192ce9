"""mitmproxy itself, embedded: its master, its options, and the few addons that a recorder needs."""

import asyncio
import errno
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from h11 import EndOfMessage
from h11._readers import ChunkedReader
from mitmproxy import certs, options, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.addons import disable_h2c, next_layer, proxyserver, tlsconfig
from mitmproxy.master import Master
from mitmproxy.proxy.layers.http import _http1
from mitmproxy.proxy.mode_specs import ProxyMode

from abs_replay.errors import RecordingError
from abs_replay.proxy.untold import tell
from abs_replay.proxy.websocket import install

SETTLE_S = 0.15  # for the last answers and hang-ups of a program that has just ended
OPTIONS: dict[str, object] = {
    "connection_strategy": "lazy",  # eager fires no hook for a refused upstream, and the client gets no 502
    "keep_host_header": True,  # the addon sets the upstream's, once it has noted the client's
    "upstream_cert": False,  # a host's certificate is made before the host is asked, by its name alone
    "http3": False,
    "tcp_timeout": 24 * 3600,  # the default cuts streams that are silent for ten minutes
}


class BodyReader(ChunkedReader):
    """Drops trailers: mitmproxy raises on those of HTTP/1, and the client would wait for ever for the end."""

    def __call__(self, buf: Any) -> Any:
        event = super().__call__(buf)
        return EndOfMessage() if isinstance(event, EndOfMessage) else event


setattr(_http1, "ChunkedReader", BodyReader)  # noqa: B010
tell()


class Tls:
    """TLS towards upstreams, and towards clients with our own certificates only, if there are any.

    mitmproxy's addon is asked, but never configured: it would keep an authority of its own in the home.
    """

    def __init__(self, certificates: certs.CertStore | None) -> None:
        self._config = tlsconfig.TlsConfig()
        self._has_certificates = certificates is not None
        if certificates is not None:
            self._config.certstore = certificates

    def load(self, loader: Loader) -> None:
        self._config.load(loader)  # type: ignore[no-untyped-call]

    def tls_start_client(self, tls_start: tls.TlsData) -> None:
        if self._has_certificates:
            self._config.tls_start_client(tls_start)

    def tls_start_server(self, tls_start: tls.TlsData) -> None:
        self._config.tls_start_server(tls_start)


class Last(Protocol):
    """The addon that goes last: its length is how much is open that it has to keep; `finish` does."""

    def __len__(self) -> int: ...

    def finish(self) -> None: ...


class Engine[T: Last]:
    """mitmproxy's master with the few addons that a recorder needs; the others cost time each hook.

    `roots` are the file and the folder of the certificates that upstreams are to be known by.
    """

    def __init__(
        self,
        tap: T,
        addons: Sequence[object],
        roots: tuple[str, str | None],
        certificates: certs.CertStore | None = None,
    ) -> None:
        self.tap = tap
        install()  # not where the tap is an addon in somebody's own mitmproxy: others may edit messages there
        self._server = proxyserver.Proxyserver()  # type: ignore[no-untyped-call]
        self._master = Master(options.Options(mode=[]))
        others = disable_h2c.DisableH2C(), Tls(certificates)
        layers = next_layer.NextLayer()  # which leaves alone what another addon has decided
        self._master.addons.add(self._server, *others, *addons, layers, tap)  # type: ignore[no-untyped-call]
        file, folder = roots
        self._master.options.update(  # type: ignore[no-untyped-call]
            **OPTIONS, ssl_verify_upstream_trusted_ca=file, ssl_verify_upstream_trusted_confdir=folder
        )
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


def _not_listening(mode: ProxyMode, error: Exception | None) -> str:
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        return f"port {mode.custom_listen_port} is taken: say --port N for other ones, 0 for any free ones"
    return f"can not listen on {mode.custom_listen_host}:{mode.custom_listen_port}: {error}"


async def _until(reached: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
