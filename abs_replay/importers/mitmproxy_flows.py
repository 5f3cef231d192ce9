"""Flow files of mitmproxy (https://docs.mitmproxy.org), of any version that it can read itself.

Needs mitmproxy, which `pip install 'abs-replay[record]'` brings; it is loaded when a flow file is read. Chunk
boundaries are not in such a file. A file that breaks off gives what comes before.
"""

import io
import re
from collections.abc import Iterator
from typing import Any

from abs_replay.errors import UsageError
from abs_replay.exchange import Body, Headers, Message, Outcome, Request, Response, WebSocket
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import split_url
from abs_replay.importers.source import Source
from abs_replay.importers.tape import Tape, reading

OTHER = "a flow that is no HTTP is left out"
BROKEN = "the file breaks off, or holds what is no flow: what comes before is read"
UNSENT = "a flow of which no request was kept is left out"
_START = re.compile(rb"\d{1,12}:")
_SEARCHED = 4 * 1024 * 1024
_ABNORMAL = 1006  # no close frame came (RFC 6455 §7.1.5)


def recognises(source: Source) -> bool:
    """Whether the bytes begin like a netstring and have a flow's version."""
    return bool(_START.match(source.data)) and b"7:version" in source.data[:_SEARCHED]


def read(source: Source) -> Imported:
    """Read every HTTP flow; raises `UsageError`, also where mitmproxy is not there."""
    with reading(source) as tape:
        for flow in _flows(source, tape):
            _add(tape, flow)
        return tape.imported()


def _flows(source: Source, tape: Tape) -> Iterator[Any]:
    """Give the HTTP flows of a file. mitmproxy raises many things for bytes that are no flows."""
    try:
        from mitmproxy import http
        from mitmproxy.io import FlowReader
    except ModuleNotFoundError as error:
        raise UsageError(f"{source.path}: needs mitmproxy: pip install 'abs-replay[record]'") from error
    flows, count = FlowReader(io.BytesIO(source.data)).stream(), 0
    while True:
        try:
            flow = next(iter(flows), None)
        except Exception as error:  # whatever bytes that are no flows make it raise
            if not count:
                raise source.wrong(f"is no flow file that mitmproxy can read ({error})") from None
            tape.remark(BROKEN)
            return
        if flow is None:
            return
        count += 1
        if isinstance(flow, http.HTTPFlow):
            yield flow
        else:
            tape.remark(OTHER)


def _add(tape: Tape, flow: Any) -> None:
    if flow.request is None:
        tape.remark(UNSENT)
        return
    start, last = flow.request.timestamp_start, flow.response.timestamp_end if flow.response else None
    last = flow.websocket.timestamp_end or last if flow.websocket else last
    last = flow.error.timestamp if flow.error else last
    tape.add(
        _request(flow.request),
        _response(flow.response) if flow.response else None,
        started_at=start,
        ended_ms=None if last is None else max(0.0, (last - start) * 1000),
        outcome=_outcome(flow),
        error=flow.error.msg if flow.error else None,
        id_=flow.id,
        websocket=None if flow.websocket is None else _websocket(flow.websocket, start),
    )


def _outcome(flow: Any) -> Outcome:
    if flow.websocket and flow.websocket.close_code == _ABNORMAL:
        return Outcome.CLIENT_CLOSED if flow.websocket.closed_by_client else Outcome.UPSTREAM_CLOSED
    if flow.error is None:
        return Outcome.COMPLETE if flow.response else Outcome.UPSTREAM_CLOSED
    message = flow.error.msg.lower()
    if "client" in message and "disconnect" in message:
        return Outcome.CLIENT_CLOSED
    if "tls" in message or "certificate" in message:
        return Outcome.TLS_FAILED
    if "timed out" in message or "timeout" in message:
        return Outcome.TIMED_OUT
    connected = flow.server_conn is not None and flow.server_conn.timestamp_tcp_setup is not None
    return Outcome.UPSTREAM_CLOSED if connected or flow.response else Outcome.REFUSED


def _request(request: Any) -> Request:
    data = request.data
    return Request(
        method=data.method.decode("latin-1"),
        target=data.path.decode("latin-1"),
        headers=_headers(data.headers.fields),
        body=Body(data.content or b""),
        http_version=data.http_version.decode("latin-1"),
        scheme=data.scheme.decode("latin-1") or "http",
        host=split_url(request.pretty_url)[1],
    )


def _response(response: Any) -> Response:
    data = response.data
    return Response(
        status=data.status_code,
        headers=_headers(data.headers.fields),
        body=Body(data.content or b""),
        reason=data.reason.decode("latin-1"),
        http_version=data.http_version.decode("latin-1"),
        trailers=_headers(data.trailers.fields) if data.trailers else (),
    )


def _websocket(socket: Any, start: float) -> WebSocket:
    messages = (
        Message(
            each.from_client, each.content, each.is_text, max(0.0, round((each.timestamp - start) * 1000, 3))
        )
        for each in socket.messages
    )
    return WebSocket(tuple(messages), socket.close_code, socket.close_reason or "", socket.closed_by_client)


def _headers(fields: Any) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)
