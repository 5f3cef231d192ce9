"""The only HTTP client of replay: asks the real upstream of a channel, and keeps what was said.

Replay's server never imports it; `abs replay` hands it in where a user said `--live` or `--on-miss`. An
answer comes on chunk by chunk, as it came; what it came to is kept as an exchange when it is over, as a
recorder between the two would have kept it. Every request has a connection of its own.
"""

import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from ssl import SSLContext
from urllib.parse import urlsplit

import httpx

from abs_replay.agents.http_exchange import outcome_of
from abs_replay.errors import UpstreamError
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Outcome, Request, Response, Upstream

CONNECT_S, SILENT_S = 10.0, 600.0

# What is of one connection and not of the message (RFC 9110 §7.6.1), and what is replay's own.
_OF_THE_CONNECTION = frozenset(
    ("connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade")
)
_NOT_FORWARDED = _OF_THE_CONNECTION | {
    "host",
    "content-length",
    "proxy-authorization",
    "x-abs-session",
}


@dataclass(slots=True)
class Coming:
    """An answer whose head is there; `chunks` are its bytes as they come, and raise `UpstreamError`."""

    status: int
    headers: Headers
    chunks: AsyncIterator[bytes]


class Upstreams:
    """The upstreams of a cassette's channels. `keep` gets each exchange when it is over."""

    def __init__(self, upstreams: Iterable[Upstream], keep: Callable[[Exchange], None]) -> None:
        self._urls = {each.channel: each.url for each in upstreams if each.url}
        self._keep = keep

    @property
    def channels(self) -> frozenset[Channel]:
        """Those of which it is known where they are."""
        return frozenset(self._urls)

    @asynccontextmanager
    async def ask(self, request: Request, channel: Channel) -> AsyncIterator[Coming]:
        """Send a request on to the channel's upstream; raises `UpstreamError` where no answer begins."""
        arrival = _Arrival(request, channel)
        try:
            async with httpx.AsyncClient(verify=self._trusted, timeout=_PATIENCE) as client:
                with arrival.failing(self._urls[channel]):
                    response = await client.send(_built(request, self._urls[channel]), stream=True)
                try:
                    yield arrival.begun(response, self._urls[channel])
                finally:
                    await response.aclose()
        finally:
            self._keep(arrival.exchange())

    @cached_property
    def _trusted(self) -> SSLContext:
        return httpx.create_ssl_context()


_PATIENCE = httpx.Timeout(SILENT_S, connect=CONNECT_S)


def _built(request: Request, url: str) -> httpx.Request:
    """The request as it came, to another host: the listener keeps the upstream's path."""
    parts = urlsplit(url)
    place = httpx.URL(f"{parts.scheme}://{parts.netloc}")
    headers = [(name, value) for name, value in request.headers if name.lower() not in _NOT_FORWARDED]
    return httpx.Request(
        request.method,
        place.copy_with(raw_path=request.target.encode("latin-1")),
        headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        content=request.body.data,
    )


class _Failing:
    """Notes how an asking failed, and tells it in one line."""

    def __init__(self, arrival: "_Arrival", url: str) -> None:
        self._arrival, self._url = arrival, url

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, httpx.HTTPError | httpx.InvalidURL):
            self._arrival.outcome, self._arrival.error = _outcome(error)
            host = urlsplit(self._url).netloc.rpartition("@")[2]
            words = f"{self._arrival.channel} could not be asked at {host}: {self._arrival.error}"
            raise UpstreamError(words) from error


def _outcome(error: httpx.HTTPError | httpx.InvalidURL) -> tuple[Outcome, str]:
    """A target that no URL can hold (`OPTIONS *`) was never sent."""
    if isinstance(error, httpx.InvalidURL):
        return Outcome.REFUSED, str(error)
    return outcome_of(error, SILENT_S)


@dataclass(slots=True)
class _Arrival:
    """What has arrived of an answer so far, and when."""

    request: Request
    channel: Channel
    outcome: Outcome = Outcome.CLIENT_CLOSED  # until it is known that the answer came to its end
    error: str | None = None
    started_at: float = field(default_factory=time.time)
    _start: float = field(default_factory=time.monotonic)
    _response: Response | None = None
    _data: bytearray = field(default_factory=bytearray)
    _chunks: list[Chunk] = field(default_factory=list)

    def failing(self, url: str) -> _Failing:
        return _Failing(self, url)

    def begun(self, response: httpx.Response, url: str) -> Coming:
        headers = tuple(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw
        )
        self._response = Response(
            response.status_code, headers, reason=response.reason_phrase, http_version=response.http_version
        )
        passed = tuple(pair for pair in headers if pair[0].lower() not in _OF_THE_CONNECTION)
        return Coming(response.status_code, passed, self._passing(response, url))

    async def _passing(self, response: httpx.Response, url: str) -> AsyncIterator[bytes]:
        with self.failing(url):
            async for data in response.aiter_raw():
                self._data += data
                self._chunks.append(Chunk(len(self._data), self._now_ms()))
                yield data
        self.outcome = Outcome.COMPLETE

    def exchange(self) -> Exchange:
        body = Body(bytes(self._data), tuple(self._chunks))
        return Exchange(
            id=f"x-{uuid.uuid4().hex}",
            channel=self.channel,
            started_at=self.started_at,
            request=self.request,
            response=None if self._response is None else replace(self._response, body=body),
            outcome=self.outcome,
            error=self.error,
            ended_ms=self._now_ms(),
        )

    def _now_ms(self) -> float:
        return round((time.monotonic() - self._start) * 1000, 3)
