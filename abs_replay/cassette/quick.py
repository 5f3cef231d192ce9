"""The usual exchange of a cassette, read without building its JSON: nearly all of what `dumps` wrote.

It gives what `exchanges.read_exchange` would, several times faster. msgspec checks the shape, and that all
of it is JSON. The bytes of a body are made of the text that stands in the file: two styles of JSON differ in
their blanks alone, but for letters that are escaped. Whatever is unusual, and whatever is wrong, is left to
`read_exchange`, which says it.
"""

import re
from functools import lru_cache
from typing import Final

from msgspec import UNSET, DecodeError, Raw, Struct, UnsetType
from msgspec.json import Decoder
from msgspec.json import format as laid_out

from abs_replay.cassette.document import Wrong, time
from abs_replay.cassette.exchanges import Earlier, noted, read_any_body, read_channel
from abs_replay.cassette.headers import put_into, read_headers
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Outcome, Request, Response
from abs_replay.json_styles import parse_at

_NOTHING = Raw()
# The layout puts the bracket that closes an exchange, and no other, at the start of such a line.
_CLOSING: Final = "\n    }"
_NEAR: Final = 20_000
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
# How many blanks a level has in `msgspec.json.format`: -1 is none at all, 0 one behind each comma and colon.
_BLANKS = {"compact": -1, "spaced": 0, "indent 2": 2, "indent 4": 4}
_STYLES = {
    f"{style}{escaped}": (blanks, bool(escaped))
    for style, blanks in _BLANKS.items()
    for escaped in ("", " ascii")
}
_NO_STYLE = None, False


class _Request(Struct, forbid_unknown_fields=True):
    method: str
    target: str
    headers_as: str | None = None
    headers: Raw = _NOTHING
    body: Raw = _NOTHING
    http_version: str = "HTTP/1.1"
    scheme: str = "http"
    host: str = ""


class _Response(Struct, forbid_unknown_fields=True):
    status: int | float  # which keeps 200.0 from being 200
    headers_as: str | None = None
    headers: Raw = _NOTHING
    body: Raw = _NOTHING
    reason: str = ""
    http_version: str = "HTTP/1.1"


class _Exchange(Struct, forbid_unknown_fields=True):
    id: str
    channel: str
    request: _Request
    started: str | float = 0.0
    response: _Response | None = None
    outcome: str = "complete"
    error: str | None = None
    ended_ms: float | None = None
    redacted: bool = False
    begins: str | None = None


class _JsonBody(Struct, forbid_unknown_fields=True):
    json: Raw
    style: str = "compact"
    at: float | UnsetType = UNSET


_EXCHANGES, _BODIES, _LINES = Decoder(_Exchange), Decoder(_JsonBody), Decoder(list[str])


class _Unusual(Exception):
    """Something that `read_exchange` knows more about."""


def quick(text: str, place: int, earlier: Earlier) -> tuple[Exchange, bool, int] | None:
    """Read the exchange that begins at a place: it, whether a conversation begins with it, where it ends."""
    end = _end(text, place)
    try:
        piece = text[place:end].encode()
        if not _once(piece):
            return None
        shown = _EXCHANGES.decode(piece)
        begins = shown.begins is not None
        if begins:
            earlier.clear()
        exchange = noted(_exchange(shown, earlier), earlier)
    except (_Unusual, Wrong, ValueError, DecodeError, RecursionError):
        return None
    return exchange, begins, end


def _end(text: str, place: int) -> int:
    # Most end soon, and Python looks faster through a short text.
    found = text.find(_CLOSING, place, place + _NEAR)
    return (found if found >= 0 else text.find(_CLOSING, place)) + len(_CLOSING)


def _exchange(shown: _Exchange, earlier: Earlier) -> Exchange:
    if shown.outcome not in _OUTCOMES or shown.begins not in (None, "conversation"):
        raise _Unusual
    return Exchange(
        shown.id,
        _channel(shown.channel),
        time({"started": shown.started}, "started", ""),
        _request(shown.request, earlier),
        None if shown.response is None else _response(shown.response, earlier),
        _OUTCOMES[shown.outcome],
        shown.error,
        shown.ended_ms,
        shown.redacted,
    )


@lru_cache(maxsize=256)
def _channel(name: str) -> Channel:
    return read_channel(name, "")


# A program sends the same headers again and again, but for a few.
@lru_cache(maxsize=256)
def _headers(shown: bytes) -> Headers:
    return read_headers({"headers": _LINES.decode(shown)}, "headers", "") if shown else ()


def _said(shown: _Request | _Response, bases: dict[str, Headers]) -> Headers:
    lines = _headers(bytes(shown.headers))
    return lines if shown.headers_as is None else put_into(shown.headers_as, lines, "", bases)


def _request(shown: _Request, earlier: Earlier) -> Request:
    return Request(
        shown.method,
        shown.target,
        _said(shown, earlier.asked_with),
        _body(shown.body, earlier),
        shown.http_version,
        shown.scheme,
        shown.host,
    )


def _response(shown: _Response, earlier: Earlier) -> Response:
    if type(shown.status) is not int or not 100 <= shown.status <= 999:
        raise _Unusual
    return Response(
        shown.status,
        _said(shown, earlier.answered_with),
        _body(shown.body, None),
        shown.reason,
        shown.http_version,
    )


def _body(shown: Raw, earlier: Earlier | None) -> Body:
    if not shown:
        return Body()
    usual = _json_body(shown)
    if usual is not None:
        return usual
    document, _ = parse_at(bytes(shown).decode(), 0)
    if type(document) is not dict:
        raise _Unusual
    return read_any_body(document, earlier)


def _json_body(shown: Raw) -> Body | None:
    try:
        body = _BODIES.decode(shown)
    except DecodeError:  # no JSON, or in more than one chunk
        return None
    data = _bytes(bytes(body.json), body.style)
    if data is None:
        return None
    return Body(data, () if isinstance(body.at, UnsetType) else (Chunk(len(data), body.at),))


def _bytes(text: bytes, style: str) -> bytes | None:
    """Lay JSON out in a style; None where that takes more than to set blanks."""
    blanks, ascii_only = _STYLES.get(style, _NO_STYLE)
    if blanks is None or (b"\\" in text and (b"\\u" in text or b"\\/" in text)):
        return None
    if ascii_only and (not text.isascii() or b"\x7f" in text):
        return None
    return laid_out(text, indent=blanks)


# -- keys that stand twice, of which msgspec takes the last

_VALUES = re.compile(rb'": "[^"]*+"')
_MARKS = re.compile(b"[{}:]")
_NUMBERS: Final = b" \t\r\n0123456789.+-"
_SHORT: Final = 4000


def _once(text: bytes) -> bool:
    """Say whether no object has a key twice; where that is hard to tell, that one has."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    bare = _VALUES.sub(b'":', text)
    shape = bare.translate(None, _NUMBERS)
    return (len(shape) < _SHORT and _seen_apart(shape)) or _told_apart(bare)


def _told_apart(text: bytes) -> bool:
    """Say whether the keys of each object differ, in a JSON text of which no string has a quote."""
    parts = text.split(b'"')
    keys = [key for key, behind in zip(parts[1::2], parts[2::2], strict=False) if behind[:1] == b":"]
    marks = b"".join(parts[::2])
    # A text `": "` that is no value was taken for the end of a key: then one begins with the colon.
    if marks.count(b":") != len(keys) or any(b"\\" in key or key[:1] == b":" for key in keys):
        return False
    left = iter(keys)
    objects: list[set[bytes]] = [set()]
    for mark in _MARKS.findall(marks):
        if mark == b"{":
            objects.append(set())
        elif mark == b"}":
            objects.pop()
        elif (key := next(left)) in objects[-1]:
            return False
        else:
            objects[-1].add(key)
        if not objects:
            return False
    return True


# One program's exchanges are mostly of few shapes.
_seen_apart = lru_cache(maxsize=256)(_told_apart)
