"""OpenAI's Realtime API over a WebSocket: one connection is one conversation of many turns.

https://platform.openai.com/docs/api-reference/realtime-server-events; events of the beta are read, too,
and those of vendors who speak it. A response answers what was added to the conversation since the one
before: words, sound (told by its transcript, which may come after the answer) and what tools gave.
"""

from typing import Final
from urllib.parse import parse_qs

from abs_replay.decoders.content import response_content
from abs_replay.decoders.events import Decoded, Turn
from abs_replay.decoders.failures import failure
from abs_replay.decoders.fields import text
from abs_replay.decoders.realtime_events import Reading
from abs_replay.decoders.socket_messages import closing, events, opens, unread
from abs_replay.exchange import Exchange, Role

_PATH: Final = "/realtime"
_OURS: Final = ("session.", "conversation.", "response.", "input_audio_buffer.", "error")
_SESSION: Final = ("session.created", "session.update", "session.updated")


def claims(exchange: Exchange) -> bool:
    """Claim WebSockets to the path that speak in events of the API, and agents that begin a session."""
    if exchange.channel.role is Role.TOOL:
        return False
    known = exchange.request.path.rstrip("/").endswith(_PATH)
    if exchange.websocket is None:
        return known and opens(exchange)
    kinds = (text(event.fields.get("type")) or "" for event in events(exchange))
    return any(kind.startswith(_OURS) if known else kind in _SESSION for kind in kinds)


def decode(exchange: Exchange) -> Decoded:
    """Give the rounds of the conversation, or why there was none."""
    failed, model = failure(exchange, response_content(exchange)), _model(exchange)
    if exchange.websocket is None:
        return Decoded("openai_realtime", Turn((), model=model, error=failed or "no WebSocket was opened"))
    reading, told = Reading(model), list(events(exchange))
    for event in told:
        reading.event(event)
    rounds = tuple(reading.finished(closing(exchange), exchange.ended_ms or 0.0))
    return Decoded(
        "openai_realtime",
        complete=reading.complete,
        session=reading.session,
        remarks=tuple(dict.fromkeys([*reading.remarks, *unread(exchange, len(told))])),
        rounds=rounds,
    )


def _model(exchange: Exchange) -> str | None:
    """Give the model, or Azure's deployment, that the connection asks for."""
    query = parse_qs(exchange.request.query)
    return next((query[key][0] for key in ("model", "deployment") if key in query), None)
