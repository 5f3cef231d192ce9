"""A player behind HTTP: one listener a channel, on loopback, in a thread of its own.

What goes out is what was recorded: status, headers, bytes, chunk by chunk, and the way it ended. There is
no HTTP client here and no way to the network. `POST /__abs__/reset` begins the play again.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from abs_replay.channels import base_path, is_loopback
from abs_replay.errors import RecordingError
from abs_replay.exchange import Channel, Request, Upstream
from abs_replay.player import Miss, Played, Player, refused_channels
from abs_replay.server.application import App
from abs_replay.server.faults import Injector
from abs_replay.server.live import Live
from abs_replay.spec.faults import Faults

__all__ = ["App", "ReplayServer", "served"]


class _Protocol(HttpToolsProtocol):
    """Uvicorn's protocol, which lets the application end a connection, and know what could not be read."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["abs.close"] = self.transport.close  # type: ignore[typeddict-unknown-key]

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        application = self.config.loaded_app
        if isinstance(application, App) and self.server is not None and self.server[1] is not None:
            application.refuse(application.channels[self.server[1]])


class _Server(uvicorn.Server):
    """Uvicorn, which says when it listens, and which does not wait for clients when it stops."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self.listening = threading.Event()
        self._replay = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.loop = asyncio.get_running_loop()
        self.listening.set()

    async def main_loop(self) -> None:
        await self._replay.closing.wait()  # uvicorn's own looks ten times a second, and every test waits

    def end(self) -> None:
        """Tell it to stop, from another thread."""
        self.loop.call_soon_threadsafe(self._replay.closing.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.close()
        tasks = list(self.server_state.tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=self.config.timeout_graceful_shutdown)
        for connection in list(self.server_state.connections):
            connection.transport.abort()


class ReplayServer:
    """Serves a player until `stop`. `addresses` are the base URLs of all channels, once it is started.

    Ports are consecutive from `port`, or free ones where it is 0. A channel on which every connection was
    refused has an address on which nobody listens. Raises `RecordingError` where a port is taken.
    """

    def __init__(
        self,
        player: Player,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        speed: float | None = None,
        on_miss: Callable[[Miss], None] | None = None,
        on_played: Callable[[Played, Request], None] | None = None,
        faults: Faults | None = None,
        live: Live | None = None,
    ) -> None:
        self.upstreams = served(player)
        self.refused = refused_channels(player.cassette.exchanges) - (live.channels if live else frozenset())
        self._player = player
        self._host, self._port = host, port
        self._injector = Injector(faults) if faults is not None and faults.rules else None
        self._live = live
        self._app = App(player, speed, on_miss, on_played, self._injector, live, is_loopback(host))
        self._bound: dict[Channel, socket.socket] = {}

    def start(self) -> None:
        """Listen on every channel; returns when connections are accepted."""
        try:
            for number, upstream in enumerate(self.upstreams):
                self._bound[upstream.channel] = _bind(self._host, self._port and self._port + number)
        except RecordingError:
            self._close()
            raise
        self._ports = {channel: bound.getsockname()[1] for channel, bound in self._bound.items()}
        self._app.channels = {port: channel for channel, port in self._ports.items()}
        config = uvicorn.Config(
            self._app,
            http=_Protocol,
            ws=self._sockets(),
            ws_ping_interval=None,
            lifespan="off",
            interface="asgi3",
            log_config=None,
            log_level="error",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=5,
        )
        sockets = [bound for channel, bound in self._bound.items() if channel not in self.refused]
        self._server = _Server(config, self._app)
        self._thread = threading.Thread(
            target=self._server.run, args=(sockets,), name="abs-replay", daemon=True
        )
        self._thread.start()
        if not self._server.listening.wait(30):
            raise RecordingError("the replay server did not begin to listen within 30 s")

    def _sockets(self) -> Any:
        """The protocol for WebSockets, whose library is loaded only where some may be asked for."""
        if self._live is None and all(each.websocket is None for each in self._player.cassette.exchanges):
            return "none"
        from abs_replay.server.socket_protocol import SocketProtocol

        return SocketProtocol

    def addresses(self, token: str = "") -> Mapping[Channel, str]:
        """The base URL of each channel, with the run's token in it if there is one."""
        prefix = f"/~{token}" if token else ""
        return {
            upstream.channel: f"http://{self._host}:{self._ports[upstream.channel]}{prefix}{base_path(upstream)}"
            for upstream in self.upstreams
        }

    def soon(self, work: Callable[[], object]) -> None:
        """Have something done in the thread that plays, between two requests."""
        self._server.loop.call_soon_threadsafe(work)

    @property
    def faults(self) -> Mapping[str, int]:
        """How many faults there were so far, by kind."""
        return self._injector.had if self._injector is not None else {}

    def stop(self) -> None:
        """End every connection, and the thread; once is enough."""
        if self._thread.is_alive():
            self._server.end()
        self._thread.join()
        self._close()

    def _close(self) -> None:
        for bound in self._bound.values():
            bound.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def served(player: Player) -> tuple[Upstream, ...]:
    """The channels of a cassette: those declared, then those that only its exchanges name."""
    declared = player.cassette.recording.upstreams
    known = {upstream.channel for upstream in declared}
    seen = dict.fromkeys(exchange.channel for exchange in player.cassette.exchanges)
    return declared + tuple(Upstream(channel, "") for channel in seen if channel not in known)


def _bind(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    if port:  # a port just left by another server may be taken at once
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except (OSError, OverflowError) as error:
        bound.close()
        raise RecordingError(
            f"can not listen on {host}:{port}: {error}; say --port N for another, 0 for any free ones"
        ) from None
    return bound
