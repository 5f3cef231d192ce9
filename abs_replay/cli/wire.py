"""An exchange as it was on the wire: start lines, headers, bodies, and when each chunk came.

A line that begins with `>` is of the request, with `<` of the response, `*` is said about them.
"""

from collections.abc import Iterator

from abs_replay.cli.columns import length, moment, size
from abs_replay.decoders import decode
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.exchange import Body, Exchange, Headers, Request, Response
from abs_replay.reports.cells import escaped
from abs_replay.reports.totals import plural

SHOWN_BYTES = 64  # of a body that is no text, in hexadecimal
SHOWN_CHUNKS = 8  # at the beginning; the others are counted


def wire(exchange: Exchange) -> str:
    """The whole exchange as text; whatever could control a terminal is escaped."""
    lines = [*_heading(exchange), *_request(exchange), *_response(exchange)]
    return "".join(f"{line}\n" for line in lines)


def _heading(exchange: Exchange) -> Iterator[str]:
    redacted = ", redacted" if exchange.redacted else ""
    took = "" if exchange.ended_ms is None else f" in {length(exchange.ended_ms)}"
    yield escaped(f"* exchange {exchange.id} on {exchange.channel}, {moment(exchange.started_at)}")
    yield escaped(f"* {exchange.outcome.value}{took}{redacted}")
    if exchange.error is not None:
        yield escaped(f"* error: {exchange.error}")
    yield escaped(f"* {_reading(exchange)}")


def _reading(exchange: Exchange) -> str:
    """What the traces make of it: its protocol, and where a stream was cut short; or why nothing."""
    decoded = decode(exchange)
    if decoded.protocol is None:
        return f"not decoded: {decoded.reason}"
    cut = ", a stream that ended before its last event" if decoded.complete is False else ""
    return f"decoded as {decoded.protocol}{cut}"


def _request(exchange: Exchange) -> Iterator[str]:
    request: Request = exchange.request
    where = f"{request.scheme}://{request.host}" if request.host else ""
    yield escaped(f"> {request.method} {where}{request.target} {request.http_version}")
    yield from _headers(">", request.headers)
    yield from _body(">", request.body, request_content(exchange))


def _response(exchange: Exchange) -> Iterator[str]:
    response: Response | None = exchange.response
    if response is None:
        yield "* no response"
        return
    yield escaped(f"< {response.http_version} {response.status} {response.reason}".rstrip())
    yield from _headers("<", response.headers)
    yield from _body("<", response.body, response_content(exchange))
    yield from _headers("<", response.trailers)


def _headers(mark: str, headers: Headers) -> Iterator[str]:
    yield from (escaped(f"{mark} {name}: {value}") for name, value in headers)


def _body(mark: str, body: Body, content: Content) -> Iterator[str]:
    yield from (f"* {escaped(remark)}" for remark in _remarks(body, content))
    if not content.data:
        return
    yield mark
    text = _text(content.data)
    if text is None:
        shown = content.data[:SHOWN_BYTES].hex(" ")
        more = len(content.data) - SHOWN_BYTES
        yield f"{mark} {shown}{f' .. and {plural(more, "byte")} more' if more > 0 else ''}"
    else:
        yield from (f"{mark} {escaped(line)}".rstrip() for line in text.splitlines())


def _text(data: bytes) -> str | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _remarks(body: Body, content: Content) -> Iterator[str]:
    if not body.data and not body.size:
        yield "no body"
        return
    unpacked = f", unpacked to {size(len(content.data))}" if content.data != body.data else ""
    kept = f"{plural(len(body.data), 'byte')}{unpacked}"
    yield f"{kept}{_chunks(body)}"
    yield from content.remarks


def _chunks(body: Body) -> str:
    if not body.chunks:
        return ""
    starts = (0, *(chunk.end for chunk in body.chunks))
    pieces = [
        f"{chunk.end - start}@{chunk.at_ms:g}" for start, chunk in zip(starts, body.chunks, strict=False)
    ]
    more = f" .. {pieces[-1]}" if len(pieces) > SHOWN_CHUNKS else ""
    return f" in {plural(len(pieces), 'chunk')} (bytes@ms: {' '.join(pieces[:SHOWN_CHUNKS])}{more})"
