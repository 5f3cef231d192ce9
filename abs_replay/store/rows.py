"""Recordings and exchanges as rows: one literal of columns, and both ways through it, loss-free.

The same rows go into the tables and, as JSON lines (`lines`), into the spool. Bodies are BLOBs; headers,
chunk tables (`[[end, at_ms], ..]`), tags and upstreams are JSON text: each column costs a commit
0.2 ms, and DuckDB's lists count as two. The messages of a WebSocket are JSON text likewise.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import batched
from typing import Any

from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Headers,
    Outcome,
    Recording,
    Request,
    Response,
    Role,
    Upstream,
    WebSocket,
)
from abs_replay.store.sockets import socket_bytes, socket_of, socket_text
from abs_replay.store.texts import plain, quoted, storable

type Row = tuple[Any, ...]

EXCHANGE_COLUMNS = {
    "recording": "VARCHAR",
    "id": "VARCHAR",
    "digest": "VARCHAR",
    "role": "VARCHAR",
    "channel": "VARCHAR",
    "started_at": "DOUBLE",
    "ended_ms": "DOUBLE",
    "outcome": "VARCHAR",
    "error": "VARCHAR",
    "redacted": "BOOLEAN",
    "method": "VARCHAR",
    "scheme": "VARCHAR",
    "host": "VARCHAR",
    "target": "VARCHAR",
    "request_version": "VARCHAR",
    "request_headers": "VARCHAR",
    "request_body": "BLOB",
    "request_bytes": "BIGINT",  # on the wire, whether `request_size` says so or not: sums need no bodies
    "request_size": "BIGINT",
    "request_chunks": "VARCHAR",
    "status": "INTEGER",  # NULL: nothing came back
    "reason": "VARCHAR",
    "response_version": "VARCHAR",
    "response_headers": "VARCHAR",
    "trailers": "VARCHAR",
    "response_body": "BLOB",
    "response_bytes": "BIGINT",
    "response_size": "BIGINT",
    "response_chunks": "VARCHAR",
    "websocket": "VARCHAR",  # NULL: the exchange became none
}
BODIES = ("request_body", "response_body")
SLICE = 3 << 18  # bytes, divisible by three so that base64 can go on

RECORDING_COLUMNS = {
    "id": "VARCHAR",
    "name": "VARCHAR",
    "started_at": "DOUBLE",
    "ended_at": "DOUBLE",
    "session": "VARCHAR",
    "tags": "VARCHAR",
    "upstreams": "VARCHAR",
}


def exchange_row(recording_id: str, exchange: Exchange) -> Row:
    """One row in the order of `EXCHANGE_COLUMNS`."""
    values = storable(_exchange_values(recording_id, exchange))
    values["digest"] = _digest(values)
    return tuple(values.get(column) for column in EXCHANGE_COLUMNS)


def _exchange_values(recording_id: str, exchange: Exchange) -> dict[str, Any]:
    request, response, socket = exchange.request, exchange.response, exchange.websocket
    return {
        "recording": recording_id,
        "id": exchange.id,
        "role": exchange.channel.role.value,
        "channel": exchange.channel.name,
        "started_at": exchange.started_at,
        "ended_ms": exchange.ended_ms,
        "outcome": exchange.outcome.value,
        "error": exchange.error,
        "redacted": exchange.redacted,
        "method": request.method,
        "scheme": request.scheme,
        "host": request.host,
        "target": quoted(request.target),
        "request_version": request.http_version,
        "request_headers": _pairs(request.headers),
        **_body_values("request", request.body, socket_bytes(socket, from_client=True)),
        **(_response_values(response, socket_bytes(socket, from_client=False)) if response else {}),
        **_socket_values(socket),
    }


def _response_values(response: Response, more: int) -> dict[str, Any]:
    return {
        "status": response.status,
        "reason": response.reason,
        "response_version": response.http_version,
        "response_headers": _pairs(response.headers),
        "trailers": _pairs(response.trailers),
        **_body_values("response", response.body, more),
    }


def _body_values(of: str, body: Body, more: int) -> dict[str, Any]:
    """A body's columns; `more` is what the same side said in messages."""
    return {
        f"{of}_body": body.data,
        f"{of}_bytes": (len(body.data) if body.size is None else body.size) + more,
        f"{of}_size": body.size,
        f"{of}_chunks": _chunk_table(body.chunks),
    }


def _chunk_table(chunks: Sequence[Chunk]) -> str:
    """`[[end, at_ms], ..]`, some at a time: while a long one is encoded no other thread runs."""
    some = (json.dumps([(chunk.end, chunk.at_ms) for chunk in each])[1:-1] for each in batched(chunks, 500))
    return f"[{', '.join(some)}]"


def _socket_values(socket: WebSocket | None) -> dict[str, Any]:
    """Its column; without it there is none, so that digests stay what they were before it came."""
    return {} if socket is None else {"websocket": socket_text(socket)}


def _pairs(headers: Headers) -> str:
    return json.dumps(headers)


def _digest(values: Mapping[str, Any]) -> str:
    """The sha256 of an exchange, of its bodies by their own sha256 so that no body is copied."""
    bodies = {name: hashlib.sha256(values.get(name) or b"").hexdigest() for name in BODIES}
    own = {name: value for name, value in values.items() if name != "recording"} | bodies
    digest = hashlib.sha256()
    for piece in json_pieces(dict(sorted(own.items()))):
        digest.update(piece)
    return digest.hexdigest()


def json_pieces(values: Mapping[str, Any]) -> Iterator[bytes]:
    """What `json.dumps` makes of values, a long text a slice at a time."""
    long = {name: value for name, value in values.items() if isinstance(value, str) and len(value) > SLICE}
    if not long:
        yield json.dumps(values).encode()
        return
    before = "{"
    for name, value in values.items():
        yield f"{before}{json.dumps(name)}: ".encode()
        before = ", "
        if name in long:
            yield b'"'
            for start in range(0, len(value), SLICE):
                yield json.dumps(value[start : start + SLICE])[1:-1].encode()
            yield b'"'
        else:
            yield json.dumps(value).encode()
    yield b"}"


def digest_of(digests: Iterable[str]) -> str:
    """One digest for a set of exchanges, whatever their order."""
    return hashlib.sha256("\n".join(sorted(digests)).encode()).hexdigest()


def exchange_of(row: Row) -> Exchange:
    """The exchange of a row that `exchange_row` made."""
    values = dict(zip(EXCHANGE_COLUMNS, row, strict=True))
    return Exchange(
        id=values["id"],
        channel=Channel(Role(values["role"]), values["channel"]),
        started_at=values["started_at"],
        request=Request(
            method=values["method"],
            target=values["target"],
            headers=_headers(values["request_headers"]),
            body=_body("request", values),
            http_version=values["request_version"],
            scheme=values["scheme"],
            host=values["host"],
        ),
        response=None if values["status"] is None else _response(values),
        outcome=Outcome(values["outcome"]),
        error=values["error"],
        ended_ms=values["ended_ms"],
        redacted=values["redacted"],
        websocket=None if values["websocket"] is None else socket_of(values["websocket"]),
    )


def _response(values: Mapping[str, Any]) -> Response:
    return Response(
        status=values["status"],
        headers=_headers(values["response_headers"]),
        body=_body("response", values),
        reason=values["reason"],
        http_version=values["response_version"],
        trailers=_headers(values["trailers"]),
    )


def _body(of: str, values: Mapping[str, Any]) -> Body:
    chunks = tuple(Chunk(end, at_ms) for end, at_ms in json.loads(values[f"{of}_chunks"]))
    return Body(bytes(values[f"{of}_body"]), chunks, values[f"{of}_size"])


def _headers(text: str) -> Headers:
    return tuple((name, value) for name, value in json.loads(text))


def recording_row(recording: Recording) -> Row:
    """One row in the order of `RECORDING_COLUMNS`."""
    upstreams = [[u.channel.role.value, u.channel.name, u.url] for u in recording.upstreams]
    return (
        recording.id,
        plain(recording.name),
        recording.started_at,
        recording.ended_at,
        plain(recording.session),
        json.dumps(recording.tags),
        json.dumps(upstreams),
    )


def recording_of(row: Sequence[Any]) -> Recording:
    """The recording of a row that `recording_row` made."""
    id_, name, started_at, ended_at, session, tags, upstreams = row
    return Recording(
        id=id_,
        name=name,
        started_at=started_at,
        ended_at=ended_at,
        session=session,
        tags=json.loads(tags),
        upstreams=tuple(Upstream(Channel(Role(r), n), url) for r, n, url in json.loads(upstreams)),
    )
