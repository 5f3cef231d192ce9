"""Exchanges that never began: a head that is no HTTP, a client that does not trust us. They are kept, too."""

import time
import uuid

from mitmproxy import http
from mitmproxy.connection import Client, Server

from abs_replay.exchange import Body, Channel, Exchange, Outcome, Request

UNREADABLE = "the recorder can not read this request, and answered 400"


def stand_in(client: Client, host: str, port: int) -> http.HTTPFlow:
    """A flow for what never became one, so that its channel can be told."""
    flow = http.HTTPFlow(client, Server(address=(host, port)))
    flow.request = http.Request.make("CONNECT", "https://unknown.invalid/")
    flow.request.data.host, flow.request.data.port = host, port
    return flow


def distrusted(channel: Channel, host: str, port: int, error: str) -> Exchange:
    """A client's handshake with us that failed: all that is known is whom it wanted to speak to."""
    request = Request("CONNECT", f"{host}:{port}", scheme="https", host=f"{host}:{port}")
    return _ended_at_once(channel, request, Outcome.TLS_FAILED, error)


def unreadable(channel: Channel, head: bytes) -> Exchange:
    """A request that is no HTTP, taken apart as far as that goes; what is left over is its body."""
    first, *lines = head.decode("latin-1").splitlines() or [""]
    method, _, rest = first.partition(" ")
    target, _, version = rest.rpartition(" ") if " " in rest else (rest, "", "")
    fields = tuple((name, value.strip()) for name, colon, value in map(_split, lines) if colon)
    left = "\n".join(line for line in lines if line and not _split(line)[1])
    body = Body(left.encode("latin-1"))
    host = next((value for name, value in fields if name.lower() == "host"), "")
    request = Request(method, target, fields, body, version, host=host)
    return _ended_at_once(channel, request, Outcome.REFUSED, UNREADABLE)


def host_of(head: bytes) -> tuple[str, int]:
    """The host that the head of a request names, as far as it can be read."""
    for line in head.decode("latin-1").splitlines()[1:]:
        name, _, value = _split(line)
        if name.lower() == "host" and value.strip():
            host, _, port = value.strip().partition(":")
            return host, int(port) if port.isdecimal() else 80
    return "unknown", 80


def _split(line: str) -> tuple[str, str, str]:
    return line.partition(":")


def _ended_at_once(channel: Channel, request: Request, outcome: Outcome, error: str) -> Exchange:
    return Exchange(
        id=str(uuid.uuid4()),
        channel=channel,
        started_at=time.time(),
        request=request,
        outcome=outcome,
        error=error,
        ended_ms=0.0,
    )
