"""The mitmproxy addon that notes every exchange, and what it notes.

Hooks run on the loop that carries every stream, so they only keep references; the `Exchange` is made
by whoever calls the function that `keep` is given.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Final

from mitmproxy import http, tls
from mitmproxy.connection import Client, Server
from mitmproxy.net.http.url import hostport

from abs_replay.exchange import Body, Channel, Exchange, Headers, Outcome, Request, Response
from abs_replay.proxy.attempts import distrusted, host_of, stand_in, unreadable
from abs_replay.proxy.ending import ending
from abs_replay.proxy.untold import UnreadRequest
from abs_replay.proxy.websocket import FAULT, Talk
from abs_replay.tee import Tee

MAX_BODY = 64 * 1024 * 1024
WAITED_FOR = 1024 * 1024  # bytes of a request that reach the upstream whole, not as they come

# In a flow's metadata, by addons that go before the tap.
LEFT_OUT: Final = "abs-left-out"  # it is not for the recording
REFUSED: Final = "abs-refused"  # why we ask no upstream for it

type Keep = Callable[[Callable[[], Exchange]], None]
type ChannelOf = Callable[[http.HTTPFlow], Channel]
type Fields = tuple[tuple[bytes, bytes], ...]


class Noted:
    """What the hooks noted of one exchange, by reference; called, it makes the value of it."""

    def __init__(self, flow: http.HTTPFlow, channel: Channel, limit: int) -> None:
        self.id, self.channel = flow.id, channel
        self.started_at, self.start = time.time(), time.perf_counter()
        request = flow.request.data
        self.line = (request.method, request.path or request.authority, request.http_version)
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

    def __call__(self) -> Exchange:
        return self._exchange(self.sent.body())

    def weight(self) -> int:
        """The bytes that are held."""
        return self.sent.kept + self.received.kept + (self.talk.kept if self.talk else 0)

    def version(self) -> tuple[object, int]:
        """What stands for all that came so far but the response's body, and how many pieces that has."""
        said = self.talk.count if self.talk else 0
        return (self.sent.pieces, self.response is not None, said), self.received.pieces

    def unfinished(self, since: int | None = None, most: int | None = None) -> Exchange:
        """As far as it came; with `since`, only the response's body from that piece on."""
        now = (time.perf_counter() - self.start) * 1000
        so_far = self._exchange(self.sent.body() if since is None else Body(), since or 0, most)
        return replace(so_far, outcome=Outcome.UNFINISHED, ended_ms=now)

    def _exchange(self, sent: Body, since: int = 0, most: int | None = None) -> Exchange:
        return Exchange(
            id=self.id,
            channel=self.channel,
            started_at=self.started_at,
            request=self._request(sent),
            response=self._response(self.response.data, self.received.body(since, most))
            if self.response
            else None,
            outcome=self.outcome,
            error=self.error or None,
            ended_ms=None if self.ended is None else (self.ended - self.start) * 1000,
            websocket=self.talk.websocket() if self.talk else None,
        )

    def _request(self, body: Body) -> Request:
        method, target, version = (part.decode("latin-1") for part in self.line)
        return Request(method, target, _headers(self.fields), body, version, self.scheme, self.host)

    def _response(self, data: http.ResponseData, body: Body) -> Response:
        return Response(
            data.status_code,
            _headers(self.response_fields),
            body,
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
        own_host: Callable[[http.HTTPFlow], bool] = lambda flow: False,
    ) -> None:
        self._keep, self._channel_of, self.max_body, self._own_host = keep, channel_of, max_body, own_host
        self._open: dict[str, Noted] = {}
        self._tls_failed: dict[str, set[object]] = {}  # the addresses, by client

    def __len__(self) -> int:
        return len(self._open)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        if LEFT_OUT in flow.metadata:
            return
        try:
            noted = self._open[flow.id] = Noted(flow, self._channel_of(flow), self.max_body)
            if not _is_short(flow.request) and REFUSED not in flow.metadata:
                flow.request.stream = noted.sent
        except Exception as fault:  # mitmproxy would log it, and the exchange would be missing in silence
            self._keep(partial(_fail, fault))
        if self._own_host(flow):
            request = flow.request
            request.host_header = hostport(request.scheme, request.host, request.port)

    def request(self, flow: http.HTTPFlow) -> None:
        noted, body = self._open.get(flow.id), flow.request.raw_content
        if noted is not None and body and not flow.request.stream:
            noted.sent(body)

    def responseheaders(self, flow: http.HTTPFlow) -> None:
        noted = self._open.get(flow.id)
        if noted is not None and flow.response is not None and REFUSED not in flow.metadata:
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
        place = flow.request.data.host, flow.request.data.port
        tls_failed = place in self._tls_failed.get(flow.client_conn.id, ())
        self._end(flow, ending(flow, tls_failed), flow.error.msg if flow.error else "")

    def tls_failed_server(self, data: tls.TlsData) -> None:
        address = data.conn.address if isinstance(data.conn, Server) else None
        self._tls_failed.setdefault(data.context.client.id, set()).add(address and address[:2])

    def client_disconnected(self, client: Client) -> None:
        self._tls_failed.pop(client.id, None)

    def http_connect_error(self, flow: http.HTTPFlow) -> None:
        if REFUSED in flow.metadata:
            self.requestheaders(flow)
            self.response(flow)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """A client that does not trust the certificate that we showed it."""
        client, address = data.context.client, data.context.server.address
        host, port = (client.sni or (address or ("unknown",))[0]), (address or ("", 443))[1]
        error = f"the client does not trust the recorder's certificate for {host}: {client.error}"
        self._attempt(client, host, port, lambda channel: distrusted(channel, host, port, error))

    def unread_request(self, data: UnreadRequest) -> None:
        """What we can not read as HTTP."""
        host, port = host_of(data.head)
        self._attempt(data.client, host, port, lambda channel: unreadable(channel, data.head))

    def _attempt(self, client: Client, host: str, port: int, made: Callable[[Channel], Exchange]) -> None:
        try:
            self._keep(partial(made, self._channel_of(stand_in(client, host, port))))
        except Exception as fault:
            self._keep(partial(_fail, fault))

    def _end(self, flow: http.HTTPFlow, outcome: Outcome, error: str) -> None:
        noted, refused = self._open.pop(flow.id, None), flow.metadata.get(REFUSED)
        if noted is not None:
            noted.end(*(outcome, error) if refused is None else (Outcome.REFUSED, refused))
            self._keep(noted)

    def unfinished(self) -> tuple[Noted, ...]:
        """What is open now; any thread may ask."""
        return tuple(self._open.values())

    def finish(self) -> None:
        """Hand over what is still open, as far as it came; what comes after is not for this recording."""
        for noted in self._open.values():
            noted.end(Outcome.UNFINISHED, "the recording ended first")
            self._keep(noted)
        self._open.clear()


def _fail(fault: Exception) -> Exchange:
    raise fault


def _is_short(request: http.Request) -> bool:
    """Say whether a body is waited for: a streamed one would never be seen where the upstream refuses."""
    length = request.headers.get("content-length", "")
    return length.isdecimal() and int(length) <= WAITED_FOR
