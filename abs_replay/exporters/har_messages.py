"""The messages of a WebSocket as Chrome's archives have them (`_webSocketMessages`).

https://developer.chrome.com/blog/new-in-devtools-76#websocket

Chrome does not say how a connection was closed; `_webSocketClose` does, and is ours alone.
"""

import base64
from typing import Any

from abs_replay.exchange import Exchange, Message, WebSocket

TEXT, BINARY = 1, 2  # opcodes (RFC 6455 §11.8)


def socket_fields(exchange: Exchange) -> dict[str, Any]:
    """What an entry has where its exchange became a WebSocket."""
    socket = exchange.websocket
    if socket is None:
        return {}
    messages = [_message(exchange.started_at, message) for message in socket.messages]
    return {"_resourceType": "websocket", "_webSocketMessages": messages, **_close(socket)}


def _message(started_at: float, message: Message) -> dict[str, Any]:
    """A message; in base64 also where it is text that was cut inside a character."""
    try:
        opcode, data = TEXT, message.data.decode() if message.is_text else None
    except UnicodeDecodeError:
        data = None
    if data is None:
        opcode, data = BINARY, base64.b64encode(message.data).decode()
    return {
        "type": "send" if message.from_client else "receive",
        "time": started_at + message.at_ms / 1000,
        "opcode": opcode,
        "data": data,
        **({} if message.size is None else {"_size": message.size}),
    }


def _close(socket: WebSocket) -> dict[str, Any]:
    if socket.close_code is None:
        return {}
    close = {"code": socket.close_code, "reason": socket.close_reason, "byClient": socket.closed_by_client}
    return {"_webSocketClose": close}
