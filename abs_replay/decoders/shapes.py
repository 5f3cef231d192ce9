"""What shape an answer has, before any format reads it."""

from typing import Final

from abs_replay.decoders import sse
from abs_replay.decoders.content import Content
from abs_replay.decoders.fields import obj, parse_or_none
from abs_replay.exchange import Exchange, header

NEAR: Final = 4096  # bytes of a stream within which its format shows


def declared(exchange: Exchange) -> str:
    """Give the answer's declared type, in small letters; empty where it has none."""
    headers = exchange.response.headers if exchange.response else ()
    return (header(headers, "content-type") or "").lower()


def is_stream(exchange: Exchange, content: Content) -> bool:
    """Say whether an answer is an event stream."""
    return sse.is_stream(declared(exchange), start(content))


def start(content: Content) -> str:
    """Give the beginning of an answer; of a large one, the whole would be read by each that looks."""
    return Content(content.data[:NEAR]).text


def in_choices(exchange: Exchange, content: Content) -> bool:
    """Say whether an answer is in the shape of OpenAI's chat, whatever the path."""
    if is_stream(exchange, content):
        return '"choices"' in start(content)
    return isinstance(obj(parse_or_none(content.data)).get("choices"), list)
