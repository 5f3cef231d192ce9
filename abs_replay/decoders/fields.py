"""Look into JSON of unknown shape: a wrong type reads as absent, and nothing raises."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.exact_json import Json, Number

_MOST = 10**12  # what counts more is no count, and no store's integer
_DEEPEST = 200  # nested levels; what is deeper is no message, and would exhaust Python's stack


def parse(text: str | bytes) -> Any:
    """Parse JSON with exact numbers; raises `ValueError` for what is none, or is nested too deep."""
    try:
        value = exact_json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
    # What opens no more objects and lists than that can not nest them deeper; most texts are short.
    if _opened(text) > _DEEPEST and _depth_exceeds(value, _DEEPEST):
        raise ValueError("nested too deep")
    return value


def _opened(text: str | bytes) -> int:
    if isinstance(text, bytes):
        return text.count(b"{") + text.count(b"[")
    return text.count("{") + text.count("[")


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
    return bool(level)


def parse_or_none(text: str | bytes) -> Any:
    """Parse JSON, or give None for what is none. What it gives may be shared: change nothing in it."""
    return parsed_body(text) if isinstance(text, bytes) else _parsed(text)


def _parsed(text: str | bytes) -> Any:
    try:
        return parse(text)
    except ValueError:
        return None


parsed_body = lru_cache(2)(_parsed)  # several decoders look at one request and one response


def fault(text: str | bytes) -> str | None:
    """Say what keeps a text from being JSON, or None where it is JSON."""
    try:
        parse(text)
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start}"
    except ValueError as error:
        return str(error)
    return None


def structure(text: str) -> Json:
    """Give the object or list that a text wholly is (SEMANTICS A6), else the text."""
    if text.lstrip()[:1] not in ("{", "["):
        return text
    value = parse_or_none(text)
    return text if value is None else value


def obj(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str | None:
    """Give a text that is not empty."""
    return value if isinstance(value, str) and value else None


def count(value: Any) -> int:
    """Read a count or an index, which some vendors' schemas have as any number (12.0)."""
    if isinstance(value, bool) or not isinstance(value, int | Number):
        return 0
    return int(value) if 0 < value < _MOST else 0


def unwrapped(body: Any) -> Mapping[str, Any]:
    """Give an error's object, without the list that Google's endpoints wrap around it."""
    return obj(body) or next((item for item in items(body) if isinstance(item, dict)), {})


_WORDS: Final = ("message", "Message", "detail")


def error_text(body: Any) -> str | None:
    """Find the words in an error body; APIs put them under `error`, `message` or `detail`.

    Some of Amazon's services say `Message`.
    """
    fields = unwrapped(body)
    error = fields.get("error")
    found = text(obj(error).get("message")) or text(error)
    found = found or next((text(fields.get(key)) for key in _WORDS if text(fields.get(key))), None)
    if found is None and error is not None:
        return exact_json.dumps(error)
    return found
