"""An exchange as it was on the wire: start lines, headers, bodies, and when each chunk came.

A line that begins with `>` is of the request, with `<` of the response, `*` is said about them. The
messages of a WebSocket follow, `>` those of the client, with their times.
"""

from collections.abc import Iterator

from abs_replay.cli.columns import length, moment, size
from abs_replay.decoders import decode
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.exchange import Body, Exchange, Headers, Message, Request, Response, WebSocket
from abs_replay.reports.cells import escaped
from abs_replay.reports.totals import plural

SHOWN_BYTES = 64  # of a body that is no text, in hexadecimal
SHOWN_CHUNKS = 8  # at the beginning; the others are counted
SHOWN_OF_A_MESSAGE = 2000  # characters: audio comes as very long ones


def wire(exchange: Exchange) -> str:
    """The whole exchange as text; whatever could control a terminal is escaped."""
    lines = [*_heading(exchange), *_request(exchange), *_response(exchange), *_messages(exchange.websocket)]
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


def _messages(socket: WebSocket | None) -> Iterator[str]:
    if socket is None:
        return
    side = {True: "the client closed", False: "the server closed", None: "nobody closed"}
    code = "" if socket.close_code is None else f" with {socket.close_code}"
    reason = f": {socket.close_reason}" if socket.close_reason else ""
    said = plural(len(socket.messages), "message")
    yield escaped(f"* WebSocket with {said}; {side[socket.closed_by_client]}{code}{reason}")
    times = [f"+{message.at_ms / 1000:.3f}" for message in socket.messages]
    width = max(map(len, times), default=0)
    for time, message in zip(times, socket.messages, strict=True):
        mark = ">" if message.from_client else "<"
        yield f"{mark} {time:>{width}}  {escaped(_message(message))}".rstrip()


def _message(message: Message) -> str:
    cut = f" (cut: it had {size(message.size)})" if message.cut and message.size is not None else ""
    text = message.data.decode(errors="replace") if message.is_text else None
    if text is None:
        return f"{plural(len(message.data), 'byte')}: {_in_hexadecimal(message.data)}{cut}"
    if len(text) > SHOWN_OF_A_MESSAGE:
        whole = f"{size(len(message.data))}; --format json has it whole"
        return f"{text[:SHOWN_OF_A_MESSAGE]}… ({whole}){cut}"
    return text + cut


def _headers(mark: str, headers: Headers) -> Iterator[str]:
    yield from (escaped(f"{mark} {name}: {value}") for name, value in headers)


def _body(mark: str, body: Body, content: Content) -> Iterator[str]:
    yield from (f"* {escaped(remark)}" for remark in _remarks(body, content))
    if not content.data:
        return
    yield mark
    text = _text(content.data)
    if text is None:
        yield f"{mark} {_in_hexadecimal(content.data)}"
    else:
        yield from (f"{mark} {escaped(line)}".rstrip() for line in text.splitlines())


def _in_hexadecimal(data: bytes) -> str:
    more = len(data) - SHOWN_BYTES
    return f"{data[:SHOWN_BYTES].hex(' ')}{f' .. and {plural(more, "byte")} more' if more > 0 else ''}"


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
