"""JSON asked and answered with JSON, as most exchanges are, read from the very layout of `dumps`.

It gives what `exchanges.read_exchange` would, or None for all that is laid out otherwise. What stands around
the bodies is matched; the bytes of a body are made of the text that stands in the file. Two styles of JSON
differ in their blanks alone, but for letters that are escaped; setting the blanks also checks the JSON.
"""

import re
from functools import lru_cache
from sys import intern
from typing import Final

from jiter import from_json
from msgspec import DecodeError
from msgspec.json import format as laid_out

from abs_replay.cassette.document import Wrong, seconds_of
from abs_replay.cassette.exchanges import Earlier, noted
from abs_replay.cassette.headers import put_into, read_headers
from abs_replay.cassette.making import chunk, exchange, made_body, request, response
from abs_replay.cassette.quick import named_channel
from abs_replay.exchange import Body, Exchange, Headers, Outcome, Request, Response
from abs_replay.json_styles import FAST_STYLES, read_fast

_TEXT: Final = r'"([^"\\\x00-\x1f]*+)"'
# What a header says is read, and refused, by itself: here a bracket ends them all.
_HEADERS: Final = rf'(?:,\n {{8}}"headers_as": {_TEXT})?(?:,\n {{8}}"headers": (\[[^\]]*+\]))?'
_NUMBER: Final = r"((?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,20})?)"
_JSON: Final = r',\n {8}"body": \{\n {10}"json": '
_STYLE: Final = rf'(?:,\n {{10}}"style": {_TEXT})?(?:,\n {{10}}"at": {_NUMBER})?\n {{8}}\}}\n {{6}}\}}'
_ASKED = re.compile(
    r'\{\n {6}(?:"begins": "(conversation)",\n {6})?'
    rf'"id": {_TEXT},\n {{6}}"channel": {_TEXT},\n {{6}}"started": {_TEXT},\n {{6}}"request": \{{\n'
    rf' {{8}}"method": {_TEXT},\n {{8}}"target": {_TEXT}(?:,\n {{8}}"host": {_TEXT})?{_HEADERS}{_JSON}'
)
_ANSWERED = re.compile(
    rf'{_STYLE},\n {{6}}"response": \{{\n {{8}}"status": ([1-9][0-9][0-9])(?:,\n {{8}}"reason": {_TEXT})?'
    rf"{_HEADERS}{_JSON}"
)
_ENDED = re.compile(
    rf'{_STYLE}(?:,\n {{6}}"ended_ms": {_NUMBER})?(?:,\n {{6}}"redacted": (true))?\n {{4}}\}}'
)


_CLOSING: Final = {"{\n": "\n          }", "[\n": "\n          ]"}


class _Unusual(Exception):
    """Something that stands otherwise in the file."""


def usual(text: str, place: int, earlier: Earlier) -> tuple[Exchange, bool, int] | None:
    """Read the exchange that begins at a place: it, whether a conversation begins with it, where it ends."""
    try:
        return _read(text, place, earlier)
    except (_Unusual, Wrong, DecodeError, KeyError, ValueError):
        return None


def _read(text: str, place: int, earlier: Earlier) -> tuple[Exchange, bool, int]:
    asked = _matched(_ASKED, text, place)
    asked_end = _value_end(text, asked.end())
    answered = _matched(_ANSWERED, text, asked_end)
    answered_end = _value_end(text, answered.end())
    ended = _matched(_ENDED, text, answered_end)
    begins, id_, channel, started, *request_line = asked.groups()
    if begins:
        earlier.clear()
    asked_style, asked_at, *status_line = answered.groups()
    answered_style, answered_at, ended_ms, redacted = ended.groups()
    sent, answer = text[asked.end() : asked_end].encode(), text[answered.end() : answered_end].encode()
    for body in (sent, answer):  # of a key that stands twice readers take the last: refused, with others
        from_json(body, allow_inf_nan=False, cache_mode="none", catch_duplicate_keys=True)
    asked_for, got = _body(sent, asked_style, asked_at), _body(answer, answered_style, answered_at)
    found = exchange(
        id_,
        named_channel(channel),
        seconds_of(started),
        _request(request_line, asked_for, earlier),
        _response(status_line, got, earlier),
        Outcome.COMPLETE,
        None,
        None if ended_ms is None else float(ended_ms),
        redacted is not None,
    )
    return noted(found, earlier), begins is not None, ended.end()


def _matched(pattern: re.Pattern[str], text: str, place: int) -> re.Match[str]:
    found = pattern.match(text, place)
    if found is None:
        raise _Unusual
    return found


def _value_end(text: str, place: int) -> int:
    """Where a body's value ends: at the bracket below the key, or with its line."""
    opened = _CLOSING.get(text[place : place + 2])
    if opened is None:
        end = text.find("\n", place)
        return end - 1 if text[end - 1 : end] == "," else end
    return text.find(opened, place) + len(opened)


def _request(line: list[str | None], body: Body, earlier: Earlier) -> Request:
    method, target, host, named, lines = line
    headers = _said(named, lines, earlier.asked_with)
    return request(intern(method or ""), intern(target or ""), headers, body, "HTTP/1.1", "http", host or "")


def _response(line: list[str | None], body: Body, earlier: Earlier) -> Response:
    status, reason, named, lines = line
    return response(int(status or ""), _said(named, lines, earlier.answered_with), body, intern(reason or ""))


def _said(named: str | None, shown: str | None, bases: dict[str, Headers]) -> Headers:
    lines = _headers(shown) if shown else ()
    return lines if named is None else put_into(named, lines, "", bases)


# A program sends the same headers again and again, but for a few.
@lru_cache(maxsize=256)
def _headers(shown: str) -> Headers:
    return read_headers({"headers": read_fast(shown.encode())}, "headers", "")


def _body(shown: bytes, style: str | None, at: str | None) -> Body:
    data = _bytes(shown, style or "compact")
    return made_body(data, () if at is None else (chunk(len(data), float(at)),))


def _bytes(text: bytes, style: str) -> bytes:
    """Lay JSON out in a style, where that takes no more than to set blanks."""
    blanks, ascii_only = FAST_STYLES[style]
    if b"\\" in text and (b"\\u" in text or b"\\/" in text):
        raise _Unusual
    if ascii_only and (not text.isascii() or b"\x7f" in text):
        raise _Unusual
    return laid_out(text, indent=blanks)
