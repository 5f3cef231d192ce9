"""MCP's streams in replay: what a client gets that comes back to one, and what a server's message waits for.

A stream is resumed after the event that `Last-Event-ID` names (MCP 2025-06-18, Transports, "Resumability").
A message that a server sent of its own accord is not sent before the request after which it came, nor is a
call answered before the client answered what the server asked meanwhile, as far as recorded times tell.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from abs_replay.exchange import Channel, Chunk, Exchange, Response, header
from abs_replay.matching.canonical import json_body
from abs_replay.matching.echo import SESSION_HEADER

LAST_EVENT = "last-event-id"

_END = re.compile(rb"\r?\n\r?\n")
_ID = re.compile(rb"^id:[ ]?(.*?)\r?$", re.MULTILINE)
_DATA = re.compile(rb"^data:[ ]?(\{.*?)\r?$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Cause:
    """From `at_ms` on, a recorded answer comes after exchange `number` was asked."""

    at_ms: float
    number: int


def is_stream(response: Response | None) -> bool:
    """Say whether an answer is a stream of events."""
    kind = "" if response is None else header(response.headers, "content-type") or ""
    return kind.startswith("text/event-stream")


def after(response: Response, event: str) -> Response | None:
    """What of a stream comes after an event; None where it has no such event."""
    body, at = response.body, 0
    for end in (*(found.end() for found in _END.finditer(body.data)), len(body.data)):
        named = _ID.search(body.data, at, end)
        if named and named[1].decode("utf-8", "replace") == event:
            chunks = tuple(Chunk(one.end - end, one.at_ms) for one in body.chunks if one.end > end)
            return replace(response, body=replace(body, data=body.data[end:], chunks=chunks, size=None))
        at = end
    return None


def causes(exchanges: Sequence[Exchange]) -> Mapping[int, tuple[Cause, ...]]:
    """What the answers of each exchange wait for, by its number."""
    sessions: dict[str, list[int]] = {}
    for number, exchange in enumerate(exchanges):
        session = header(exchange.request.headers, SESSION_HEADER)
        if session is not None:
            sessions.setdefault(f"{exchange.channel} {session}", []).append(number)
    found: dict[int, tuple[Cause, ...]] = {}
    for numbers in sessions.values():
        if len({exchanges[number].started_at for number in numbers}) > 1:  # else no times were recorded
            found.update(_of_session(exchanges, numbers))
    return found


def _of_session(exchanges: Sequence[Exchange], numbers: list[int]) -> Iterator[tuple[int, tuple[Cause, ...]]]:
    listening = [
        n for n in numbers if exchanges[n].request.method == "GET" and is_stream(exchanges[n].response)
    ]
    posts = sorted((n for n in numbers if exchanges[n].request.method == "POST"), key=_started(exchanges))
    loose = {one for n in listening for one in _asked_by_server(exchanges[n])}
    answers = {n: _answered(exchanges[n]) for n in posts}
    for number in listening:
        yield number, tuple(_after_requests(exchanges, number, posts))
    for number in posts:
        own = {*_asked_by_server(exchanges[number]), *loose} if answers[number] is None else set()
        waited = [n for n in posts if answers[n] in own and answers[n] is not None]
        yield number, tuple(_after_answers(exchanges, number, waited))


def _started(exchanges: Sequence[Exchange]) -> Any:
    return lambda number: exchanges[number].started_at


def _after_requests(exchanges: Sequence[Exchange], number: int, posts: list[int]) -> Iterator[Cause]:
    """The last request before each chunk, of those made since the stream was opened."""
    stream = exchanges[number]
    for at_ms in _times(stream):
        moment = stream.started_at + at_ms / 1000
        before = [n for n in posts if stream.started_at < exchanges[n].started_at < moment]
        if before:
            yield Cause(at_ms, before[-1])


def _after_answers(exchanges: Sequence[Exchange], number: int, answers: list[int]) -> Iterator[Cause]:
    """The client's answers to the server that came while a call ran."""
    call = exchanges[number]
    for answer in answers:
        passed = (exchanges[answer].started_at - call.started_at) * 1000
        later = [at_ms for at_ms in _times(call) if at_ms > passed > 0]
        if later:
            yield Cause(later[0], answer)


def _times(exchange: Exchange) -> list[float]:
    return [] if exchange.response is None else [chunk.at_ms for chunk in exchange.response.body.chunks]


def _asked_by_server(exchange: Exchange) -> Iterator[str]:
    """The ids of what a server asked in a stream."""
    if exchange.response is None or not is_stream(exchange.response):
        return
    for found in _DATA.finditer(exchange.response.body.data):
        message = json_body(found[1])
        if isinstance(message, dict) and "method" in message and "id" in message:
            yield json.dumps(message["id"])


def _answered(exchange: Exchange) -> str | None:
    """The id of what a client answers; None where it asks."""
    message = json_body(exchange.request.body.data)
    answers = isinstance(message, dict) and "method" not in message and "id" in message
    return json.dumps(message["id"]) if answers else None


class Streams:
    """The streams of a cassette, by the events in them."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._exchanges = exchanges
        self.causes = causes(exchanges)
        self._streams = [n for n, one in enumerate(exchanges) if is_stream(one.response)]
        self._resumed = {
            (one.channel, event): number
            for number, one in enumerate(exchanges)
            if (event := header(one.request.headers, LAST_EVENT)) is not None
        }

    def is_recorded(self, channel: Channel, event: str) -> bool:
        """Say whether a stream was resumed after this event when it was recorded, too."""
        return (channel, event) in self._resumed

    def holding(self, channel: Channel, event: str, session: str | None) -> tuple[int, Response] | None:
        """The stream that has an event, and what comes after it; `session` is the recorded one, if known."""
        for number in self._streams:
            exchange = self._exchanges[number]
            if exchange.channel != channel or exchange.response is None:
                continue
            if session is None or header(exchange.request.headers, SESSION_HEADER) in (session, None):
                rest = after(exchange.response, event)
                if rest is not None:
                    return number, rest
        return None
