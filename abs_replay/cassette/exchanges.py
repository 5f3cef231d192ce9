"""Exchanges as a cassette shows them, and back."""

from collections.abc import Callable
from typing import Any

from abs_replay.cassette import answers
from abs_replay.cassette.bodies import BadBody, body_document, read_body
from abs_replay.cassette.document import Document, Wrong, maybe, number, only, take, time, time_text
from abs_replay.cassette.headers import header_lines, read_headers, read_said
from abs_replay.cassette.histories import KEYS, Pointing, resolved
from abs_replay.cassette.layout import on_a_line
from abs_replay.cassette.sockets import read_socket, socket_document
from abs_replay.exchange import Body, Channel, Exchange, Headers, Outcome, Request, Response, Role

# Bytes that bodies may come to which are said by earlier ones: a small file must not fill the memory.
MOST_RESOLVED = 1 << 30


class Earlier(dict[str, bytes]):
    """The bodies of the requests that stand before, by the ids of their exchanges, in the same conversation.

    `asked_with` are the headers of those requests, `answered_with` those of the responses, `answers` their
    bodies. `resolved` bytes were said by them so far, of the `most` that may be in the whole cassette.
    """

    resolved = 0
    most = MOST_RESOLVED

    def __init__(self) -> None:
        super().__init__()
        self.asked_with: dict[str, Headers] = {}
        self.answered_with: dict[str, Headers] = {}
        self.answers: dict[str, bytes] = {}

    def clear(self) -> None:
        """A conversation begins: nothing behind it points to what stands before it."""
        super().clear()
        self.asked_with.clear()
        self.answered_with.clear()
        self.answers.clear()

    def count(self, size: int) -> None:
        """Note the size of a body that is said by an earlier one; raises `BadBody` beyond what may be."""
        self.resolved += size
        if self.resolved > self.most:
            gib = self.most / (1 << 30)
            raise BadBody(f"as: what bodies take from earlier ones is more than {gib:g} GiB in all")


_EXCHANGE_KEYS = frozenset(
    (
        "begins",
        "id",
        "channel",
        "started",
        "request",
        "response",
        "outcome",
        "error",
        "ended_ms",
        "redacted",
        "websocket",
    )
)
_REQUEST_KEYS = frozenset(
    ("method", "target", "scheme", "host", "http_version", "headers_as", "headers", "body")
)
_RESPONSE_KEYS = frozenset(("status", "reason", "http_version", "headers_as", "headers", "body", "trailers"))


def exchange_document(exchange: Exchange, pointing: Pointing, begins: bool = False) -> Document:
    """Show an exchange, with which a conversation begins or not; `read_exchange` of it is the same."""
    if begins:
        pointing.begin()
    return {
        **({"begins": "conversation"} if begins else {}),
        "id": exchange.id,
        "channel": str(exchange.channel),
        "started": time_text(exchange.started_at),
        "request": _request_document(exchange, pointing),
        **said(response=None if exchange.response is None else _response_document(exchange, pointing)),
        **({} if exchange.outcome is Outcome.COMPLETE else {"outcome": exchange.outcome.value}),
        **said(error=exchange.error, ended_ms=exchange.ended_ms, redacted=exchange.redacted or None),
        **said(websocket=None if exchange.websocket is None else socket_document(exchange.websocket)),
    }


def _request_document(exchange: Exchange, pointing: Pointing) -> Document:
    request = exchange.request
    shown = _message_document(exchange, "request", request.headers, request.body, pointing)
    if "json" in shown.get("body", ()):
        shown["body"] = _pointed(shown["body"], exchange, pointing)
    return {
        "method": request.method,
        "target": request.target,
        **_unusual(request, scheme="http", host="", http_version="HTTP/1.1"),
        **shown,
    }


def _pointed(body: Document, exchange: Exchange, pointing: Pointing) -> Document:
    """Show a body by an earlier one, if that is shorter."""
    value, length = body["json"], len(exchange.request.body.data)
    shorter = pointing.shorter(exchange.id, exchange.channel, value, length)
    if shorter is None:
        return body
    if "append" in shorter:
        shorter["append"] = [on_a_line(message) for message in shorter["append"]]
    return {**shorter, **{key: rest for key, rest in body.items() if key != "json"}}


def _response_document(exchange: Exchange, pointing: Pointing) -> Document:
    response = exchange.response
    assert response is not None
    shown = _message_document(exchange, "response", response.headers, response.body, pointing)
    if "json" in shown.get("body", ()):
        named, value = pointing.named(exchange.id), shown["body"]["json"]
        shorter = pointing.answers.shorter(named, exchange.channel, value)
        if shorter is not None:
            shown["body"] = shorter | {key: rest for key, rest in shown["body"].items() if key != "json"}
    return {
        "status": response.status,
        **_unusual(response, reason="", http_version="HTTP/1.1"),
        **shown,
        **({"trailers": header_lines(response.trailers)} if response.trailers else {}),
    }


def said(**values: Any) -> Document:
    """What is not None."""
    return {key: value for key, value in values.items() if value is not None}


def _unusual(message: Request | Response, **usual: str) -> Document:
    return {key: getattr(message, key) for key, value in usual.items() if getattr(message, key) != value}


def _message_document(
    exchange: Exchange, side: str, headers: Headers, body: Body, pointing: Pointing
) -> Document:
    shown = pointing.headers.document(pointing.named(exchange.id), exchange.channel, side, headers)
    return shown if body == Body() else {**shown, "body": body_document(body)}


# -- reading


def read_channel(text: str, where: str) -> Channel:
    """Give the channel of that name; raises `Wrong`."""
    role, colon, name = text.partition(":")
    if role not in Role:
        raise Wrong(where, f"{text!r} is no channel: expected agent, llm or tool, and :NAME")
    return Channel(Role(role), name if colon else role)


def read_exchange(document: Any, where: str, earlier: Earlier) -> tuple[Exchange, bool]:
    """Give an exchange, and whether a conversation begins with it; notes its request as one to point to."""
    if type(document) is not dict:
        raise Wrong(where, "expected an object")
    only(document, _EXCHANGE_KEYS, where)
    begins = maybe(document, "begins", str, where)
    if begins not in (None, "conversation"):
        raise Wrong(where, "expected conversation, or nothing", "begins")
    if begins:
        earlier.clear()
    return noted(_read_exchange(document, where, earlier), earlier), begins is not None


def noted(exchange: Exchange, earlier: Earlier) -> Exchange:
    """Note an exchange as one that those behind it may point to."""
    earlier[exchange.id] = exchange.request.body.data
    earlier.asked_with[exchange.id] = exchange.request.headers
    if exchange.response is not None:
        earlier.answered_with[exchange.id] = exchange.response.headers
        earlier.answers[exchange.id] = exchange.response.body.data
    else:
        earlier.answered_with.pop(exchange.id, None)
        earlier.answers.pop(exchange.id, None)
    return exchange


def _read_exchange(document: Document, where: str, earlier: Earlier) -> Exchange:
    outcome = take(document, "outcome", str, where, "complete")
    if outcome not in Outcome:
        raise Wrong(where, f"expected one of {', '.join(Outcome)}", "outcome")
    response, socket = (maybe(document, key, dict, where) for key in ("response", "websocket"))
    return Exchange(
        id=take(document, "id", str, where),
        channel=read_channel(take(document, "channel", str, where), f"{where}.channel"),
        started_at=time(document, "started", where, 0.0),
        request=_read_request(take(document, "request", dict, where), f"{where}.request", earlier),
        response=None if response is None else _read_response(response, f"{where}.response", earlier),
        outcome=Outcome(outcome),
        error=maybe(document, "error", str, where),
        ended_ms=number(document, "ended_ms", where, None),
        redacted=take(document, "redacted", bool, where, False),
        websocket=None if socket is None else read_socket(socket, f"{where}.websocket"),
    )


def _read_request(document: Document, where: str, earlier: Earlier) -> Request:
    only(document, _REQUEST_KEYS, where)
    return Request(
        method=take(document, "method", str, where),
        target=take(document, "target", str, where),
        headers=read_said(document, where, earlier.asked_with),
        body=_read_body(document, where, lambda body: read_asked(body, earlier)),
        http_version=take(document, "http_version", str, where, "HTTP/1.1"),
        scheme=take(document, "scheme", str, where, "http"),
        host=take(document, "host", str, where, ""),
    )


def _read_response(document: Document, where: str, earlier: Earlier) -> Response:
    only(document, _RESPONSE_KEYS, where)
    status = take(document, "status", int, where)
    if not 100 <= status <= 999:
        raise Wrong(where, "expected three digits (RFC 9110 §15)", "status")
    return Response(
        status=status,
        headers=read_said(document, where, earlier.answered_with),
        body=_read_body(document, where, lambda body: read_answer(body, earlier)),
        reason=take(document, "reason", str, where, ""),
        http_version=take(document, "http_version", str, where, "HTTP/1.1"),
        trailers=read_headers(document, "trailers", where),
    )


def _read_body(document: Document, where: str, read: Callable[[Document], Body]) -> Body:
    body = maybe(document, "body", dict, where)
    try:
        return Body() if body is None else read(body)
    except BadBody as error:
        raise Wrong(where, str(error), "body") from None


def read_asked(body: Document, earlier: Earlier) -> Body:
    """Give a request's body that says all itself, or that points to an earlier one; raises `BadBody`."""
    return read_body(_whole(body, earlier, earlier, KEYS, resolved) if "as" in body else body)


def read_answer(body: Document, earlier: Earlier) -> Body:
    """Give a response's body that says all itself, or that points to an earlier one; raises `BadBody`."""
    return read_body(
        _whole(body, earlier, earlier.answers, answers.KEYS, answers.answer_of) if "as" in body else body
    )


def _whole(
    body: Document,
    earlier: Earlier,
    bodies: dict[str, bytes],
    keys: frozenset[str],
    resolve: Callable[[Document, bytes], Any],
) -> Document:
    """A body that points to an earlier one of these, as one that says all."""
    named = body["as"]
    if type(named) is not str or named not in bodies:
        raise BadBody(f"as: no exchange that stands before in this conversation is called {named!r}")
    rest = {key: item for key, item in body.items() if key not in keys}
    if "json" in rest:
        raise BadBody("as, json: expected one of them")
    earlier.count(len(bodies[named]))
    return {"json": resolve(body, bodies[named]), **rest}
