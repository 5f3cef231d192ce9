"""The JSON messages of a WebSocket, with their places and times, and the rounds of a conversation on it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from abs_replay.decoders.events import Message, Part, Round, Served, Turn
from abs_replay.decoders.fields import parse_or_none
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, header

MESSAGES: Final = "websocket.messages"
_WELL: Final = (None, 1000, 1001, 1005)
_BROKEN: Final = 1006


@dataclass(frozen=True, slots=True)
class Event:
    """One message that is a JSON object. `number` counts all messages from 0."""

    number: int
    from_client: bool
    fields: dict[str, Any]
    at_ms: float


def events(exchange: Exchange) -> Iterator[Event]:
    """Give the messages that are JSON objects, in either kind of frame: Google sends JSON as binary."""
    messages = exchange.websocket.messages if exchange.websocket else ()
    for number, message in enumerate(messages):
        fields = None if message.cut else parse_or_none(message.data.decode(errors="replace"))
        if isinstance(fields, dict):
            yield Event(number, message.from_client, fields, message.at_ms)


def unread(exchange: Exchange, read: int) -> tuple[str, ...]:
    """Say how many messages are not told, since they were cut or are no JSON objects."""
    left = (len(exchange.websocket.messages) if exchange.websocket else 0) - read
    return (f"messages that are cut or no JSON objects are not traced: {left}",) if left else ()


def moved(message: Message, at: str) -> Message:
    """Give a message, with all its parts, that stands at another place."""
    calls = tuple(replace(call, at=at) for call in message.calls)
    return replace(message, at=at, calls=calls, parts=tuple(_moved(part, at) for part in message.parts))


def _moved(part: Part, at: str) -> Part:
    if isinstance(part, Served):
        return replace(part, at=at, call=replace(part.call, at=at))
    return replace(part, at=at)


def around(turn: Turn, asked_ms: float, answered_ms: float) -> Round:
    """Make a round; an answer is never there before it was asked for."""
    return Round(turn, asked_ms, max(asked_ms, answered_ms))


def closing(exchange: Exchange) -> str | None:
    """Say how a connection ended, where it did not end well (RFC 6455 §7.4.1); vendors tell errors so."""
    socket = exchange.websocket
    if socket is None or socket.close_code in _WELL:
        return None
    if socket.close_code == _BROKEN:
        return "the connection broke off"
    reason = f": {socket.close_reason}" if socket.close_reason else ""
    return f"the connection was closed with {socket.close_code}{reason}"


def opens(exchange: Exchange) -> bool:
    """Say whether a request asks for a WebSocket."""
    return (header(exchange.request.headers, "upgrade") or "").lower() == "websocket"


def words_of(error: Json) -> str | None:
    """Give the words of an error's object, or the error if it is a text."""
    found = error.get("message") if isinstance(error, dict) else error
    return found if isinstance(found, str) and found else None
