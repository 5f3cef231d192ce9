"""What is put into a recorder, and how much memory that holds until it is written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from abs_replay.exchange import Body, Exchange, Message
from abs_replay.store import Kept

type Made = Kept | Callable[[], Exchange]


@runtime_checkable
class Weighed(Protocol):
    """Knows how many bytes it holds."""

    def weight(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be kept at once, and how many bytes of memory it was put with."""

    kept: Sequence[Kept]
    weight: int


def size(exchange: Exchange) -> int:
    """The bytes of both bodies, as they were on the wire, and of the messages of a WebSocket."""
    parts: list[Body | Message] = [exchange.request.body]
    if exchange.response is not None:
        parts.append(exchange.response.body)
    if exchange.websocket is not None:
        parts.extend(exchange.websocket.messages)
    return sum(len(part.data) if part.size is None else part.size for part in parts)


def weight_of(made: Made) -> int:
    """The bytes that something holds while it waits."""
    if isinstance(made, Weighed):
        return made.weight()
    return size(made) if isinstance(made, Exchange) else 0
