"""The ASGI application that plays: a request in, the recorded answer out, in its time and with its end."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from abs_replay.exchange import Channel, Request
from abs_replay.player import Miss, Played, Player
from abs_replay.player.miss import STATUS, answer
from abs_replay.server.calls import Call, Send, call, send_all
from abs_replay.server.control import Control, is_control
from abs_replay.server.faults import Fault, Injector, refusal, spoiled
from abs_replay.server.live import Live, relay
from abs_replay.server.patience import in_its_time
from abs_replay.server.replies import Ending, Reply, reply
from abs_replay.server.requests import Receive, gone, whole_body
from abs_replay.server.sockets import accept, converse
from abs_replay.server.waits import Waiting, Waits

NO_FAULT = Fault()


class App:
    """The ASGI application. `speed` is None for no waiting, else how many times faster than recorded.

    `is_local` says that it is reached on loopback alone.
    """

    def __init__(
        self,
        player: Player,
        speed: float | None = None,
        on_miss: Callable[[Miss], None] | None = None,
        on_played: Callable[[Played, Request], None] | None = None,
        injector: Injector | None = None,
        live: Live | None = None,
        is_local: bool = True,
    ) -> None:
        self.channels: dict[int, Channel] = {}  # by the port of the listener
        self.closing = asyncio.Event()
        self._player, self._speed = player, speed
        self._on_miss, self._on_played = on_miss, on_played
        self._replies: dict[int, Reply] = {}
        self._injector, self._live = injector, live
        self._waits = Waits(player, self.closing)
        self._control = Control(self._reset, is_local)

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        channel = self.channels[scope["server"][1]]
        if scope["type"] == "websocket":
            await receive()  # `websocket.connect`
            await self._open(call(scope, b"", channel, receive, send))
            return
        body = await whole_body(receive)
        if body is None:
            return
        asked = call(scope, body, channel, receive, send)
        if is_control(asked.request.target):
            status, told = self._control.answer(asked.request.method, asked.request.path, scope)
            await send_all(send, status, "application/json", told)
        else:
            await self._answer(asked)

    async def _answer(self, asked: Call) -> None:
        fault = await self._fault(asked)
        if fault is None:
            return
        if self._live is not None and asked.channel in self._live.channels:
            await relay(self._live, asked.request, asked.channel, asked.scope, asked.receive, asked.send)
            return
        result = self._play(self._player.play, asked)
        if isinstance(result, Played):
            await self._send_played(result, fault, asked)
        elif self._live is not None and self._live.answers(result):
            self._player.spare(result)
            await relay(self._live, asked.request, result.channel, asked.scope, asked.receive, asked.send)
        else:
            await self._send_miss(result, asked.send)

    def _play(self, play: Callable[[Request, Channel, str], Played | Miss], asked: Call) -> Played | Miss:
        try:
            result = play(asked.request, asked.channel, asked.play)
        except Exception:
            # A fault of ours answers nothing: a job whose client swallows it must not pass.
            self.refuse(asked.channel)
            raise
        self._waits.played()
        if self._on_played is not None and isinstance(result, Played):
            self._on_played(result, asked.request)
        return result

    async def _send_played(self, result: Played, fault: Fault, asked: Call) -> None:
        ready = self._reply(result)
        if fault.wrong is not None:
            # It did not arrive whole: whoever asks again for it, as after a fault clients do, shall have it.
            self._player.give_back(result, asked.play)
            ready = spoiled(ready, fault.wrong)
        await self._send_reply(ready, self._waits.of(result, asked.play, asked.receive), asked)

    async def _open(self, asked: Call) -> None:
        denying = asked.denying()
        fault = await self._fault(denying)
        if fault is None:
            return
        if self._live is not None and asked.channel in self._live.channels:
            await self._send_miss(self._player.not_asked_live(asked.request, asked.channel), denying.send)
            return
        result = self._play(self._player.open, asked)
        if isinstance(result, Miss):
            await self._send_miss(result, denying.send)
        elif result.exchange.websocket is None:
            await self._send_played(result, fault, denying)
        else:
            await self._converse(result, fault, asked)

    async def _converse(self, result: Played, fault: Fault, asked: Call) -> None:
        dialogue = self._player.dialogue(result)
        if fault.wrong is not None:
            self._player.give_back(result, asked.play)  # as in `_send_played`
        await accept(result.exchange, asked)
        said = await converse(dialogue, asked, self._wait, self.closing, fault.wrong)
        if said is not None:
            miss = self._player.miss_message(result, asked.request, dialogue, said[0])
            if self._on_miss is not None:
                self._on_miss(miss)

    async def _wait(self, recorded_ms: float) -> None:
        """Wait as long as was waited in the recording, at the pace of the replay."""
        if self._speed is not None:
            await self._until(asyncio.get_running_loop().time() + recorded_ms / 1000 / self._speed)

    def _reset(self) -> None:
        self._player.reset()
        if self._injector is not None:
            self._injector.reset()

    async def _fault(self, asked: Call) -> Fault | None:
        """Wait as long as a fault has it; None where its answer came in place of a recorded one."""
        if self._injector is None:
            return NO_FAULT
        fault = self._injector.decide(asked.channel, asked.request.path)
        if fault.latency_ms:
            await self._until(asyncio.get_running_loop().time() + fault.latency_ms / 1000)
        response = None if fault.wrong is None else refusal(fault.wrong)
        if response is None:
            return fault
        fields = [(name.encode(), value.encode()) for name, value in response.headers]
        length = (b"content-length", str(len(response.body.data)).encode())
        start = {"type": "http.response.start", "status": response.status, "headers": [*fields, length]}
        await asked.send(start)
        await asked.send({"type": "http.response.body", "body": response.body.data, "more_body": False})
        return None

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

    def refuse(self, channel: Channel) -> None:
        """Count as missed what was refused before it could be looked up."""
        miss = self._player.unreadable(channel)
        if self._on_miss is not None:
            self._on_miss(miss)

    async def _send_miss(self, miss: Miss, send: Send) -> None:
        if self._on_miss is not None:
            self._on_miss(miss)
        content_type, body = answer(miss, self._player.cassette.exchanges)
        await send_all(send, STATUS, content_type, body)

    async def _send_reply(self, ready: Reply, waits: Waiting | None, asked: Call) -> None:
        send = asked.send
        if self._speed is not None or waits is not None:
            await self._send_in_time(ready, self._speed or math.inf, waits, send)
        elif ready.start is not None:
            await send(ready.start)
            for message in ready.messages:
                await send(message)
        if ready.ending is not Ending.WHOLE:
            await _end(ready, asked)

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


async def _end(ready: Reply, asked: Call) -> None:
    if ready.ending is Ending.HELD:
        patience = None if ready.patience_ms is None else ready.patience_ms / 1000
        with suppress(TimeoutError):  # the client is still there: the connection ends now
            async with asyncio.timeout(patience):
                await gone(asked.receive)
    asked.close()
    await gone(asked.receive)
