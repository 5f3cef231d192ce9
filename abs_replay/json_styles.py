"""JSON as this or that program writes it: given a text, the value and the style that write it back.

A body may stand as JSON in a cassette only if `write(value, style)` gives the very text that came.
Numbers keep how they were written (`1e-7`, `0.10`); a text that no style gives back has no style.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from abs_replay.exact_json import Number, whole

# Deeper JSON stands as text: nobody reviews it, and writing it would exhaust the stack.
DEEPEST = 100

# No JSON text holds a bare NaN before a text, and no string can look like it: quotes are escaped there.
_MARK = "NaN"
_MARKED = re.compile(r'\[\s*NaN,\s*"([-+.0-9eE]+)"\s*\]')


def _number(text: str) -> float | Number:
    value = float(text)
    return value if repr(value) == text else Number(text)


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"{json.dumps(twice)} stands twice in one object")
    return document


_DECODER = json.JSONDecoder(parse_float=_number, parse_constant=_refuse)
_STRICT = json.JSONDecoder(
    parse_float=_number, parse_int=whole, parse_constant=_refuse, object_pairs_hook=_once
)


def parse(text: str, *, strict: bool = False) -> Any:
    """Read JSON; a float that Python would write otherwise is a `Number`. Raises `ValueError`.

    `strict` refuses an object with a key twice, of which only the last would count.
    """
    try:
        return (_STRICT if strict else _DECODER).decode(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except ArithmeticError:
        raise ValueError("a number is too large") from None


def parse_at(text: str, place: int) -> tuple[Any, int]:
    """Read the JSON that begins at a place, strictly, and give where it ends; raises as `parse` does."""
    try:
        return _STRICT.raw_decode(text, place)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except ArithmeticError:
        raise ValueError("a number is too large") from None


def stand_in(value: object) -> list[float | str]:
    """Stand in for a `Number` where the encoder written in C asks; `write` puts the number there again."""
    if isinstance(value, Number):
        return [math.nan, value.text]
    raise TypeError(f"{type(value).__name__} is no JSON")


def _encoder(
    separators: tuple[str, str], ascii_only: bool, indent: int | str | None = None
) -> json.JSONEncoder:
    return json.JSONEncoder(
        ensure_ascii=ascii_only,
        separators=separators,
        indent=indent,
        default=stand_in,
        check_circular=False,
    )


def _styles() -> dict[str, Callable[[Any], str]]:
    layouts: dict[str, tuple[tuple[str, str], int | str | None]] = {
        "compact": ((",", ":"), None),
        "spaced": ((", ", ": "), None),
        "indent 2": ((",", ": "), 2),
        "indent 4": ((",", ": "), 4),
        "indent tab": ((",", ": "), "\t"),
    }
    styles = {name: _encoder(marks, False, indent).encode for name, (marks, indent) in layouts.items()}
    return styles | {
        f"{name} ascii": _encoder(marks, True, indent).encode for name, (marks, indent) in layouts.items()
    }


STYLES = _styles()
# Go's encoding/json escapes these five inside strings (https://pkg.go.dev/encoding/json#HTMLEscape).
_GO_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
STYLES["compact html"] = lambda value: STYLES["compact"](value).translate(_GO_ESCAPES)


def write(value: Any, style: str = "compact") -> str:
    """Write a value in a style of `STYLES`; raises `KeyError` where there is no such style."""
    text = STYLES[style](value)
    return _MARKED.sub(r"\1", text) if _MARK in text else text


_CUT = [math.nan, "|"]


def write_each(values: Sequence[Any], style: str) -> list[str]:
    """Write every value by itself, in one call of the encoder: a stream has hundreds of small ones."""
    if not values or style.startswith("indent"):
        return [write(value, style) for value in values]
    parted = [item for value in values for item in (_CUT, value)][1:]
    comma = ", " if style.startswith("spaced") else ","
    text = STYLES[style](parted)[1:-1]
    pieces = text.split(f"{comma}{STYLES[style](_CUT)}{comma}")
    return [_MARKED.sub(r"\1", piece) if _MARK in piece else piece for piece in pieces]


# What stands behind the first bracket, or the first key, shows which styles it can not be.
_OPENS = re.compile(r'[{\[]\n|\{"(?:[^"\\]|\\.)*+":( ?)')


def styled(text: str) -> tuple[Any, str] | None:
    """Give the value and the style that write this text again, or None where none does."""
    for style in _possible(text) if (value := reviewable(text)) is not None else ():
        if write(value, style) == text:
            return value, style
    return None


def _possible(text: str) -> Iterable[str]:
    opens = _OPENS.match(text)
    if opens is None:
        return STYLES
    kind = "indent" if opens[1] is None else "spaced" if opens[1] else "compact"
    return (style for style in STYLES if style.startswith(kind))


def reviewable(text: str) -> Any:
    """Give the value of a JSON text that is not too deep to review, else None."""
    try:
        value = parse(text)
    except ValueError:
        return None
    return value if _within(value, DEEPEST) else None


def _within(value: Any, depth: int) -> bool:
    """Say whether nothing lies deeper; level by level, since a body may have a million values."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(depth - 1):
        if not level:
            return True
        level = [
            item
            for outer in level
            for item in (outer.values() if type(outer) is dict else outer)
            if type(item) is dict or type(item) is list
        ]
    return not any(level)
