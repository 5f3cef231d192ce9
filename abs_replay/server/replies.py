"""Recorded answers made ready to send: header bytes, one message a chunk, and how the answer ends.

Made once for each exchange; sending then copies nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from abs_replay.exchange import Body, Exchange, Outcome, Response, header
from abs_replay.matching.echo import SESSION_HEADER

type Message = dict[str, Any]

# What can not stand in an HTTP/1.1 header (RFC 9110 §5.1, §5.5) was never on the wire either.
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[^\x00-\x08\x0a-\x1f\x7f]*")

_BODILESS = (204, 304)  # whatever an edited cassette says (RFC 9110 §6.4.1)


class Ending(StrEnum):
    """What happens when everything recorded was sent."""

    WHOLE = "whole"
    TORN = "torn"  # the connection ends, in the middle or before the first byte
    HELD = "held"  # nothing more comes until the client leaves


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as ASGI messages; `at_ms` says when each went out, `patience_ms` how long one is held."""

    start: Message | None
    messages: tuple[Message, ...] = ()
    at_ms: tuple[float, ...] = ()
    ending: Ending = Ending.WHOLE
    patience_ms: float | None = None
    ended_ms: float = 0.0


def reply(exchange: Exchange, response: Response | None) -> Reply:
    """Make ready what an exchange answers; `response` is its own, or the one that follows the request."""
    if response is None or not 200 <= response.status <= 599:
        return _no_answer(exchange)
    ending = _ending(exchange, response)
    bodiless = response.status in _BODILESS
    slices = [(data, at) for data, at in _slices(response.body) if data and not bodiless]
    messages = [_message(data) for data, _ in slices]
    if ending is Ending.WHOLE:
        messages[-1:] = [_message(slices[-1][0] if slices else b"", more=False)]
    start = {
        "type": "http.response.start",
        "status": response.status,
        "headers": _headers(exchange, response, ending),
    }
    times = tuple(at for _, at in slices) or (0.0,)
    return Reply(start, tuple(messages), times, ending, ended_ms=exchange.ended_ms or 0.0)


def _message(data: bytes, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


def _no_answer(exchange: Exchange) -> Reply:
    """Refused and broken ones end at once. Where the client gave up, it shall again, at about that time."""
    ended = exchange.ended_ms or 0.0
    if exchange.outcome is Outcome.CLIENT_CLOSED:
        return Reply(None, ending=Ending.HELD, patience_ms=2 * ended + 1000)
    return Reply(None, ending=Ending.TORN, ended_ms=ended)


def _ending(exchange: Exchange, response: Response) -> Ending:
    body, outcome = response.body, exchange.outcome
    if outcome in (Outcome.UPSTREAM_CLOSED, Outcome.TIMED_OUT, Outcome.UNFINISHED) or body.cut:
        return Ending.TORN
    if _listens(exchange, response):
        return Ending.HELD
    declared = header(response.headers, "content-length") or ""
    missing = declared.isdigit() and int(declared) > len(body.data) and exchange.request.method != "HEAD"
    return Ending.TORN if missing and outcome is Outcome.CLIENT_CLOSED else Ending.WHOLE


def _listens(exchange: Exchange, response: Response) -> bool:
    """Say whether a client listened here until it left, or until its MCP session was over.

    To end such a stream early would only make the client come again, and miss.
    """
    if exchange.request.method != "GET":
        return False
    if not (header(response.headers, "content-type") or "").startswith("text/event-stream"):
        return False
    in_session = header(exchange.request.headers, SESSION_HEADER) is not None
    return in_session or exchange.outcome is Outcome.CLIENT_CLOSED


def _headers(exchange: Exchange, response: Response, ending: Ending) -> list[tuple[bytes, bytes]]:
    length = str(len(response.body.data)).encode()
    headers = []
    for name, value in response.headers:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            continue
        if name.lower() == "transfer-encoding" and value.lower() != "chunked":
            continue  # struck out by a recorder; a client would not know how to read this (RFC 9112 §6.1)
        if name.lower() == "content-length":
            # The body may have been edited by hand, or made longer by an id that follows the request.
            if response.status in _BODILESS or not value.isdigit():
                continue
            if ending is not Ending.WHOLE and int(value) < len(response.body.data):
                continue
            if ending is Ending.WHOLE and exchange.request.method != "HEAD":
                headers.append((name.encode(), length))
                continue
        headers.append((name.encode(), value.encode("latin-1")))
    return headers


def _slices(body: Body) -> Iterator[tuple[bytes, float]]:
    at = 0
    for chunk in body.chunks:
        end = min(max(chunk.end, at), len(body.data))
        yield body.data[at:end], chunk.at_ms
        at = end
    last = body.chunks[-1].at_ms if body.chunks else 0.0
    yield body.data[at:], last
