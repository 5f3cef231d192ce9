"""WebSockets of a replay: what was recorded to be said, each time after what the client had said by then."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from abs_replay.exchange import Exchange, Message, header
from abs_replay.player.dialogue import Dialogue

VIOLATION = 1008  # RFC 6455 §7.4.1: a message that is not what was agreed on
NORMAL = 1000
_UNSENDABLE = (1005, 1006, 1015)  # they say that no code was sent (RFC 6455 §7.4.1)

type Wait = Callable[[float], Awaitable[None]]


async def accept(exchange: Exchange, scope: Any, send: Any) -> None:
    """Open as it was opened, with the subprotocol that the server chose if the client offers it."""
    chosen = exchange.response and header(exchange.response.headers, "sec-websocket-protocol")
    offered = chosen if chosen in scope["subprotocols"] else None
    await send({"type": "websocket.accept", "subprotocol": offered})


async def converse(
    dialogue: Dialogue, scope: Any, receive: Any, send: Any, wait: Wait, closing: asyncio.Event
) -> tuple[bytes, bool] | None:
    """Say and hear everything in recorded order; give the message that does not match, if there is one."""
    said_ms = 0.0
    while True:
        for message in dialogue.due():
            await wait(message.at_ms - said_ms)
            said_ms = message.at_ms
            await send(_outgoing(message))
        awaited = dialogue.awaited
        if awaited is None and not dialogue.websocket.closed_by_client:
            await _end(dialogue, scope, send)
            return None
        heard = await _heard(receive, closing)
        if heard is None:
            return None
        if not dialogue.hear(*heard):
            await send({"type": "websocket.close", "code": VIOLATION, "reason": "abs replay: not recorded"})
            return heard
        said_ms = awaited.at_ms if awaited is not None else said_ms


def _outgoing(message: Message) -> dict[str, Any]:
    if message.is_text:
        return {"type": "websocket.send", "text": message.data.decode("utf-8", "replace")}
    return {"type": "websocket.send", "bytes": message.data}


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


async def _end(dialogue: Dialogue, scope: Any, send: Any) -> None:
    """Close with the recorded code, or break off where no close frame came."""
    code = dialogue.websocket.close_code
    if code in (None, 1006):
        scope["abs.close"]()
        return
    sent = NORMAL if code in _UNSENDABLE else code
    await send({"type": "websocket.close", "code": sent, "reason": dialogue.websocket.close_reason})
