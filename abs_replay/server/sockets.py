"""WebSockets of a replay: what was recorded to be said, each time after what the client had said by then."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from abs_replay.exchange import Exchange, Message, header
from abs_replay.player.dialogue import Dialogue
from abs_replay.server.calls import Call
from abs_replay.server.faults import garbled
from abs_replay.spec.faults import FaultRule

VIOLATION = 1008  # RFC 6455 §7.4.1: a message that is not what was agreed on
NORMAL = 1000
_UNSENDABLE = (1005, 1006, 1015)  # they say that no code was sent (RFC 6455 §7.4.1)

type Wait = Callable[[float], Awaitable[None]]


async def accept(exchange: Exchange, asked: Call) -> None:
    """Open as it was opened, with the subprotocol that the server chose if the client offers it."""
    chosen = exchange.response and header(exchange.response.headers, "sec-websocket-protocol")
    offered = chosen if chosen in asked.scope["subprotocols"] else None
    await asked.send({"type": "websocket.accept", "subprotocol": offered})


async def converse(
    dialogue: Dialogue, asked: Call, wait: Wait, closing: asyncio.Event, wrong: FaultRule | None = None
) -> tuple[bytes, bool] | None:
    """Say and hear everything in recorded order; give the message that does not match, if there is one.

    Of what goes wrong, a message of the server's is a chunk; a cut ends the connection without a close frame.
    """
    said_ms, mouth = 0.0, _Mouth(asked, wrong)
    while True:
        for message in dialogue.due():
            await wait(message.at_ms - said_ms)
            said_ms = message.at_ms
            await mouth.say(message)
        awaited = dialogue.awaited
        if mouth.is_cut or (awaited is None and not dialogue.websocket.closed_by_client):
            await mouth.end(dialogue)
            return None
        heard = await _heard(asked.receive, closing)
        if heard is None:
            return None
        if not dialogue.hear(*heard):
            violation = {"type": "websocket.close", "code": VIOLATION, "reason": "abs replay: not recorded"}
            await asked.send(violation)
            return heard
        said_ms = awaited.at_ms if awaited is not None else said_ms


class _Mouth:
    """Says what the server said, with what goes wrong."""

    def __init__(self, asked: Call, wrong: FaultRule | None) -> None:
        self._asked, self._said = asked, 0
        amount = int(wrong.amount) if wrong is not None else 0
        self._cut_after = amount if wrong is not None and wrong.kind == "cut" else None
        self._garbled = amount if wrong is not None and wrong.kind == "malformed" else None

    @property
    def is_cut(self) -> bool:
        return self._cut_after is not None and self._said >= self._cut_after

    async def say(self, message: Message) -> None:
        if self.is_cut:
            return
        self._said += 1
        data = garbled(message.data) if self._said == self._garbled else message.data
        if message.is_text:
            await self._asked.send({"type": "websocket.send", "text": data.decode("utf-8", "replace")})
        else:
            await self._asked.send({"type": "websocket.send", "bytes": data})

    async def end(self, dialogue: Dialogue) -> None:
        """Close with the recorded code, or break off where no close frame came, or where it is cut."""
        code = dialogue.websocket.close_code
        if code in (None, 1006) or self._cut_after is not None:
            self._asked.close()
            return
        sent = NORMAL if code in _UNSENDABLE else code
        close = {"type": "websocket.close", "code": sent, "reason": dialogue.websocket.close_reason}
        await self._asked.send(close)


async def _heard(receive: Any, closing: asyncio.Event) -> tuple[bytes, bool] | None:
    """The client's next message, and whether it is text; None where it has left, or the replay ends."""
    ended = asyncio.ensure_future(closing.wait())
    coming = asyncio.ensure_future(receive())
    await asyncio.wait((ended, coming), return_when=asyncio.FIRST_COMPLETED)
    ended.cancel()
    if not coming.done():
        coming.cancel()
        return None
    message = coming.result()
    if message["type"] != "websocket.receive":
        return None
    text = message.get("text")
    return (message["bytes"], False) if text is None else (text.encode("utf-8", "surrogatepass"), True)
