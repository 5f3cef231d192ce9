"""A recording as portable text: one JSON file, for review, git and replay; nothing is lost.

    {"abs_cassette": 1, "name": .., "session": .., "tags": {..}, "id": .., "started": .., "ended": ..,
     "channels": {"llm:openai": "https://api.openai.com/v1"}, "marks": [{"at": .., "name": ..}],
     "exchanges": [{"id", "channel", "started", "request": {..}, "response": {..}, "outcome", ..}]}

`loads(dumps(cassette)) == cassette`, and `dumps(loads(text)) == text` for a text that `dumps` wrote.
What has its usual value is left out. Only a cassette with a WebSocket is of format 2: whoever knows none
refuses it, and reads the others. A text that can not be read is a `CassetteError` with its path.
"""

import gc
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from abs_replay.cassette.bodies import BadBody, body_document, read_body
from abs_replay.cassette.document import (
    Document,
    Wrong,
    checked_url,
    maybe,
    no_json,
    number,
    only,
    take,
    texts,
    time,
    time_text,
)
from abs_replay.cassette.headers import header_lines, read_headers
from abs_replay.cassette.layout import lay_out, one_line
from abs_replay.cassette.sockets import read_socket, socket_document
from abs_replay.errors import CassetteError
from abs_replay.exchange import (
    Body,
    Channel,
    Exchange,
    Headers,
    Mark,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
)
from abs_replay.json_styles import parse

FORMAT = 2


@dataclass(frozen=True, slots=True)
class Cassette:
    """A recording with its exchanges, in recorded order."""

    recording: Recording
    exchanges: tuple[Exchange, ...]


# -- writing


def dumps(cassette: Cassette) -> str:
    """Write a cassette as text; the same cassette always gives the same text."""
    recording = cassette.recording
    return lay_out(
        {
            "abs_cassette": FORMAT if any(each.websocket for each in cassette.exchanges) else 1,
            "name": recording.name,
            **_said(session=recording.session, tags=recording.tags or None),
            "id": recording.id,
            "started": time_text(recording.started_at),
            **_said(ended=None if recording.ended_at is None else time_text(recording.ended_at)),
            "channels": {str(upstream.channel): upstream.url for upstream in recording.upstreams},
            **_said(marks=[_mark_document(mark) for mark in recording.marks] or None),
            "exchanges": [_exchange_document(exchange) for exchange in cassette.exchanges],
        }
    )


def _said(**values: Any) -> Document:
    return {key: value for key, value in values.items() if value is not None}


def _mark_document(mark: Mark) -> Document:
    return {"at": time_text(mark.at), **_said(name=mark.name)}


def _exchange_document(exchange: Exchange) -> Document:
    return {
        "id": exchange.id,
        "channel": str(exchange.channel),
        "started": time_text(exchange.started_at),
        "request": _request_document(exchange.request),
        **_said(response=None if exchange.response is None else _response_document(exchange.response)),
        **({} if exchange.outcome is Outcome.COMPLETE else {"outcome": exchange.outcome.value}),
        **_said(error=exchange.error, ended_ms=exchange.ended_ms, redacted=exchange.redacted or None),
        **_said(websocket=None if exchange.websocket is None else socket_document(exchange.websocket)),
    }


def _request_document(request: Request) -> Document:
    return {
        "method": request.method,
        "target": request.target,
        **_unusual(request, scheme="http", host="", http_version="HTTP/1.1"),
        **_message_document(request.headers, request.body),
    }


def _response_document(response: Response) -> Document:
    return {
        "status": response.status,
        **_unusual(response, reason="", http_version="HTTP/1.1"),
        **_message_document(response.headers, response.body),
        **({"trailers": header_lines(response.trailers)} if response.trailers else {}),
    }


def _unusual(message: Request | Response, **usual: str) -> Document:
    return {key: getattr(message, key) for key, value in usual.items() if getattr(message, key) != value}


def _message_document(headers: Headers, body: Body) -> Document:
    shown = {"headers": header_lines(headers)} if headers else {}
    return shown if body == Body() else {**shown, "body": body_document(body)}


# -- reading


def loads(text: str, source: str = "cassette") -> Cassette:
    """Read a cassette; raises `CassetteError`, which begins with `source` and the path in it."""
    try:
        with _no_collection():
            return _read(_parse(text))
    except Wrong as wrong:
        raise CassetteError(f"{source}: {one_line(str(wrong))}") from None


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the collector from searching a tree that only grows: a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse(text: str) -> Document:
    try:
        # Editors on Windows may begin a text with a byte order mark.
        document = parse(text.removeprefix("\ufeff"), strict=True)
    except json.JSONDecodeError as error:
        raise Wrong("", no_json(error)) from None
    except ValueError as error:
        raise Wrong("", f"no JSON: {error}") from None
    if not isinstance(document, dict) or "abs_cassette" not in document:
        raise Wrong("", "no cassette: it has no `abs_cassette` (`abs export` writes one)")
    version = take(document, "abs_cassette", int, "")
    if version > FORMAT:
        raise Wrong(
            "", f"cassette format {version} is newer than {FORMAT}, the newest known: upgrade abs-replay"
        )
    if version < 1:
        raise Wrong("abs_cassette", f"there is no format {version}")
    return document


_CASSETTE_KEYS = frozenset(
    ("abs_cassette", "name", "session", "tags", "id", "started", "ended", "channels", "marks", "exchanges")
)
_EXCHANGE_KEYS = frozenset(
    (
        "id",
        "channel",
        "started",
        "request",
        "response",
        "outcome",
        "error",
        "ended_ms",
        "redacted",
        "websocket",
    )
)
_REQUEST_KEYS = frozenset(("method", "target", "scheme", "host", "http_version", "headers", "body"))
_RESPONSE_KEYS = frozenset(("status", "reason", "http_version", "headers", "body", "trailers"))


def _read(document: Document) -> Cassette:
    only(document, _CASSETTE_KEYS, "")
    upstreams = take(document, "channels", dict, "", {})
    recording = Recording(
        id=take(document, "id", str, "", ""),
        name=take(document, "name", str, ""),
        started_at=time(document, "started", "", 0.0),
        ended_at=time(document, "ended", "", None),
        session=maybe(document, "session", str, ""),
        tags=texts(maybe(document, "tags", dict, "") or {}, "tags"),
        upstreams=tuple(
            Upstream(_channel(channel, "channels"), checked_url(url, f"channels.{channel}"))
            for channel, url in texts(upstreams, "channels").items()
        ),
        marks=tuple(
            _read_mark(each, f"marks[{n}]") for n, each in enumerate(take(document, "marks", list, "", []))
        ),
    )
    exchanges = take(document, "exchanges", list, "")
    return Cassette(recording, tuple(_read_exchange(e, f"exchanges[{n}]") for n, e in enumerate(exchanges)))


def _read_mark(document: Any, where: str) -> Mark:
    if type(document) is not dict:
        raise Wrong(where, "expected an object")
    only(document, frozenset(("at", "name")), where)
    return Mark(time(document, "at", where), maybe(document, "name", str, where))


def _channel(text: str, where: str) -> Channel:
    role, colon, name = text.partition(":")
    if role not in Role:
        raise Wrong(where, f"{text!r} is no channel: expected agent, llm or tool, and :NAME")
    return Channel(Role(role), name if colon else role)


def _read_exchange(document: Any, where: str) -> Exchange:
    if type(document) is not dict:
        raise Wrong(where, "expected an object")
    only(document, _EXCHANGE_KEYS, where)
    outcome = take(document, "outcome", str, where, "complete")
    if outcome not in Outcome:
        raise Wrong(where, f"expected one of {', '.join(Outcome)}", "outcome")
    response, socket = (maybe(document, key, dict, where) for key in ("response", "websocket"))
    return Exchange(
        id=take(document, "id", str, where),
        channel=_channel(take(document, "channel", str, where), f"{where}.channel"),
        started_at=time(document, "started", where, 0.0),
        request=_read_request(take(document, "request", dict, where), f"{where}.request"),
        response=None if response is None else _read_response(response, f"{where}.response"),
        outcome=Outcome(outcome),
        error=maybe(document, "error", str, where),
        ended_ms=number(document, "ended_ms", where, None),
        redacted=take(document, "redacted", bool, where, False),
        websocket=None if socket is None else read_socket(socket, f"{where}.websocket"),
    )


def _read_request(document: Document, where: str) -> Request:
    only(document, _REQUEST_KEYS, where)
    return Request(
        method=take(document, "method", str, where),
        target=take(document, "target", str, where),
        headers=read_headers(document, "headers", where),
        body=_read_body(document, where),
        http_version=take(document, "http_version", str, where, "HTTP/1.1"),
        scheme=take(document, "scheme", str, where, "http"),
        host=take(document, "host", str, where, ""),
    )


def _read_response(document: Document, where: str) -> Response:
    only(document, _RESPONSE_KEYS, where)
    status = take(document, "status", int, where)
    if not 100 <= status <= 999:
        raise Wrong(where, "expected three digits (RFC 9110 §15)", "status")
    return Response(
        status=status,
        headers=read_headers(document, "headers", where),
        body=_read_body(document, where),
        reason=take(document, "reason", str, where, ""),
        http_version=take(document, "http_version", str, where, "HTTP/1.1"),
        trailers=read_headers(document, "trailers", where),
    )


def _read_body(document: Document, where: str) -> Body:
    body = maybe(document, "body", dict, where)
    if body is None:
        return Body()
    try:
        return read_body(body)
    except BadBody as error:
        raise Wrong(where, str(error), "body") from None
