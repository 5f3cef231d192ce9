"""Walks an exchange: first what its names call a secret, then what is known as one or looks like one."""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from abs_replay.exchange import Body, Exchange, Headers, Request, Response, header
from abs_replay.redact.bodies import Edit, edited, rebuilt, resized
from abs_replay.redact.codings import Opened, packed, unpacked
from abs_replay.redact.events import divided
from abs_replay.redact.placeholders import Placeholders
from abs_replay.redact.shapes import PARAMETERS, looks

_COOKIE = re.compile(rb"(^|;)(\s*(?:[^=;]*=)?)([^;]*)")
_PASSES = 10
_CREDENTIALS = re.compile(rb"\s*((?:[A-Za-z]{1,15}|AWS4-HMAC-SHA256)\s+)?(.*\S)", re.DOTALL)
_SECRET_HEADER = re.compile(
    r"(?:.*[-_])?(?:authorization|authentication)|x-amz-credential|(?:x-)?key|(?:x-)?auth|(?:.*[-_])?"
    r"(?:(?:api|access|subscription|functions|secret|private|auth|user|client|session|service|account|app|master)"
    r"[-_]?key|token|secret|password)",
    re.IGNORECASE,
)


class Redactor:
    """Takes secrets out of the exchanges of one recording, one after another. Not for several threads."""

    def __init__(self) -> None:
        self._placeholders = Placeholders()

    def redact(self, exchange: Exchange) -> Exchange:
        """Give the exchange without secrets, `redacted` where it had any; doing it again changes nothing."""
        result = self._by_name(exchange)
        self._placeholders.news = True
        while self._placeholders.news:  # what a body taught may stand in a header before it
            self._placeholders.news = False
            result = self._by_looks(result)
        return exchange if result == exchange else replace(result, redacted=True)

    def _by_name(self, exchange: Exchange) -> Exchange:
        request, response = exchange.request, exchange.response
        target = PARAMETERS.sub(lambda m: m[1] + self._placeholders.of("key", m[2]), _bytes(request.target))
        request = replace(request, target=_text(target), headers=self._named(request.headers))
        if response is not None:
            response = replace(response, headers=self._named(response.headers))
        return replace(exchange, request=request, response=response)

    def _named(self, headers: Headers) -> Headers:
        return tuple((name, self._named_value(name.lower(), value)) for name, value in headers)

    def _named_value(self, name: str, value: str) -> str:
        if name in ("cookie", "set-cookie"):  # the attributes of the latter are no secret
            return _text(_COOKIE.sub(self._cookie, _bytes(value), count=name == "set-cookie"))
        if not _names_a_secret(name):
            return value
        kind = "auth" if name.endswith("authorization") else "key"
        return _text(_CREDENTIALS.sub(lambda found: self._credentials(kind, found), _bytes(value), 1))

    def _cookie(self, found: re.Match[bytes]) -> bytes:
        return found[1] + found[2] + self._placeholders.of("cookie", found[3])

    def _credentials(self, kind: str, found: re.Match[bytes]) -> bytes:
        scheme = found[1] or b""
        placeholder = self._placeholders.of(kind, found[2])
        if scheme.strip().lower() == b"basic":
            self._placeholders.of(kind, _password(found[2]))
        return scheme + placeholder

    def _by_looks(self, exchange: Exchange) -> Exchange:
        return replace(
            exchange,
            request=self._message(exchange.request),
            response=exchange.response and self._message(exchange.response),
            error=exchange.error and self._clean(exchange.error),
        )

    def _message[M: (Request, Response)](self, message: M) -> M:
        headers = self._clean_headers(message.headers)
        body = self._body(message.body, header(headers, "content-encoding") or "identity")
        if body is not message.body:
            headers = resized(headers, len(body.data) - len(message.body.data))
        if isinstance(message, Request):
            return replace(message, target=self._clean(message.target), headers=headers, body=body)
        return replace(message, headers=headers, body=body, trailers=self._clean_headers(message.trailers))

    def _clean_headers(self, headers: Headers) -> Headers:
        joined = "\n".join(value for _, value in headers)  # no pattern goes over a line's end
        cleaned = self._clean(joined)
        if cleaned == joined:
            return headers
        if joined.count("\n") >= len(headers):
            return tuple((name, self._clean(value)) for name, value in headers)
        return tuple((name, value) for (name, _), value in zip(headers, cleaned.split("\n"), strict=True))

    def _clean(self, text: str) -> str:
        data = _bytes(text)
        cleaned, _ = self._replaced(data, ())
        return text if cleaned is data else _text(cleaned)

    def _body(self, body: Body, encoding: str) -> Body:
        ends = tuple(chunk.end for chunk in body.chunks)
        encoding = encoding.strip().lower()
        if encoding == "identity":
            data, new_ends = self._replaced(body.data, ends)
        else:
            data, new_ends = self._replaced_inside(body.data, ends, encoding)
        return body if data is body.data else rebuilt(body, data, new_ends)

    def _replaced_inside(
        self, data: bytes, ends: Sequence[int], encoding: str
    ) -> tuple[bytes, Sequence[int]]:
        """Replace inside a body with one content-encoding or several, the last of them first."""
        rest, _, coding = encoding.rpartition(",")
        cuts = ends if ends and ends[-1] == len(data) else (*ends, len(data))
        if (opened := unpacked(coding.strip(), data, cuts)) is None:
            return data, ends
        replaced = self._replaced_inside(opened.plain, opened.ends, rest) if rest else None
        cleaned, cleaned_ends = replaced or self._replaced(opened.plain, opened.ends)
        if cleaned is opened.plain:
            return data, ends
        wire, wire_ends = packed(coding.strip(), data, Opened(cleaned, cleaned_ends, opened.whole))
        return wire, wire_ends[: len(ends)]

    def _replaced(self, data: bytes, ends: Sequence[int]) -> tuple[bytes, Sequence[int]]:
        """Replace until nothing is left: what stands beside a secret may look like one without it."""
        for _ in range(_PASSES):
            if not (edits := _apart((*self._edits(data), *divided(data, self._edits)))):
                break
            data, ends = edited(data, ends, edits)
        return data, ends

    def _edits(self, data: bytes) -> Iterator[Edit]:
        for start, stop, kind in looks(data):
            yield start, stop, self._placeholders.of(kind, data[start:stop])
        for secret, placeholder in tuple(self._placeholders.sought.items()):
            at = data.find(secret)
            while at >= 0:
                yield at, at + len(secret), placeholder
                at = data.find(secret, at + len(secret))


@lru_cache(maxsize=1024)
def _names_a_secret(header_name: str) -> bool:
    return _SECRET_HEADER.fullmatch(header_name) is not None


def _apart(edits: Iterable[Edit]) -> list[Edit]:
    """In order, the longest first, without those that begin inside another."""
    result: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if not result or edit[0] >= result[-1][1]:
            result.append(edit)
    return result


def _password(credentials: bytes) -> bytes:
    """The password in the credentials of the Basic scheme (RFC 7617); empty where there is none."""
    try:
        return base64.b64decode(credentials).partition(b":")[2]
    except binascii.Error:
        return b""


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
