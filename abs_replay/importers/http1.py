"""HTTP/1.1 messages out of the bytes of one direction of a connection, with the times of their pieces."""

from dataclasses import dataclass, field
from itertools import accumulate

import httptools

from abs_replay.exchange import Body, Chunk, Request, Response


class Unreadable(ValueError):
    """Bytes that are no HTTP/1.1."""


@dataclass(slots=True)
class Message:
    """One message as far as it came, in the times of the capture; `ended` is None where it is not whole."""

    start: float
    method: str = ""
    target: bytes = b""
    status: int = 0
    reason: bytes = b""
    version: str = "HTTP/1.1"
    headers: list[tuple[str, str]] = field(default_factory=list)
    trailers: list[tuple[str, str]] = field(default_factory=list)
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    complete_headers: bool = False
    ended: float | None = None

    def header(self, name: str) -> str:
        """The first value of a header; empty where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def body(self, start: float) -> Body:
        ends = accumulate(len(piece) for _, piece in self.pieces)
        times = (round((at - start) * 1000, 3) for at, _ in self.pieces)
        return Body(b"".join(piece for _, piece in self.pieces), tuple(map(Chunk, ends, times)))

    def request(self) -> Request:
        body = self.body(self.start)
        return Request(self.method, self.target.decode("latin-1"), tuple(self.headers), body, self.version)

    def response(self, start: float = 0.0) -> Response:
        """`start` is when its request began, from which its chunks are timed."""
        reason, headers, trailers = self.reason.decode("latin-1"), tuple(self.headers), tuple(self.trailers)
        return Response(self.status, headers, self.body(start), reason, self.version, trailers)


class Reader:
    """Parses one direction. `asks` is whether it is the client's."""

    def __init__(self, asks: bool) -> None:
        self.messages: list[Message] = []
        self.switched = False
        self._asks, self._now, self._bodiless = asks, 0.0, False
        self._parser = self._fresh()

    def _fresh(self) -> httptools.HttpRequestParser | httptools.HttpResponseParser:
        return httptools.HttpRequestParser(self) if self._asks else httptools.HttpResponseParser(self)

    def feed(self, at: float, data: bytes, bodiless: bool = False) -> None:
        """Take what one read gave; `bodiless` is for the answer to a HEAD. Raises `Unreadable`."""
        if self.switched:
            return
        self._now, self._bodiless = at, bodiless
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.switched = True
        except httptools.HttpParserError as error:
            raise Unreadable(" ".join(str(error).split())) from None
        if bodiless and self.messages and self.messages[-1].ended is not None:
            self._parser = self._fresh()  # it waits for the body that the headers promise

    def close(self, at: float) -> None:
        """Note the end of the connection, which ends an answer of no other length (RFC 9112 §6.3)."""
        last = self.messages[-1] if self.messages else None
        if last is None or last.ended is not None or not last.complete_headers:
            return
        if not last.header("content-length") and "chunked" not in last.header("transfer-encoding").lower():
            last.ended = at

    def answers(self) -> list[Message]:
        """Those whose headers came, without interim ones (RFC 9110 §15.2)."""
        return [m for m in self.messages if m.complete_headers and (m.status >= 200 or m.status == 101)]

    # What httptools calls.

    def on_message_begin(self) -> None:
        self.messages.append(Message(self._now))

    def on_url(self, url: bytes) -> None:
        self.messages[-1].target += url

    def on_status(self, reason: bytes) -> None:
        self.messages[-1].reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        last = self.messages[-1]
        fields = last.trailers if last.complete_headers else last.headers
        fields.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        last, parser = self.messages[-1], self._parser
        last.version, last.complete_headers = f"HTTP/{parser.get_http_version()}", True
        if isinstance(parser, httptools.HttpRequestParser):
            last.method = parser.get_method().decode("latin-1")
        else:
            last.status = parser.get_status_code()
        if self._bodiless:
            last.ended = self._now

    def on_body(self, data: bytes) -> None:
        if not self._bodiless:
            self.messages[-1].pieces.append((self._now, data))

    def on_message_complete(self) -> None:
        self.messages[-1].ended = self._now
