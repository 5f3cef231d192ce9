"""The usual exchange of a cassette, read several times faster: nearly all of what `dumps` wrote.

It gives what `exchanges.read_exchange` would: msgspec checks the shape in one call. Whatever is unusual, and
whatever is wrong, is left to `read_exchange`, which says it. What is laid out as most are, `usual` has read.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from sys import intern
from typing import Any, Final

from jiter import LosslessFloat
from msgspec import Struct, ValidationError, convert

from abs_replay.cassette.document import Wrong, seconds_of
from abs_replay.cassette.exchanges import Earlier, noted, read_answer, read_asked, read_channel
from abs_replay.cassette.headers import put_into, read_lines
from abs_replay.cassette.making import chunk, exchange, made_body, request, response
from abs_replay.exchange import Body, Channel, Exchange, Headers, Outcome, Request, Response
from abs_replay.json_styles import read_fast, write_fast

# The layout puts the bracket that closes an exchange, and no other, at the start of such a line.
_CLOSING: Final = "\n    }"
_NEAR: Final = 20_000
_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_NOTHING = Body()
_JSON_KEYS = frozenset(("json", "style", "at"))

type _Body = dict[str, Any]


class _Request(Struct, forbid_unknown_fields=True):
    method: str
    target: str
    headers_as: str | None = None
    headers: tuple[str, ...] = ()
    body: _Body | None = None
    http_version: str = "HTTP/1.1"
    scheme: str = "http"
    host: str = ""


class _Response(Struct, forbid_unknown_fields=True):
    status: int
    headers_as: str | None = None
    headers: tuple[str, ...] = ()
    body: _Body | None = None
    reason: str = ""
    http_version: str = "HTTP/1.1"


class _Exchange(Struct, forbid_unknown_fields=True):
    id: str
    channel: str
    request: _Request
    started: Any = 0
    response: _Response | None = None
    outcome: str = "complete"
    error: str | None = None
    ended_ms: Any = None
    redacted: bool = False
    begins: str | None = None


class _Unusual(Exception):
    """Something that `read_exchange` knows more about."""


def quick(text: str, place: int, earlier: Earlier) -> tuple[Exchange, bool, int] | None:
    """Read the exchange that begins at a place: it, whether a conversation begins with it, where it ends."""
    end = _end(text, place)
    try:
        shown = convert(read_fast(text[place:end].encode()), _Exchange)
        begins = shown.begins is not None
        if begins:
            earlier.clear()
        found = noted(_exchange(shown, earlier), earlier)
    except (_Unusual, Wrong, ValidationError, ValueError, RecursionError):
        return None
    return found, begins, end


def _end(text: str, place: int) -> int:
    # Most end soon, and Python looks faster through a short text.
    found = text.find(_CLOSING, place, place + _NEAR)
    return (found if found >= 0 else text.find(_CLOSING, place)) + len(_CLOSING)


def _exchange(shown: _Exchange, earlier: Earlier) -> Exchange:
    if shown.outcome not in _OUTCOMES or shown.begins not in (None, "conversation"):
        raise _Unusual
    return exchange(
        shown.id,
        named_channel(shown.channel),
        _seconds(shown.started),
        _request(shown.request, earlier),
        None if shown.response is None else _response(shown.response, earlier),
        _OUTCOMES[shown.outcome],
        shown.error,
        None if shown.ended_ms is None else _ms(shown.ended_ms),
        shown.redacted,
    )


@lru_cache(maxsize=256)
def named_channel(name: str) -> Channel:
    """Give the channel of that name; raises `Wrong`."""
    return read_channel(name, "")


def _seconds(value: Any) -> float:
    return seconds_of(value) if type(value) is str else _ms(value)


def _ms(value: Any) -> float:
    if type(value) is not LosslessFloat and type(value) is not int:
        raise _Unusual
    found = float(value)
    if not math.isfinite(found):
        raise _Unusual
    return found


def _said(shown: _Request | _Response, bases: dict[str, Headers]) -> Headers:
    lines = read_lines(shown.headers)
    return lines if shown.headers_as is None else put_into(shown.headers_as, lines, "", bases)


def _request(shown: _Request, earlier: Earlier) -> Request:
    return request(
        intern(shown.method),
        intern(shown.target),
        _said(shown, earlier.asked_with),
        _body(shown.body, read_asked, earlier),
        shown.http_version,
        shown.scheme,
        intern(shown.host),
    )


def _response(shown: _Response, earlier: Earlier) -> Response:
    if not 100 <= shown.status <= 999:
        raise _Unusual
    return response(
        shown.status,
        _said(shown, earlier.answered_with),
        _body(shown.body, read_answer, earlier),
        intern(shown.reason),
        shown.http_version,
    )


def _body(shown: _Body | None, read: Callable[[_Body, Earlier], Body], earlier: Earlier) -> Body:
    if shown is None:
        return _NOTHING
    if "json" not in shown or not shown.keys() <= _JSON_KEYS:
        return read(shown, earlier)
    style = shown.get("style", "compact")
    if type(style) is not str:
        raise _Unusual
    data = write_fast(shown["json"], style)
    return made_body(data, (chunk(len(data), _ms(shown["at"])),) if "at" in shown else ())
