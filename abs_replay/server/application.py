"""The ASGI application that plays: a request in, the recorded answer out, in its time and with its end."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from abs_replay.exchange import Channel, Request
from abs_replay.player import Miss, Played, Player
from abs_replay.player.miss import STATUS, answer
from abs_replay.server.patience import in_its_time
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
            return self._ready(played)
        ready = self._replies.get(played.number)
        if ready is None:
            ready = self._replies[played.number] = self._ready(played)
        return ready

    def _ready(self, played: Played) -> Reply:
        exchange, response = played.exchange, played.response
        return reply(exchange, response and in_its_time(response, exchange.started_at, self._speed))

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
