"""The mitmproxy addon that notes every exchange, and what it notes.

Hooks run on the loop that carries every stream, so they only keep references; the `Exchange` is made
by whoever calls the function that `keep` is given.
"""

import errno
import time
from collections.abc import Callable
from functools import partial

from mitmproxy import http, tls
from mitmproxy.connection import Client
from mitmproxy.net.http.url import hostport

from abs_replay.exchange import Channel, Exchange, Headers, Outcome, Request, Response
from abs_replay.proxy.websocket import FAULT, Talk
from abs_replay.recorder import Tee

MAX_BODY = 64 * 1024 * 1024
WAITED_FOR = 1024 * 1024  # bytes of a request that reach the upstream whole, not as they come

type Keep = Callable[[Callable[[], Exchange]], None]
type ChannelOf = Callable[[http.HTTPFlow], Channel]
type Fields = tuple[tuple[bytes, bytes], ...]


class Noted:
    """What the hooks noted of one exchange, by reference; `exchange()` makes the value of it."""

    def __init__(self, flow: http.HTTPFlow, channel: Channel, limit: int) -> None:
        self.id, self.channel = flow.id, channel
        self.started_at, self.start = time.time(), time.perf_counter()
        request = flow.request.data
        self.line = (request.method, request.path, request.http_version)
        self.scheme = "https" if flow.client_conn.tls_established else "http"
        self.host = flow.request.host_header or ""
        self.fields: Fields = request.headers.fields
        self.sent, self.received = Tee(self.start, limit), Tee(self.start, limit)
        self.response: http.Response | None = None
        self.response_fields: Fields = ()
        self.talk: Talk | None = None  # where it became a WebSocket
        self.ended: float | None = None
        self.outcome, self.error = Outcome.COMPLETE, ""

    def end(self, outcome: Outcome = Outcome.COMPLETE, error: str = "") -> None:
        self.ended, self.outcome, self.error = time.perf_counter(), outcome, error
        if self.talk:
            self.talk.part()

    def exchange(self) -> Exchange:
        return Exchange(
            id=self.id,
            channel=self.channel,
            started_at=self.started_at,
            request=self._request(),
            response=self._response(self.response.data) if self.response else None,
            outcome=self.outcome,
            error=self.error or None,
            ended_ms=None if self.ended is None else (self.ended - self.start) * 1000,
            websocket=self.talk.websocket() if self.talk else None,
        )

    def _request(self) -> Request:
        method, target, version = (part.decode("latin-1") for part in self.line)
        headers, body = _headers(self.fields), self.sent.body()
        return Request(method, target, headers, body, version, self.scheme, self.host)

    def _response(self, data: http.ResponseData) -> Response:
        return Response(
            data.status_code,
            _headers(self.response_fields),
            self.received.body(),
            data.reason.decode("latin-1"),
            data.http_version.decode("latin-1"),
            _headers(data.trailers.fields) if data.trailers else (),
        )


def _headers(fields: Fields) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in fields)


class Tap:
    """The mitmproxy addon: hands every exchange to `keep` when it ends, however it ends.

    `channel_of` says where a flow belongs; `own_host` has it name the upstream in the Host header,
    as mitmproxy would have, had `keep_host_header` not kept the client's for us to note.
    """

    def __init__(
        self,
        keep: Keep,
        channel_of: ChannelOf,
        max_body: int = MAX_BODY,
        own_host: bool = False,
        leave_out: Callable[[http.HTTPFlow], bool] = lambda flow: False,
    ) -> None:
        self._keep, self._channel_of, self.max_body, self._own_host = keep, channel_of, max_body, own_host
        self._leave_out = leave_out
        self._open: dict[str, Noted] = {}
        self._tls_failed: set[str] = set()

    def __len__(self) -> int:
        return len(self._open)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if self._leave_out(flow):
            return
        try:
            noted = self._open[flow.id] = Noted(flow, self._channel_of(flow), self.max_body)
            if not _is_short(flow.request):
                flow.request.stream = noted.sent
        except Exception as fault:  # mitmproxy would log it, and the exchange would be missing in silence
            self._keep(partial(_fail, fault))
        if self._own_host:
            request = flow.request
            request.host_header = hostport(request.scheme, request.host, request.port)

    def request(self, flow: http.HTTPFlow) -> None:
        noted, body = self._open.get(flow.id), flow.request.raw_content
        if noted is not None and body and not flow.request.stream:
            noted.sent(body)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        noted = self._open.get(flow.id)
        if noted is not None and flow.response is not None:
            noted.response, noted.response_fields = flow.response, flow.response.data.headers.fields
            flow.response.stream = noted.received

    def response(self, flow: http.HTTPFlow) -> None:
        if flow.websocket is None:
            self._end(flow, Outcome.COMPLETE, "")

    def websocket_start(self, flow: http.HTTPFlow) -> None:
        noted = self._open.get(flow.id)
        if noted is not None and flow.websocket is not None:
            noted.talk = Talk(noted.start, self.max_body, flow.websocket)

    def websocket_message(self, flow: http.HTTPFlow) -> None:
        noted = self._open.get(flow.id)
        if noted is not None and noted.talk is not None and flow.websocket is not None:
            noted.talk.note(flow.websocket.messages[-1])

    def websocket_end(self, flow: http.HTTPFlow) -> None:
        noted = self._open.get(flow.id)
        if noted is not None and noted.talk is not None:
            self._end(flow, *noted.talk.ending(flow.metadata.get(FAULT, "")))

    def error(self, flow: http.HTTPFlow) -> None:
        message = flow.error.msg if flow.error else ""
        self._end(flow, self._outcome(flow, message), message)

    def tls_failed_server(self, data: tls.TlsData) -> None:
        self._tls_failed.add(data.context.client.id)

    def client_disconnected(self, client: Client) -> None:
        self._tls_failed.discard(client.id)

    def _outcome(self, flow: http.HTTPFlow, message: str) -> Outcome:
        if flow.client_conn.id in self._tls_failed and flow.response is None:
            return Outcome.TLS_FAILED
        return outcome(message, connected=flow.server_conn.peername is not None)

    def _end(self, flow: http.HTTPFlow, outcome: Outcome, error: str) -> None:
        noted = self._open.pop(flow.id, None)
        if noted is not None:
            noted.end(outcome, error)
            self._keep(noted.exchange)

    def finish(self) -> None:
        """Hand over what is still open, as far as it came; what comes after is not for this recording."""
        for noted in self._open.values():
            noted.end(Outcome.UPSTREAM_CLOSED, "the recording ended first")
            self._keep(noted.exchange)
        self._open.clear()


def _fail(fault: Exception) -> Exchange:
    raise fault


def outcome(message: str, connected: bool) -> Outcome:
    """Read mitmproxy's error message: who ended an exchange, and when."""
    if message.startswith("Client disconnected"):
        return Outcome.CLIENT_CLOSED
    if connected:
        return Outcome.UPSTREAM_CLOSED
    return Outcome.TIMED_OUT if f"[Errno {errno.ETIMEDOUT}]" in message else Outcome.REFUSED


def _is_short(request: http.Request) -> bool:
    """Say whether a body is waited for: a streamed one would never be seen where the upstream refuses."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) <= WAITED_FOR
