"""The messages of a WebSocket as JSON text, and back, loss-free.

    {"messages": [[from_client, at_ms, kind, data], ..],
     "close_code": .., "close_reason": .., "closed_by_client": ..}

The kind is `text`, `binary` with its data in base64, or `broken` likewise: a text message that is no
UTF-8, since it was cut inside a character. A message that was cut ends with its whole length.
"""

import base64
import json
from typing import Any

from abs_replay.exchange import Message, WebSocket


def socket_text(socket: WebSocket) -> str:
    """Write a WebSocket."""
    # One by one: while a long one is encoded no other thread runs.
    messages = ", ".join(json.dumps(_fields(message), ensure_ascii=False) for message in socket.messages)
    rest = {
        "close_code": socket.close_code,
        "close_reason": socket.close_reason,
        "closed_by_client": socket.closed_by_client,
    }
    return f'{{"messages": [{messages}], {json.dumps(rest, ensure_ascii=False)[1:]}'


def _fields(message: Message) -> list[Any]:
    size = [] if message.size is None else [message.size]
    return [message.from_client, message.at_ms, *_data(message), *size]


def _data(message: Message) -> tuple[str, str]:
    if message.is_text:
        try:
            return "text", message.data.decode()
        except UnicodeDecodeError:
            return "broken", base64.b64encode(message.data).decode()
    return "binary", base64.b64encode(message.data).decode()


def socket_of(text: str) -> WebSocket:
    """The WebSocket that `socket_text` wrote."""
    document = json.loads(text)
    return WebSocket(
        tuple(_message(*fields) for fields in document["messages"]),
        document["close_code"],
        document["close_reason"],
        document["closed_by_client"],
    )


def _message(from_client: bool, at_ms: float, kind: str, data: str, size: int | None = None) -> Message:
    plain = data.encode() if kind == "text" else base64.b64decode(data)
    return Message(from_client, plain, kind != "binary", at_ms, size)


def socket_bytes(socket: WebSocket | None, from_client: bool) -> int:
    """How many bytes one side said."""
    messages = socket.messages if socket else ()
    ours = (each for each in messages if each.from_client == from_client)
    return sum(len(each.data) if each.size is None else each.size for each in ours)
