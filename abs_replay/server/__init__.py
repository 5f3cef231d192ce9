"""A player behind HTTP: one listener a channel, on loopback, in a thread of its own.

What goes out is what was recorded: status, headers, bytes, chunk by chunk, and the way it ended. There is
no HTTP client here and no way to the network. `POST /__abs__/reset` begins the play again.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from abs_replay.channels import base_path
from abs_replay.errors import RecordingError
from abs_replay.exchange import Channel, Request, Upstream
from abs_replay.player import Miss, Played, Player, refused_channels
from abs_replay.player.miss import STATUS, answer
from abs_replay.server.replies import Ending, Reply, reply
from abs_replay.server.requests import Receive, play_scope, read, whole_body

type Send = Callable[[Any], Any]

RESET = ("POST", "/__abs__/reset")


class App:
    """The ASGI application. `speed` is None for no waiting, else how many times faster than recorded."""

    def __init__(
        self,
        player: Player,
        speed: float | None = None,
        on_miss: Callable[[Miss], None] | None = None,
        on_played: Callable[[Played, Request], None] | None = None,
    ) -> None:
        self.channels: dict[int, Channel] = {}  # by the port of the listener
        self.closing = asyncio.Event()
        self._player, self._speed = player, speed
        self._on_miss, self._on_played = on_miss, on_played
        self._replies: dict[int, Reply] = {}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        body = await whole_body(receive)
        if body is None:
            return
        token, request = read(scope, body)
        if (request.method, request.target) == RESET:
            self._player.reset()
            await _send_all(send, 204, "text/plain", b"")
            return
        port = scope["server"][1]
        try:
            result = self._player.play(request, self.channels[port], play_scope(request.headers, token))
        except Exception:
            self.refuse(port)  # a fault of ours answers nothing: a job whose client swallows it must not pass
            raise
        if isinstance(result, Miss):
            await self._send_miss(result, send)
        else:
            if self._on_played is not None:
                self._on_played(result, request)
            await self._send_reply(self._reply(result), scope["abs.close"], receive, send)

    def _reply(self, played: Played) -> Reply:
        if played.response is not played.exchange.response:
            return reply(played.exchange, played.response)
        ready = self._replies.get(played.number)
        if ready is None:
            ready = self._replies[played.number] = reply(played.exchange, played.response)
        return ready

    def refuse(self, port: int) -> None:
        """Count as missed what was refused before it could be looked up."""
        miss = self._player.unreadable(self.channels[port])
        if self._on_miss is not None:
            self._on_miss(miss)

    async def _send_miss(self, miss: Miss, send: Send) -> None:
        if self._on_miss is not None:
            self._on_miss(miss)
        content_type, body = answer(miss, self._player.cassette.exchanges)
        await _send_all(send, STATUS, content_type, body)

    async def _send_reply(
        self, ready: Reply, close: Callable[[], None], receive: Receive, send: Send
    ) -> None:
        if self._speed is not None:
            await self._send_in_time(ready, self._speed, send)
        elif ready.start is not None:
            await send(ready.start)
            for message in ready.messages:
                await send(message)
        if ready.ending is not Ending.WHOLE:
            await _end(ready, close, receive)

    async def _send_in_time(self, ready: Reply, speed: float, send: Send) -> None:
        begun = asyncio.get_running_loop().time()
        if ready.start is not None:
            await self._until(begun + ready.at_ms[0] / 1000 / speed)
            await send(ready.start)
        for message, at_ms in zip(ready.messages, ready.at_ms, strict=False):
            await self._until(begun + at_ms / 1000 / speed)
            await send(message)
        if ready.ending is Ending.TORN:
            await self._until(begun + ready.ended_ms / 1000 / speed)

    async def _until(self, moment: float) -> None:
        delay = moment - asyncio.get_running_loop().time()
        if delay > 0:
            with suppress(TimeoutError):  # that time has passed is the usual end of this waiting
                await asyncio.wait_for(self.closing.wait(), delay)


async def _end(ready: Reply, close: Callable[[], None], receive: Receive) -> None:
    if ready.ending is Ending.HELD:
        patience = None if ready.patience_ms is None else ready.patience_ms / 1000
        with suppress(TimeoutError):  # the client is still there: the connection ends now
            async with asyncio.timeout(patience):
                await _gone(receive)
    close()
    await _gone(receive)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_all(send: Send, status: int, content_type: str, body: bytes) -> None:
    # `x-should-retry` is how OpenAI's and Anthropic's SDKs are told not to try again.
    headers = [
        (b"content-type", content_type.encode()),
        (b"x-should-retry", b"false"),
        *([(b"content-length", str(len(body)).encode())] if status != 204 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


class _Protocol(HttpToolsProtocol):
    """Uvicorn's protocol, which lets the application end a connection, and know what could not be read."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["abs.close"] = self.transport.close  # type: ignore[typeddict-unknown-key]

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        application = self.config.loaded_app
        if isinstance(application, App) and self.server is not None and self.server[1] is not None:
            application.refuse(self.server[1])


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
    ) -> None:
        self.upstreams = served(player)
        self.refused = refused_channels(player.cassette.exchanges)
        self._host, self._port = host, port
        self._app = App(player, speed, on_miss, on_played)
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
            ws="none",
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
