"""Collects the exchanges of one foreign file, gives times where there are none, remarks what does not fit.

Headers stay as the tool kept them, with one exception: a `content-encoding` whose body the tool kept decoded
is left out, for with it no client could read the body, and no secret in it would be found. Chunked framing
was undone by every tool, as it is in our own recordings, so `transfer-encoding: chunked` is not wrong here.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from abs_replay.cassette.document import Wrong
from abs_replay.exchange import Body, Exchange, Headers, Outcome, Request, Response, WebSocket, header
from abs_replay.importers.imported import UNPLACED, Imported
from abs_replay.importers.messages import date_of
from abs_replay.importers.source import Source

LENGTH = "content-length is not the length of the body that was kept; it stands as recorded"
DECODED = "a body was kept decoded; its content-encoding, which no longer holds, is left out"
TIMES = "no times were kept: they follow the Date headers of responses, else exchanges begin 1 ms apart"
PARSED = "a body was kept as parsed values; it is written as compact JSON"
TAGGED = "a value stood under a tag that makes objects; it is read as data, nothing was made"
PSEUDO = "HTTP/2's pseudo headers are left out: the request line says them"

_FIXED = 0.001  # seconds, of an exchange whose length nobody knows


class Tape:
    """Collects the exchanges of one file, and what is to be remarked of them."""

    def __init__(self) -> None:
        self._exchanges: list[Exchange] = []
        self._times: list[tuple[bool, float | None]] = []
        self._remarks: list[str] = []

    def remark(self, text: str) -> None:
        """Note what is not as it was on the wire, once for each time."""
        self._remarks.append(text)

    def add(
        self,
        request: Request,
        response: Response | None,
        *,
        started_at: float | None = None,
        near: float | None = None,
        ended_ms: float | None = None,
        outcome: Outcome = Outcome.COMPLETE,
        error: str | None = None,
        id_: str = "",
        websocket: WebSocket | None = None,
    ) -> None:
        """Add an exchange; `started_at` is Unix seconds, None where no time was kept, or but one `near`."""
        request = self._fitting(request, other_length=False)
        if response is not None:
            other = request.method == "HEAD" or response.status == 304 or outcome is not Outcome.COMPLETE
            response = self._fitting(response, other_length=other)
        ended_ms = None if ended_ms is None else round(ended_ms, 3)
        exchange = Exchange(id_, UNPLACED, started_at or 0.0, request, response, outcome, error, ended_ms)
        self._exchanges.append(replace(exchange, websocket=websocket) if websocket else exchange)
        self._times.append((started_at is not None, near))

    def imported(self, **fields: Any) -> Imported:
        """Give all that was added; `fields` are others of `Imported`."""
        if not all(known or near is not None for known, near in self._times):
            self._remarks.append(TIMES)
        self._exchanges = list(_placed_in_time(self._exchanges, self._times))
        return Imported(tuple(self._exchanges), remarks=tuple(self._remarks), **fields)

    def _fitting[M: (Request, Response)](self, message: M, other_length: bool) -> M:
        headers = message.headers
        if _was_decoded(headers, message.body.data):
            self.remark(DECODED)
            headers = tuple(each for each in headers if each[0].lower() != "content-encoding")
        if any(name.startswith(":") for name, _ in headers):
            self.remark(PSEUDO)
            headers = tuple(each for each in headers if not each[0].startswith(":"))
        length = header(headers, "content-length")
        if not other_length and length is not None and length != str(_length(message.body)):
            self.remark(LENGTH)
        return replace(message, headers=headers)


def _length(body: Body) -> int:
    return len(body.data) if body.size is None else body.size


def _was_decoded(headers: Headers, data: bytes) -> bool:
    """Whether a body that is declared compressed is text: nothing that is compressed is UTF-8."""
    coding = (header(headers, "content-encoding") or "identity").strip().lower()
    if coding == "identity" or not data:
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _placed_in_time(
    exchanges: Iterable[Exchange], times: Iterable[tuple[bool, float | None]]
) -> Iterator[Exchange]:
    """Give those without a time one, so that they keep their order, each after the one before."""
    after = 0.0
    for exchange, (known, near) in zip(exchanges, times, strict=True):
        if not known:
            about = near if near is not None or exchange.response is None else date_of(exchange.response)
            exchange = replace(exchange, started_at=round(max(about or 0.0, after), 6))
        after = max(after, exchange.started_at + max(_FIXED, (exchange.ended_ms or 0.0) / 1000))
        yield exchange


@contextmanager
def reading(source: Source) -> Iterator[Tape]:
    """Collect a file's exchanges; a `Wrong` place in it becomes a `UsageError` with the file."""
    try:
        yield Tape()
    except Wrong as wrong:
        raise source.wrong(str(wrong)) from None
