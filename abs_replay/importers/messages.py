"""What readers of foreign recordings share: URLs, headers, bodies and dates out of documents of any shape.

What is not there, or of another type, is a `Wrong` with its place; `tape.reading` adds the file.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

from abs_replay import exact_json
from abs_replay.cassette.document import Wrong
from abs_replay.exchange import Body, Headers, Request, Response, header
from abs_replay.importers.yaml_values import Tagged

_URL = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*)://)?([^/?#]*)([^#]*)")
_USUAL_PORTS = {"http": ":80", "https": ":443"}


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
