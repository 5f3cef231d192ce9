"""When each event of a stream came, by the chunk that brought its end."""

from bisect import bisect_left

from abs_replay.decoders import sse
from abs_replay.decoders.content import Content
from abs_replay.exchange import Exchange


def arrivals(exchange: Exchange, content: Content) -> list[float | None]:
    """Give, event by event, ms after the exchange's start; None where the recording does not say."""
    ends = sse.ends(content.data)
    body = exchange.response.body if exchange.response else None
    # Of a packed body the chunks are known, and not what each unpacks to.
    if body is None or not body.chunks or content.data is not body.data:
        return [None] * len(ends)
    bounds = [chunk.end for chunk in body.chunks]
    last = len(bounds) - 1
    return [body.chunks[min(bisect_left(bounds, end), last)].at_ms for end in ends]


def ended(exchange: Exchange) -> float | None:
    """Give when an answer was there: with its last chunk, whenever the connection was closed."""
    chunks = exchange.response.body.chunks if exchange.response else ()
    return chunks[-1].at_ms if chunks else exchange.ended_ms
