"""Values as the text of a column. DuckDB's text is UTF-8, which has no lone surrogates; JSON may."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, overload

from abs_replay import exact_json
from abs_replay.exact_json import Json

_SURROGATE = re.compile("[\ud800-\udfff]")
_BYTE = re.compile("[\udc80-\udcff]")  # how Python says one that is no UTF-8
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def json_text(value: Json) -> str:
    """JSON with exact numbers, lone surrogates as escapes."""
    return _utf8(exact_json.dumps(value))


def texts_json(value: Sequence[str] | Mapping[str, str | int]) -> str:
    """The same of texts and whole numbers alone, by the encoder in C."""
    return _utf8(_ENCODER.encode(value))


def _utf8(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def json_or_null(value: Json) -> str | None:
    """JSON, or NULL for null."""
    return None if value is None else json_text(value)


def json_value(text: str | None) -> Any:
    """What `json_text` or `json_or_null` wrote."""
    if text is None:
        return None
    if text[:1] == '"' and "\\" not in text:  # most of what is said: a text without escapes
        return text[1:-1]
    return exact_json.loads(text)


@overload
def plain(text: str) -> str: ...
@overload
def plain(text: str | None) -> str | None: ...
def plain(text: str | None) -> str | None:
    """Text as it is, but for lone surrogates, which become U+FFFD."""
    return text if text is None or text.isascii() else _SURROGATE.sub("\ufffd", text)


def quoted(target: str) -> str:
    """The target of a request; bytes that are no UTF-8 stand there as in any URL: `%FF`."""
    return target if target.isascii() else _BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", target)


def storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values of columns, with each text as `plain` has it: on the wire is what is no UTF-8."""
    return {name: plain(value) if isinstance(value, str) else value for name, value in values.items()}
