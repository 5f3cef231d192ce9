"""Values as the text of a column. DuckDB's text is UTF-8, which has no lone surrogates; JSON may."""

import re
from typing import Any, overload

from abs_replay import exact_json
from abs_replay.exact_json import Json

_SURROGATE = re.compile("[\ud800-\udfff]")


def json_text(value: Json) -> str:
    """JSON with exact numbers, lone surrogates as escapes."""
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", exact_json.dumps(value))


def json_or_null(value: Json) -> str | None:
    """JSON, or NULL for null."""
    return None if value is None else json_text(value)


def json_value(text: str | None) -> Any:
    """What `json_text` or `json_or_null` wrote."""
    return None if text is None else exact_json.loads(text)


@overload
def plain(text: str) -> str: ...
@overload
def plain(text: str | None) -> str | None: ...
def plain(text: str | None) -> str | None:
    """Text as it is, but for lone surrogates, which become U+FFFD."""
    return None if text is None else _SURROGATE.sub("\ufffd", text)
