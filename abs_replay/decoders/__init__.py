"""From the bytes of one exchange to what they say, by the first decoder that claims it.

A decoder is a module with `claims(exchange) -> bool` and `decode(exchange) -> Decoded`. It claims by
what an exchange holds (path suffix, body keys), never by host. `decode` raises for no bytes at all:
what is not understood is kept as undecoded, with a reason.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Protocol

from abs_replay import plugins
from abs_replay.decoders import (
    a2a,
    anthropic,
    anthropic_messages,
    bedrock,
    botpress,
    chat_contract,
    chat_messages,
    cohere,
    cohere_v1,
    content,
    fields,
    gemini,
    gemini_live,
    mcp,
    ollama,
    openai_chat,
    openai_realtime,
    openai_responses,
    otlp,
    responses_items,
    responses_tools,
    rest,
    runs,
)
from abs_replay.decoders.content import request_content, response_content
from abs_replay.decoders.events import (
    Answer,
    Call,
    Decoded,
    Message,
    Part,
    Post,
    Round,
    Said,
    Served,
    Span,
    Thought,
    ToolUse,
    Turn,
    composed,
)
from abs_replay.decoders.failures import unreadable
from abs_replay.decoders.fields import fault
from abs_replay.decoders.installed import installed
from abs_replay.decoders.shelving import Room, Shelf, is_open, put_on
from abs_replay.decoders.unread import unread
from abs_replay.exchange import Exchange

# Bumped when a decoder or the assembly gives another trace for the same bytes.
DECODERS_VERSION: Final = "9"


class Decoder(Protocol):
    """What a module in this folder offers."""

    def claims(self, exchange: Exchange) -> bool: ...

    def decode(self, exchange: Exchange) -> Decoded: ...


# Exactly one claims an exchange, in whatever order they are asked; those of LAST take what is left.
DECODERS: Final[Mapping[str, Decoder]] = {
    "mcp": mcp,
    "a2a": a2a,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "openai_realtime": openai_realtime,
    "gemini": gemini,
    "gemini_live": gemini_live,
    "cohere": cohere,
    "cohere_v1": cohere_v1,
    "ollama": ollama,
    "anthropic": anthropic,
    "bedrock": bedrock,
    "botpress": botpress,
    "otlp": otlp,
    "chat_contract": chat_contract,
    "rest": rest,
}
LAST: Final = ("chat_contract", "rest")  # of an agent's channel, and of a tool's
# What is kept from one exchange to the next: bodies that were read, and the histories that they repeat.
_KEPT: Final[tuple[Callable[[], None], ...]] = (
    anthropic_messages.READ.clear,
    chat_messages.HISTORIES.clear,
    chat_messages.REPLIES.clear,
    content.unpacked.cache_clear,
    fields.parsed_body.cache_clear,
    responses_items.known.cache_clear,
    responses_tools.known_function.cache_clear,
    runs.spoken.cache_clear,
)


def version() -> str:
    """What traces depend on beside their bytes: these decoders, and those of installed packages."""
    return " ".join([DECODERS_VERSION, *plugins.versions(plugins.DECODERS, DECODERS)])


def decode(exchange: Exchange, shelf: Shelf | None = None) -> Decoded:
    """Decode one exchange; never raises for what came over the wire. A shelf gets what its history says."""
    with put_on(shelf):
        return _decoded(exchange)


def _decoded(exchange: Exchange) -> Decoded:
    for name, decoder in _asked():
        try:
            if decoder.claims(exchange):
                return _with_unread(decoder.decode(exchange), exchange)
        except Exception as error:  # a decoder's fault costs one exchange, not the conversation
            return Decoded(None, reason=f"{name} failed: {_told(error)}", failed=name)
    return Decoded(None, reason=_unclaimed(exchange))


def forget() -> None:
    """Let go what was kept to read a further exchange faster, once there is none."""
    for clear in _KEPT:
        clear()


def _asked() -> Iterator[tuple[str, Decoder]]:
    """Give decoders in the order in which they are asked."""
    yield from ((name, decoder) for name, decoder in DECODERS.items() if name not in LAST)
    yield from installed(DECODERS).items()
    yield from ((name, DECODERS[name]) for name in LAST)


def stream_complete(exchange: Exchange) -> bool | None:
    """Say whether a stream's last event arrived, whatever the connection did; None for no stream."""
    return decode(exchange).complete


def _with_unread(decoded: Decoded, exchange: Exchange) -> Decoded:
    """Nothing of a history is left out without a word, nor what was wrong with a stream's bytes."""
    if decoded.turn is None:
        return decoded
    if not is_open():  # on a shelf, each text has its place
        chat_messages.REPLIES.learn(decoded.turn.reply)
    left, error = unread(exchange), unreadable(decoded.turn.error, response_content(exchange))
    if error != decoded.turn.error:
        decoded = replace(decoded, turn=replace(decoded.turn, error=error))
    return replace(decoded, remarks=(*decoded.remarks, *left)) if left else decoded


def _told(error: Exception) -> str:
    return plugins.told(error) if isinstance(error, plugins.Ended) else repr(error)


def _unclaimed(exchange: Exchange) -> str:
    request, sent = exchange.request, request_content(exchange)
    what = f"no decoder claims {request.method} {request.path} on {exchange.channel}"
    if not sent.data:
        return f"{what}: it has no body"
    wrong = fault(sent.data)
    return what if wrong is None else "; ".join([f"{what}: its body is no JSON ({wrong})", *sent.remarks])


__all__ = [
    "DECODERS",
    "DECODERS_VERSION",
    "LAST",
    "Answer",
    "Call",
    "Decoded",
    "Decoder",
    "Message",
    "Part",
    "Post",
    "Room",
    "Round",
    "Said",
    "Served",
    "Shelf",
    "Span",
    "Thought",
    "ToolUse",
    "Turn",
    "composed",
    "decode",
    "forget",
    "stream_complete",
    "version",
]
