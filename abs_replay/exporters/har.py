"""Exchanges as an HTTP archive, HAR 1.2: http://www.softwareishard.com/blog/har-12-spec/

Contents stand decoded, as tools that read archives expect. What is no UTF-8 stands as base64; for what was
sent the specification has no such field, and `encoding` is the one that other tools use. Fields of our own
begin with `_`, as it asks for. A failure is named as browsers name it.
"""

import base64
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qsl

from abs_replay import __version__
from abs_replay.decoders.content import unpack
from abs_replay.exchange import Exchange, Headers, Outcome, Request, Response, header
from abs_replay.exporters.content import Content
from abs_replay.exporters.har_messages import socket_fields

_ERRORS: Final[Mapping[Outcome, str]] = {
    Outcome.COMPLETE: "net::ERR_EMPTY_RESPONSE",
    Outcome.CLIENT_CLOSED: "net::ERR_ABORTED",
    Outcome.UPSTREAM_CLOSED: "net::ERR_CONNECTION_CLOSED",
    Outcome.REFUSED: "net::ERR_CONNECTION_REFUSED",
    Outcome.TLS_FAILED: "net::ERR_SSL_PROTOCOL_ERROR",
    Outcome.TIMED_OUT: "net::ERR_TIMED_OUT",
    Outcome.UNFINISHED: "net::ERR_ABORTED",
}
_UNKNOWN: Final = -1  # as the specification says for sizes that nobody counted


def render(content: Content) -> str:
    """Write every exchange as an entry."""
    creator = {"name": "abs-replay", "version": __version__}
    entries = [_entry(exchange) for exchange in content.exchanges]
    log = {"version": "1.2", "creator": creator, "pages": [], "entries": entries}
    return json.dumps({"log": log}, indent=2, ensure_ascii=True) + "\n"


def _entry(exchange: Exchange) -> dict[str, Any]:
    chunks = exchange.response.body.chunks if exchange.response else ()
    total = exchange.ended_ms or 0.0
    waited = min(chunks[0].at_ms, total) if chunks else total
    entry = {
        "startedDateTime": datetime.fromtimestamp(exchange.started_at, UTC).isoformat(
            timespec="microseconds"
        ),
        "time": total,
        "request": _request(exchange.request, "ws" if exchange.websocket else "http"),
        "response": _response(exchange),
        "cache": {},
        "timings": {"send": 0, "wait": waited, "receive": round(total - waited, 3)},
        "_channel": str(exchange.channel),
        **socket_fields(exchange),
    }
    if exchange.outcome is not Outcome.COMPLETE:
        entry["_outcome"] = exchange.outcome.value
    return entry


def _request(request: Request, protocol: str) -> dict[str, Any]:
    secure = "s" if request.scheme == "https" else ""
    scheme = f"{protocol}{secure}" if request.scheme in ("http", "https") else request.scheme
    sent: dict[str, Any] = {
        "method": request.method,
        "url": f"{scheme}://{request.host}{request.target}",
        "httpVersion": request.http_version,
        "cookies": _cookies(request.headers, "cookie"),
        "headers": _headers(request.headers),
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(request.query, keep_blank_values=True, errors="replace")
        ],
        "headersSize": _UNKNOWN,
        "bodySize": _size(request.body.data, request.body.size),
    }
    if request.body.data:
        text, how = _text(_plain(request.headers, request.body.data))
        sent["postData"] = {"mimeType": header(request.headers, "content-type") or "", "text": text} | how
    return sent


def _response(exchange: Exchange) -> dict[str, Any]:
    response = exchange.response
    failed = response is None or exchange.outcome is not Outcome.COMPLETE
    why = f"{_ERRORS[exchange.outcome]}: {exchange.error}" if exchange.error else _ERRORS[exchange.outcome]
    return {
        "status": response.status if response else 0,
        "statusText": response.reason if response else "",
        "httpVersion": response.http_version if response else "",
        "cookies": _cookies(response.headers, "set-cookie") if response else [],
        "headers": _headers(response.headers) if response else [],
        "content": _content(response) if response else {"size": 0, "mimeType": "x-unknown"},
        "redirectURL": (header(response.headers, "location") or "") if response else "",
        "headersSize": _UNKNOWN,
        "bodySize": _size(response.body.data, response.body.size) if response else _UNKNOWN,
        **({"_error": why} if failed else {}),
    }


def _content(response: Response) -> dict[str, Any]:
    plain = _plain(response.headers, response.body.data)
    text, how = _text(plain)
    kind = header(response.headers, "content-type") or "x-unknown"
    return {"size": len(plain), "mimeType": kind, "text": text, **how}


def _plain(headers: Headers, data: bytes) -> bytes:
    """A body without its declared coding; as it came where that can not be undone whole."""
    coding = header(headers, "content-encoding")
    found = unpack(coding, data) if coding else None
    return data if found is None or found.remarks else found.data


def _text(data: bytes) -> tuple[str, dict[str, str]]:
    """Bytes as text, and how to read it."""
    try:
        return data.decode("utf-8"), {}
    except UnicodeDecodeError:
        return base64.b64encode(data).decode("ascii"), {"encoding": "base64"}


def _size(data: bytes, whole: int | None) -> int:
    return len(data) if whole is None else whole


def _headers(headers: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers]


def _cookies(headers: Headers, named: str) -> list[dict[str, str]]:
    found = []
    for name, value in headers:
        if name.lower() == named:
            try:
                found += [{"name": key, "value": morsel.value} for key, morsel in SimpleCookie(value).items()]
            except CookieError:
                continue  # the header itself is there all the same
    return found
