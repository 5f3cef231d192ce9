"""One HTTP request, kept as the exchange that a recorder between the two would have seen."""

import ssl
import time
import uuid
from collections.abc import Iterator

import httpx

from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Outcome, Request, Response

LARGEST = 64 * 1024 * 1024  # bytes of an answer


def fetch(client: httpx.Client, request: httpx.Request, channel: Channel, limit_s: float) -> Exchange:
    """Send a request and keep what was said, chunk by chunk; failures are outcomes, and raise nothing.

    `limit_s` holds for the whole answer, however slowly it drips.
    """
    arrival = _Arrival(limit_s)
    outcome, error = Outcome.COMPLETE, None
    try:
        _receive(client, request, arrival)
    except httpx.HTTPError as failure:
        outcome, error = outcome_of(failure, limit_s)
    return Exchange(
        id=f"x-{uuid.uuid4().hex}",
        channel=channel,
        started_at=arrival.started_at,
        request=_request(request),
        response=arrival.response(),
        outcome=outcome,
        error=error,
        ended_ms=arrival.now_ms(),
    )


def _receive(client: httpx.Client, request: httpx.Request, arrival: "_Arrival") -> None:
    response = client.send(request, stream=True)
    try:
        arrival.head = response
        for data in response.iter_raw():
            arrival.add(data)
    finally:
        response.close()


class _Arrival:
    """What has arrived of an answer so far, and when."""

    def __init__(self, limit_s: float) -> None:
        self.started_at = time.time()
        self.head: httpx.Response | None = None
        self._start, self._limit_s = time.monotonic(), limit_s
        self._data = bytearray()
        self._chunks: list[Chunk] = []

    def now_ms(self) -> float:
        return round((time.monotonic() - self._start) * 1000, 3)

    def add(self, data: bytes) -> None:
        self._data += data
        self._chunks.append(Chunk(len(self._data), self.now_ms()))
        if len(self._data) > LARGEST:
            raise httpx.DecodingError(f"the answer is longer than {LARGEST} bytes")
        if self.now_ms() > self._limit_s * 1000:
            raise httpx.ReadTimeout("the answer did not end")

    def response(self) -> Response | None:
        if self.head is None:
            return None
        return Response(
            status=self.head.status_code,
            headers=_headers(self.head.headers),
            body=Body(bytes(self._data), tuple(self._chunks)),
            reason=self.head.reason_phrase,
            http_version=self.head.http_version,
        )


def _request(request: httpx.Request) -> Request:
    data = request.content
    return Request(
        method=request.method,
        target=request.url.raw_path.decode("latin-1"),
        headers=_headers(request.headers),
        body=Body(data, (Chunk(len(data), 0.0),) if data else ()),
        scheme=request.url.scheme,
        host=request.url.netloc.decode("latin-1"),
    )


def _headers(headers: httpx.Headers) -> Headers:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.raw)


def outcome_of(failure: httpx.HTTPError, limit_s: float) -> tuple[Outcome, str]:
    """How a failure is kept, and in which words."""
    words = str(failure) or type(failure).__name__
    if isinstance(failure, httpx.TimeoutException):
        return Outcome.TIMED_OUT, f"no whole answer within {limit_s:g} s"
    if any(isinstance(cause, ssl.SSLError) for cause in _causes(failure)):
        return Outcome.TLS_FAILED, words
    if isinstance(failure, httpx.ConnectError):
        return Outcome.REFUSED, words
    if isinstance(failure, httpx.DecodingError):
        return Outcome.CLIENT_CLOSED, words
    return Outcome.UPSTREAM_CLOSED, words


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
