"""The ASGI application that plays: a request in, the recorded answer out, in its time and with its end."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from abs_replay.exchange import Channel, Request
from abs_replay.player import Miss, Played, Player
from abs_replay.player.miss import STATUS, answer
from abs_replay.server.faults import Fault, Injector, refusal, spoiled
from abs_replay.server.live import Live, relay
from abs_replay.server.patience import in_its_time
from abs_replay.server.replies import Ending, Reply, reply
from abs_replay.server.requests import Receive, gone, play_scope, read, whole_body
from abs_replay.server.sockets import accept, converse
from abs_replay.server.waits import Waiting, Waits

type Send = Callable[[Any], Any]

RESET = ("POST", "/__abs__/reset")
NO_FAULT = Fault()


class App:
    """The ASGI application. `speed` is None for no waiting, else how many times faster than recorded."""

    def __init__(
        self,
        player: Player,
        speed: float | None = None,
        on_miss: Callable[[Miss], None] | None = None,
        on_played: Callable[[Played, Request], None] | None = None,
        injector: Injector | None = None,
        live: Live | None = None,
    ) -> None:
        self.channels: dict[int, Channel] = {}  # by the port of the listener
        self.closing = asyncio.Event()
        self._player, self._speed = player, speed
        self._on_miss, self._on_played = on_miss, on_played
        self._replies: dict[int, Reply] = {}
        self._injector, self._live = injector, live
        self._waits = Waits(player, self.closing)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self._open(scope, receive, send)
            return
        body = await whole_body(receive)
        if body is None:
            return
        token, request = read(scope, body)
        if (request.method, request.target) == RESET:
            await self._reset(send)
            return
        port = scope["server"][1]
        fault = NO_FAULT
        if self._injector is not None:
            fault = self._injector.decide(self.channels[port], request.path)
            if await self._refused(fault, send):
                return
        if self._live is not None and self.channels[port] in self._live.channels:
            await relay(self._live, request, self.channels[port], scope, receive, send)
            return
        play = play_scope(request.headers, token)
        try:
            result = self._player.play(request, self.channels[port], play)
        except Exception:
            self.refuse(port)  # a fault of ours answers nothing: a job whose client swallows it must not pass
            raise
        self._waits.played()
        if isinstance(result, Miss):
            if self._live is not None and self._live.answers(result):
                self._player.spare(result)
                await relay(self._live, request, result.channel, scope, receive, send)
                return
            await self._send_miss(result, send)
            return
        if self._on_played is not None:
            self._on_played(result, request)
        ready = self._reply(result)
        if fault.wrong is not None:
            # It did not arrive whole: whoever asks again for it, as after a fault clients do, shall have it.
            self._player.give_back(result, play)
            ready = spoiled(ready, fault.wrong)
        waits = self._waits.of(result, play, receive)
        await self._send_reply(ready, waits, scope["abs.close"], receive, send)

    async def _open(self, scope: Any, receive: Receive, send: Send) -> None:
        async def deny(message: Any) -> None:
            await send({**message, "type": f"websocket.{message['type']}"})

        await receive()  # `websocket.connect`
        token, request = read({**scope, "method": "GET"}, b"")
        port = scope["server"][1]
        try:
            result = self._player.open(request, self.channels[port], play_scope(request.headers, token))
        except Exception:
            self.refuse(port)  # as in `__call__`
            raise
        self._waits.played()
        if isinstance(result, Miss):
            await self._send_miss(result, deny)
            return
        if self._on_played is not None:
            self._on_played(result, request)
        if result.exchange.websocket is None:
            await self._send_reply(self._reply(result), None, scope["abs.close"], receive, deny)
            return
        dialogue = self._player.dialogue(result)
        await accept(result.exchange, scope, send)
        wrong = await converse(dialogue, scope, receive, send, self._wait, self.closing)
        if wrong is not None:
            miss = self._player.miss_message(result, request, dialogue, wrong[0])
            if self._on_miss is not None:
                self._on_miss(miss)

    async def _wait(self, recorded_ms: float) -> None:
        """Wait as long as was waited in the recording, at the pace of the replay."""
        if self._speed is not None:
            await self._until(asyncio.get_running_loop().time() + recorded_ms / 1000 / self._speed)

    async def _reset(self, send: Send) -> None:
        self._player.reset()
        if self._injector is not None:
            self._injector.reset()
        await _send_all(send, 204, "text/plain", b"")

    async def _refused(self, fault: Fault, send: Send) -> bool:
        """Wait as long as a fault has it, and say whether its answer came in place of a recorded one."""
        if fault.latency_ms:
            await self._until(asyncio.get_running_loop().time() + fault.latency_ms / 1000)
        response = None if fault.wrong is None else refusal(fault.wrong)
        if response is None:
            return False
        fields = [(name.encode(), value.encode()) for name, value in response.headers]
        length = (b"content-length", str(len(response.body.data)).encode())
        start = {"type": "http.response.start", "status": response.status, "headers": [*fields, length]}
        await send(start)
        await send({"type": "http.response.body", "body": response.body.data, "more_body": False})
        return True

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
        self, ready: Reply, waits: Waiting | None, close: Callable[[], None], receive: Receive, send: Send
    ) -> None:
        if self._speed is not None or waits is not None:
            await self._send_in_time(ready, self._speed or math.inf, waits, send)
        elif ready.start is not None:
            await send(ready.start)
            for message in ready.messages:
                await send(message)
        if ready.ending is not Ending.WHOLE:
            await _end(ready, close, receive)

    async def _send_in_time(self, ready: Reply, speed: float, waits: Waiting | None, send: Send) -> None:
        begun = asyncio.get_running_loop().time()
        if ready.start is not None:
            if waits is None:
                await self._until(begun + ready.at_ms[0] / 1000 / speed)
            await send(ready.start)
        for message, at_ms in zip(ready.messages, ready.at_ms, strict=False):
            await self._until(begun + at_ms / 1000 / speed)
            if waits is not None:
                await waits.until(at_ms)
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
                await gone(receive)
    close()
    await gone(receive)


async def _send_all(send: Send, status: int, content_type: str, body: bytes) -> None:
    # `x-should-retry` is how OpenAI's and Anthropic's SDKs are told not to try again.
    headers = [
        (b"content-type", content_type.encode()),
        (b"x-should-retry", b"false"),
        *([(b"content-length", str(len(body)).encode())] if status != 204 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
