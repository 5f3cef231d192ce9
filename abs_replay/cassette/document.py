"""Reading a JSON document of ours with types: every error says where it is, as a path.

`take(document, "status", int, "exchanges[3].response")` gives the value or raises `Wrong`.
"""

import json
import math
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

type Document = dict[str, Any]

_MISSING: Any = object()
_NAMES = {str: "text", int: "a whole number", dict: "an object", list: "a list", bool: "true or false"}


class Wrong(Exception):
    """A place in the document, and what is wrong with it."""

    def __init__(self, where: str, message: str, key: str = "") -> None:
        path = f"{where}.{key}" if where and key else where or key
        super().__init__(f"{path}: {message}" if path else message)


def take[Value](
    document: Document, key: str, kind: type[Value], where: str, default: Any = _MISSING
) -> Value:
    """Give a key's value; its type must be exactly `kind` (true is no number)."""
    value = document.get(key, default)
    if type(value) is kind or (value is default and default is not _MISSING):
        return value
    raise Wrong(where, "missing" if value is _MISSING else f"expected {_NAMES[kind]}", key)


def maybe[Value](document: Document, key: str, kind: type[Value], where: str) -> Value | None:
    """Give a key's value, or None where it is null or absent."""
    return None if document.get(key) is None else take(document, key, kind, where)


def only(document: Document, keys: frozenset[str], where: str) -> None:
    """Refuse keys that nobody knows: in a file edited by hand they are slips of the pen."""
    if document.keys() <= keys:
        return
    raise Wrong(where, f"unknown key; known are {', '.join(sorted(keys))}", min(document.keys() - keys))


def texts(values: Document, where: str) -> dict[str, str]:
    """Refuse values that are no text."""
    for key in values:
        take(values, key, str, where)
    return values


def checked_url(text: str, where: str) -> str:
    """Refuse a text that can not be taken apart as a URL."""
    try:
        urlsplit(text).port  # noqa: B018 - asking for it is the check
    except ValueError as error:
        raise Wrong(where, f"{text!r} is no URL: {error}") from None
    return text


def number(document: Document, key: str, where: str, default: Any = _MISSING) -> Any:
    """Give a number as a float, or the default."""
    value = document.get(key, default)
    if value is default and default is not _MISSING:
        return value
    if value is None or isinstance(value, bool | str | list | dict) or value is _MISSING:
        raise Wrong(where, "missing" if value is _MISSING else "expected a number", key)
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise Wrong(where, "expected a number", key)
    return found


def time_text(seconds: float) -> str | float:
    """ISO 8601 with every digit of the number, or the number where a date can not hold it."""
    whole, dot, digits = repr(float(seconds)).partition(".")
    if not (dot and whole.isdigit() and digits.isdigit() and int(whole) < 253_402_300_800):
        return seconds
    date = datetime.fromtimestamp(int(whole), UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{date}.{digits}Z" if digits != "0" else f"{date}Z"


def time(document: Document, key: str, where: str, default: Any = _MISSING) -> Any:
    """Give a time as Unix seconds: `time_text` back, digit by digit."""
    value = document.get(key, default)
    if not isinstance(value, str):
        return number(document, key, where, default)
    try:
        return seconds_of(value)
    except ValueError:
        raise Wrong(where, 'expected a time like "2026-11-30T14:26:01.25Z"', key) from None


_SECONDS = {f"{second:02}": second for second in range(60)}


def seconds_of(text: str) -> float:
    """Give the Unix seconds of a `time_text`; raises `ValueError`."""
    whole, _, digits = text.removesuffix("Z").partition(".")
    second = _SECONDS.get(whole[17:])
    seconds = _unix(whole) if second is None or whole[16] != ":" else _unix(whole[:16]) + second
    return float(f"{seconds}.{digits if digits.isdecimal() else int(digits)}") if digits else float(seconds)


# A recording is made within a few minutes.
@lru_cache(maxsize=1024)
def _unix(date: str) -> int:
    return int(datetime.fromisoformat(f"{date}+00:00").timestamp())


# What git leaves where two branches changed the same lines.
_CONFLICT = re.compile(r"^(?:<{7}|={7}|>{7})(?: |$)", re.MULTILINE)


def no_json(error: json.JSONDecodeError) -> str:
    """Say where a text is no JSON, and what it most likely is instead."""
    conflict = _CONFLICT.search(error.doc)
    if conflict:
        return f"line {error.doc.count('\n', 0, conflict.start()) + 1}: an unresolved merge conflict"
    return f"line {error.lineno}, column {error.colno}: no JSON: {error.msg}"
