"""JSON as this or that program writes it: given a text, the value and the style that write it back.

A body may stand as JSON in a cassette only if `write(value, style)` gives the very text that came.
Numbers keep how they were written (`1e-7`, `0.10`); a text that no style gives back has no style.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jiter import LosslessFloat, from_json
from msgspec import Raw
from msgspec.json import Encoder
from msgspec.json import format as laid_out

from abs_replay.exact_json import Number

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
    parse_float=lambda text: LosslessFloat(text.encode()),
    parse_int=lambda text: LosslessFloat(b"-0") if text == "-0" else int(text),
    parse_constant=_refuse,
    object_pairs_hook=_once,
)


def parse(text: str) -> Any:
    """Read JSON; a float that Python would write otherwise is a `Number`. Raises `ValueError`."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
    except ArithmeticError:
        raise ValueError("a number is too large") from None


def parse_at(text: str, place: int) -> tuple[Any, int]:
    """Read the JSON that begins at a place, and give where it ends; raises `ValueError`.

    No object may have a key twice, of which only the last would count. Every number that is not whole is a
    `LosslessFloat`, which remembers how it was written.
    """
    try:
        return _STRICT.raw_decode(text, place)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


# The one number that a fast reader takes for another, 0, ends with one of these behind its sign.
_ZEROS = frozenset((b"0", *(b"0" + mark for mark in (b",", b"]", b"}", b" ", b"\n", b"\r", b"\t"))))


def read_fast(text: bytes) -> Any:
    """Read JSON as `parse_at` does, several times faster; raises `ValueError` for more than it does."""
    for part in text.split(b"-")[1:]:
        if part[:2] in _ZEROS:
            raise ValueError("-0")
    # What is read here is mostly read once: nothing is worth a cache.
    return from_json(
        text,
        allow_inf_nan=False,
        cache_mode="none",
        catch_duplicate_keys=True,
        float_mode="lossless-float",
    )


def stand_in(value: object) -> list[float | str]:
    """Stand in for a `Number` where the encoder written in C asks; `write` puts the number there again."""
    if isinstance(value, Number):
        return [math.nan, value.text]
    if isinstance(value, LosslessFloat):
        return [math.nan, str(value)]
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


def read(text: bytes) -> Any:
    """Read JSON as `parse_at` does, fast where that can be; raises `ValueError`."""
    try:
        return read_fast(text)
    except ValueError:
        pass
    try:
        return _STRICT.decode(text.decode())
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None


# How many blanks a level has in `msgspec.json.format`: -1 is none at all, 0 one behind each comma and colon.
_BLANKS = {"compact": -1, "spaced": 0, "indent 2": 2, "indent 4": 4}
FAST_STYLES = {
    f"{style}{letters}": (blanks, bool(letters))
    for style, blanks in _BLANKS.items()
    for letters in ("", " ascii")
}
_COMPACT = Encoder(enc_hook=lambda value: Raw(bytes(value)))


def write_fast(value: Any, style: str) -> bytes:
    """Write what `parse_at` or `read_fast` gave, as `write` does, where that is the same but for blanks.

    Raises `ValueError` for a style, or for letters, that take more.
    """
    if style not in FAST_STYLES:
        raise ValueError(style)
    blanks, ascii_only = FAST_STYLES[style]
    text = _COMPACT.encode(value)
    if ascii_only and (not text.isascii() or b"\x7f" in text):
        raise ValueError("letters to escape")
    return text if blanks < 0 else laid_out(text, indent=blanks)


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
