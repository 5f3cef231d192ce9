"""What readers of foreign recordings share: URLs, headers, bodies, and times that are missing.

Headers stay as the tool kept them, with one exception: a `content-encoding` whose body the tool kept decoded
is left out, for with it no client could read the body, and no secret in it would be found. Chunked framing
was undone by every tool, as it is in our own recordings, so `transfer-encoding: chunked` says nothing that is
wrong here.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from abs_replay import exact_json
from abs_replay.cassette.document import Wrong
from abs_replay.exchange import Body, Exchange, Headers, Outcome, Request, Response, header
from abs_replay.importers.imported import UNPLACED, Imported
from abs_replay.importers.source import Source
from abs_replay.importers.yaml_values import Tagged

LENGTH = "content-length is not the length of the body that was kept; it stands as recorded"
DECODED = "a body was kept decoded; its content-encoding, which no longer holds, is left out"
TIMES = "no times were kept: they follow the Date headers of responses, else exchanges begin 1 ms apart"
PARSED = "a body was kept as parsed values; it is written as compact JSON"
TAGGED = "a value stood under a tag that makes objects; it is read as data, nothing was made"
PSEUDO = "HTTP/2's pseudo headers are left out: the request line says them"

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*)://)?([^/?#]*)([^#]*)")
_USUAL_PORTS = {"http": ":80", "https": ":443"}
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
    ) -> None:
        """Add an exchange; `started_at` is Unix seconds, None where no time was kept, or but one `near`."""
        request = self._fitting(request, other_length=False)
        if response is not None:
            other = request.method == "HEAD" or response.status == 304 or outcome is not Outcome.COMPLETE
            response = self._fitting(response, other_length=other)
        ended_ms = None if ended_ms is None else round(ended_ms, 3)
        exchange = Exchange(id_, UNPLACED, started_at or 0.0, request, response, outcome, error, ended_ms)
        self._exchanges.append(exchange)
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


def date_of(response: Response) -> float | None:
    """The Date of a response (RFC 9110 §6.6.1), in Unix seconds."""
    return http_date(header(response.headers, "date"))


def http_date(text: Any) -> float | None:
    """A date as HTTP and mail write it, in Unix seconds; None where it is none."""
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
        return None


def iso_time(text: Any) -> float | None:
    """A time in ISO 8601, in Unix seconds; None where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, TypeError, OverflowError, OSError):
        return None


@contextmanager
def reading(source: Source) -> Iterator[Tape]:
    """Collect a file's exchanges; a `Wrong` place in it becomes a `UsageError` with the file."""
    try:
        yield Tape()
    except Wrong as wrong:
        raise source.wrong(str(wrong)) from None


def objects(value: Any, where: str) -> Iterator[tuple[dict[Any, Any], str]]:
    """Give each object of a list with its place."""
    if not isinstance(value, list):
        raise Wrong(where, "expected a list")
    for number, item in enumerate(value):
        yield obj(item, f"{where}[{number}]"), f"{where}[{number}]"


def obj(value: Any, where: str) -> dict[Any, Any]:
    """Give a value that must be an object."""
    if isinstance(value, dict):
        return value
    raise Wrong(where, "missing" if value is None else "expected an object")


def text_of(value: Any, where: str) -> str:
    """Give a value that must be text; bytes are taken as latin-1."""
    value = bare(value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, str):
        return value
    raise Wrong(where, "missing" if value is None else "expected text")


def latin(text: str) -> str:
    """Text as headers and targets have it: each character a byte, UTF-8 where that can not be."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("latin-1")
    return text


def bare(value: Any) -> Any:
    """A value without its tag: of an object that was pickled, what it was made of."""
    while isinstance(value, Tagged):
        value = value.value
        if isinstance(value, list) and len(value) == 1:
            (value,) = value
    return value


def status_of(value: Any, where: str) -> int:
    """Give a status of three digits (RFC 9110 §15), which may be written as text."""
    value = bare(value)
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) == 3:
        value = int(value)
    if type(value) is int and 100 <= value <= 999:
        return value
    raise Wrong(where, "expected a status of three digits")


def request_of(
    method: Any,
    url: Any,
    where: str,
    *,
    headers: Headers = (),
    body: Body = Body(),
    http_version: str = "HTTP/1.1",
    host: str = "",
) -> Request:
    """Make a request of a whole URL; `host` is what the client named where that is another."""
    scheme, authority, target = split_url(text_of(url, f"{where}.url"))
    return Request(
        method=latin(text_of(method, f"{where}.method")).upper(),
        target=target,
        headers=headers,
        body=body,
        http_version=http_version,
        scheme=scheme,
        host=host or authority,
    )


def split_url(url: str) -> tuple[str, str, str]:
    """Take a URL apart into scheme, authority and target, with every character as it stands."""
    found = _URL.match(url.strip())
    assert found is not None  # every text matches
    scheme, authority, target = (found[1] or "http").lower(), found[2].rpartition("@")[2], found[3]
    authority = authority.removesuffix(_USUAL_PORTS.get(scheme, ""))
    return scheme, latin(authority), latin(target if target.startswith("/") else f"/{target}")


def header_pairs(value: Any, where: str) -> Headers:
    """Read headers: an object of values or of lists of values, or a list of pairs or of name and value."""
    if value is None:
        return ()
    if isinstance(value, dict):
        pairs = [(name, item) for name, items in value.items() for item in _each(items)]
    elif isinstance(value, list):
        pairs = [_pair(item, f"{where}[{number}]") for number, item in enumerate(value)]
    else:
        raise Wrong(where, "expected headers")
    return tuple((latin(_name(name, where)), latin(_value(item, where))) for name, item in pairs)


def _each(values: Any) -> list[Any]:
    return values if isinstance(values, list) else [values]


def _pair(item: Any, where: str) -> tuple[Any, Any]:
    if isinstance(item, dict):
        return item.get("name"), item.get("value")
    if isinstance(item, list) and len(item) == 2:
        return item[0], item[1]
    raise Wrong(where, "expected a name and a value")


def _name(name: Any, where: str) -> str:
    # A key that is a list is an object that was pickled, with what it was made of.
    return text_of(name[0] if isinstance(name, tuple) and len(name) == 1 else name, where)


def _value(value: Any, where: str) -> str:
    value = bare(value)
    return str(value) if isinstance(value, int | float) else text_of("" if value is None else value, where)


def body_bytes(value: Any, where: str) -> bytes:
    """Give the bytes of a body that was kept as text or bytes."""
    value = bare(value)
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    raise Wrong(where, "expected a body as text or bytes")


def kept_body(body: Any, where: str) -> bytes:
    """Give the bytes of a body that was kept as such, or in an object under `string` or `base64_string`."""
    if not isinstance(body, dict):
        return body_bytes(body, where)
    if "base64_string" in body:
        return base64_bytes(body["base64_string"], f"{where}.base64_string")
    return body_bytes(body.get("string"), f"{where}.string")


def base64_bytes(value: Any, where: str) -> bytes:
    """Give the bytes that base64 says; line ends in it mean nothing."""
    try:
        return base64.b64decode("".join(text_of(value, where).split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Wrong(where, f"is no base64: {error}") from None


def json_bytes(value: Any) -> bytes:
    """Write parsed values as compact JSON."""
    return exact_json.dumps(_plain(value)).encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    value = bare(value)
    if isinstance(value, Mapping):
        return {
            key if isinstance(key, str) else json.dumps(key, default=str): _plain(v)
            for key, v in value.items()
        }
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
