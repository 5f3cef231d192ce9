"""The messages of a WebSocket as a cassette shows them, one a line, and back to the very bytes.

    {"messages": [{"from": "client", "json": {..}, "at": 3.5}, {"from": "server", "base64": "..", "at": 4}],
     "close_code": 1000, "close_reason": "bye", "closed_by": "client"}

A message is shown as a body is that came in one chunk. One in base64 is binary, unless it says
`"is_text": true`: a text message that is no UTF-8, since it was cut inside a character.
"""

import base64
from typing import Any

from abs_replay.cassette.bodies import BadBody, body_document, read_body
from abs_replay.cassette.document import Document, Wrong, maybe, only, take
from abs_replay.cassette.layout import Line
from abs_replay.exchange import Body, Chunk, Message, WebSocket

_SOCKET_KEYS = frozenset(("messages", "close_code", "close_reason", "closed_by"))
_SIDES = {"client": True, "server": False}
_NAMES = {from_client: name for name, from_client in _SIDES.items()}


def socket_document(socket: WebSocket) -> Document:
    """Show a WebSocket; `read_socket` of it is the same."""
    closed = {
        "close_code": socket.close_code,
        "close_reason": socket.close_reason or None,
        "closed_by": None if socket.closed_by_client is None else _NAMES[socket.closed_by_client],
    }
    messages = [_message_document(message) for message in socket.messages]
    return {"messages": messages} | {key: said for key, said in closed.items() if said is not None}


def _message_document(message: Message) -> Line:
    body = Body(message.data, (Chunk(len(message.data), message.at_ms),), message.size)
    shown = body_document(body) if message.is_text else _in_base64(body)
    marked = {"is_text": True} if message.is_text and "base64" in shown else {}
    return Line({"from": _NAMES[message.from_client], **shown, **marked})


def _in_base64(body: Body) -> Document:
    shown: Document = {"base64": base64.b64encode(body.data).decode(), "at": body.chunks[0].at_ms}
    return shown if body.size is None else shown | {"size": body.size}


def read_socket(document: Document, where: str) -> WebSocket:
    """Give the WebSocket that a document shows; raises `Wrong`."""
    only(document, _SOCKET_KEYS, where)
    messages = take(document, "messages", list, where, [])
    side = maybe(document, "closed_by", str, where)
    return WebSocket(
        tuple(_read_message(each, f"{where}.messages[{n}]") for n, each in enumerate(messages)),
        maybe(document, "close_code", int, where),
        take(document, "close_reason", str, where, ""),
        None if side is None else _side(side, where, "closed_by"),
    )


def _side(name: str, where: str, key: str) -> bool:
    if name not in _SIDES:
        raise Wrong(where, "expected client or server", key)
    return _SIDES[name]


def _read_message(document: Any, where: str) -> Message:
    if type(document) is not dict:
        raise Wrong(where, "expected an object")
    from_client = _side(take(document, "from", str, where), where, "from")
    is_text = take(document, "is_text", bool, where, "base64" not in document)
    shown = {key: value for key, value in document.items() if key not in ("from", "is_text")}
    try:
        body = read_body(shown)
    except BadBody as error:
        raise Wrong(where, str(error)) from None
    if len(body.chunks) > 1:
        raise Wrong(where, "a message comes at one time: expected `at`")
    return Message(from_client, body.data, is_text, body.chunks[0].at_ms if body.chunks else 0.0, body.size)
