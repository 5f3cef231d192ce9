"""Walks an exchange: first what its names call a secret, then what is known as one or looks like one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from abs_replay.exchange import Body, Exchange, Headers, Outcome, Recording, Request, Response, header
from abs_replay.plugins import foreign, told
from abs_replay.redact.bodies import rebuilt, resized, sized
from abs_replay.redact.finders import TooSlow
from abs_replay.redact.layers import cleaned, codings, unsaid
from abs_replay.redact.named import is_like_a_credential
from abs_replay.redact.names import is_of_header, is_of_parameter
from abs_replay.redact.placeholders import Placeholders
from abs_replay.redact.rules import DEFAULT, Rules
from abs_replay.redact.searching import Search, password
from abs_replay.redact.shapes import IN_TEXT, PARAMETERS, names_a_secret
from abs_replay.redact.small_texts import small_texts, with_small_texts
from abs_replay.redact.websockets import redacted_messages

_COOKIE = re.compile(rb"(^|;)(\s*(?:[^=;]*=)?)([^;]*)")
_PROTOCOL = re.compile(rb"[^\s,.]{16,4096}(?=\s*(?:,|\Z))")
_CREDENTIALS = re.compile(rb"\s*((?:[A-Za-z]{1,15}|AWS4-HMAC-SHA256)\s+)?(.*\S)", re.DOTALL)
# What a client hangs up on when it has it: the stream was whole (OpenAI, Anthropic, Responses).
_ENDINGS = (
    b"[DONE]",
    b'"message_stop"',
    b'"response.completed"',
    b'"finish_reason":"',
    b'"finish_reason": "',
)
_LAST = 64 * 1024  # bytes in which the last event is


class Redactor:
    """Takes secrets out of the exchanges of one recording, one after another. Not for several threads.

    Where an author's rule fails, what it should have looked at is not kept: `withheld` counts such exchanges,
    and `complain` is told why.
    """

    def __init__(self, rules: Rules = DEFAULT, complain: Callable[[str], None] | None = None) -> None:
        self._rules, self._complain = rules, complain
        self._placeholders = Placeholders()
        self._search = Search(rules, self._placeholders)
        self._learned = 0
        self._clean_ones: set[str] = set()  # texts that most exchanges have, since a secret was learned last
        self.withheld = 0

    def redact(self, exchange: Exchange) -> Exchange:
        """Give the exchange without secrets, `redacted` where it had any; doing it again changes nothing.

        Of a body that is not whole the end is held back, where it may be the beginning of a secret.
        """
        try:
            result = self._without_secrets(exchange)
            if self._rules.hook is not None:
                result = self._hooked(result)
        except (TooSlow, _HookFailed) as error:
            return self._withhold(exchange, str(error))
        return exchange if result == exchange else replace(result, redacted=True)

    def text(self, text: str) -> str:
        """Give a line of a log, a name, a message without secrets."""
        try:
            return self._clean(_text(self._by_parameters(_bytes(text), IN_TEXT)))
        except TooSlow as error:
            return f"(withheld: {error})"

    def recording(self, recording: Recording) -> Recording:
        """Give a recording whose name, session, tags and URLs have no secrets."""
        return replace(
            recording,
            name=self.text(recording.name),
            session=recording.session and self.text(recording.session),
            tags={self.text(key): self.tag(key, value) for key, value in recording.tags.items()},
            upstreams=tuple(replace(each, url=self.text(each.url)) for each in recording.upstreams),
            marks=tuple(replace(each, name=each.name and self.text(each.name)) for each in recording.marks),
        )

    def tag(self, name: str, value: str) -> str:
        """Give a tag's value without secrets: all of it is one where its name says so."""
        secret = self._rules.builtin and is_of_parameter(_bytes(name))
        return _text(self._placeholders.of("key", _bytes(value))) if secret else self.text(value)

    def _without_secrets(self, exchange: Exchange) -> Exchange:
        result = self._by_name(exchange)
        self._placeholders.news = True
        while self._placeholders.news:  # what a body taught may stand in a header before it
            self._placeholders.news = False
            if self._placeholders.learned != self._learned:
                self._learned = self._placeholders.learned
                self._clean_ones.clear()
            result = self._by_looks(result)
        return result

    def _by_name(self, exchange: Exchange) -> Exchange:
        request, response = exchange.request, exchange.response
        target = _text(self._by_parameters(_bytes(request.target)))
        request = replace(request, target=target, headers=self._named(request.headers))
        if response is not None:
            headers, trailers = self._named(response.headers), self._named(response.trailers)
            response = replace(response, headers=headers, trailers=trailers)
        return replace(exchange, request=request, response=response)

    def _by_parameters(self, text: bytes, parameters: re.Pattern[bytes] = PARAMETERS) -> bytes:
        if not self._rules.builtin or b"=" not in text:
            return text
        return parameters.sub(self._parameter, text)

    def _parameter(self, found: re.Match[bytes]) -> bytes:
        if not names_a_secret(found):
            return found[0]
        return found[0].removesuffix(found["value"]) + self._placeholders.of("key", found["value"])

    def _named(self, headers: Headers) -> Headers:
        return tuple((name, self._named_value(name.lower(), value)) for name, value in headers)

    def _named_value(self, name: str, value: str) -> str:
        if name in self._rules.headers:
            return _text(self._placeholders.of("key", _bytes(value)))
        if not self._rules.builtin:
            return value
        if name in ("cookie", "set-cookie"):  # the attributes of the latter are no secret
            return _text(_COOKIE.sub(self._cookie, _bytes(value), count=name == "set-cookie"))
        if name == "sec-websocket-protocol":  # browsers have no other place for a key
            return _text(_PROTOCOL.sub(self._protocol, _bytes(value)))
        if not is_of_header(name):
            return value
        kind = "auth" if name.endswith("authorization") else "key"
        return _text(_CREDENTIALS.sub(lambda found: self._credentials(kind, found), _bytes(value), 1))

    def _cookie(self, found: re.Match[bytes]) -> bytes:
        return found[1] + found[2] + self._placeholders.of("cookie", found[3])

    def _protocol(self, found: re.Match[bytes]) -> bytes:
        return self._placeholders.of("key", found[0]) if is_like_a_credential(found[0]) else found[0]

    def _credentials(self, kind: str, found: re.Match[bytes]) -> bytes:
        scheme = found[1] or b""
        placeholder = self._placeholders.of(kind, found[2])
        if scheme.strip().lower() == b"basic":
            self._placeholders.of(kind, password(found[2]))
        return scheme + placeholder

    def _by_looks(self, exchange: Exchange) -> Exchange:
        exchange = self._without_small(exchange)
        request, response, outcome = exchange.request, exchange.response, exchange.outcome
        sent = response is not None or outcome not in (Outcome.CLIENT_CLOSED, Outcome.UNFINISHED)
        self._search.running = outcome is Outcome.UNFINISHED
        websocket = exchange.websocket
        new_request = self._message(request, sent)
        new_response = response and self._message(response, outcome is Outcome.COMPLETE)
        if websocket is not None:
            websocket = redacted_messages(websocket, self._search, outcome is Outcome.COMPLETE)
        if new_request is request and new_response is response and websocket is exchange.websocket:
            return exchange
        return replace(exchange, request=new_request, response=new_response, websocket=websocket)

    def _message[M: (Request, Response)](self, message: M, ended: bool) -> M:
        body = self._body(message.body, message.headers, ended) if message.body.data else message.body
        if body is message.body:
            return message
        return replace(
            message, body=body, headers=resized(message.headers, sized(body) - sized(message.body))
        )

    def _without_small(self, exchange: Exchange) -> Exchange:
        """The exchange with clean texts beside its bodies."""
        texts = list(small_texts(exchange))
        found = [text for text in texts if text not in self._clean_ones]
        joined = "\n".join(found)  # no pattern that is built in goes over a line's end
        if joined and (self._rules.finders or self._clean(joined) != joined):
            return with_small_texts(exchange, map(self._clean, texts))
        if not self._placeholders.news and len(self._clean_ones) < 4096:
            self._clean_ones.update(found)
        return exchange

    def _clean(self, text: str) -> str:
        if not text:
            return text
        data = _bytes(text)
        cleaned, _ = self._search.replaced(data)
        return text if cleaned is data else _text(cleaned)

    def _body(self, body: Body, headers: Headers, ended: bool) -> Body:
        kind, whole = header(headers, "content-type") or "", _is_whole(body, headers, ended)
        said = codings(header(headers, "content-encoding") or "", kind) or unsaid(kind, body.data)

        def clean(data: bytes, ends: Sequence[int], *, ended: bool = False) -> tuple[bytes, Sequence[int]]:
            return self._search.body(data, ends, kind, whole or ended)

        self._search.held = 0
        data, new_ends = cleaned(body.data, tuple([chunk.end for chunk in body.chunks]), said, clean)
        return body if data is body.data else rebuilt(body, data, new_ends, self._search.held)

    def _hooked(self, exchange: Exchange) -> Exchange:
        """What the author's hook makes of an exchange, with the lengths that then are right."""
        assert self._rules.hook is not None
        try:
            with foreign():
                result = self._rules.hook(exchange)
        except Exception as error:  # the user's own code, whatever it raises
            raise _HookFailed(f"the redaction hook failed: {self._clean(told(error))}") from error
        if not _is_of(result, exchange):
            raise _HookFailed("the redaction hook gave no exchange of the same id and channel")
        request = _measured(exchange.request, result.request)
        response = result.response
        if response is not None and exchange.response is not None:
            response = _measured(exchange.response, response)
        return replace(result, request=request, response=response)

    def _withhold(self, exchange: Exchange, why: str) -> Exchange:
        """That an exchange was, without anything that it said."""
        self.withheld += 1
        if self._complain is not None:
            self._complain(f"exchange {exchange.id} is kept without its content: {why}")
        request, response = exchange.request, exchange.response
        return replace(
            exchange,
            request=replace(request, target="/", host="", headers=(), body=Body(size=sized(request.body))),
            response=response
            and replace(response, reason="", headers=(), trailers=(), body=Body(size=sized(response.body))),
            error=f"content withheld: {why}",
            websocket=None,
            redacted=True,
        )


class _HookFailed(Exception):
    """The author's hook raised, or gave what is no exchange."""


def _is_of(result: object, exchange: Exchange) -> bool:
    """Whether a hook gave what it has to."""
    return isinstance(result, Exchange) and (result.id, result.channel) == (exchange.id, exchange.channel)


def _measured[M: (Request, Response)](before: M, after: M) -> M:
    """A message with its length in its headers, as far as that follows from what the hook was given."""
    delta = sized(after.body) - sized(before.body)
    if not delta or after.headers != before.headers:
        return after
    return replace(after, headers=resized(after.headers, delta))


def _is_whole(body: Body, headers: Headers, ended: bool) -> bool:
    """Whether a body can not go on: it ended, or has the length that was said, or its last event."""
    if body.cut:
        return False
    if ended or header(headers, "content-length") == str(len(body.data)):
        return True
    return any(body.data.find(ending, max(0, len(body.data) - _LAST)) >= 0 for ending in _ENDINGS)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
