"""JSON without loss: exact numbers, compact writing, one notion of equality.

Numbers with a fraction or an exponent are kept as `Decimal` so that they are written as they
came (FORMATS: "numbers stay exact"). Equality is that of SEMANTICS A5: `1 == 1.0`,
`1 != "1"`, `true != 1`.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

type Json = bool | int | float | Decimal | str | Sequence["Json"] | Mapping[str, "Json"] | None


class Number(Decimal):
    """A number with a fraction or an exponent that remembers how it was written."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> "Number":
        number = super().__new__(cls, text)
        number.text = text
        return number


def loads(text: str | bytes) -> Any:
    """Parse JSON with exact numbers; raises `ValueError` for what is no JSON (NaN included)."""
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    # -0 is rare, and plain `int` is twice as fast.
    decoder = _SIGNED if "-0" in text else _PLAIN
    try:
        return decoder.decode(text)
    except ArithmeticError:
        raise ValueError("a number is too large") from None


def whole(text: str) -> int | Number:
    """Read a whole number; -0, which no `int` can say, stays as written. Raises `ValueError`."""
    number = int(text)
    return number if number or text[0] != "-" else Number("-0")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


# Made once: short texts take longer to make a decoder for than to decode.
_PLAIN = json.JSONDecoder(parse_float=Number, parse_int=int, parse_constant=_refuse)
_SIGNED = json.JSONDecoder(parse_float=Number, parse_int=whole, parse_constant=_refuse)


def dumps(value: Json) -> str:
    """Write compact JSON: no blanks, keys in their order, letters not escaped (SEMANTICS V1)."""
    parts: list[str] = []
    _write(value, parts.append)
    return "".join(parts)


def _write(value: Json, out: Callable[[str], None]) -> None:
    # One frame a level, so that what `loads` could read is written, too.
    if isinstance(value, str):
        out(encode_basestring(value))
    elif value is None or value is True or value is False:
        out(_CONSTANTS[value])
    elif isinstance(value, dict | Mapping):  # `dict` first: asking an abstract class is slow
        before = "{"
        for key, item in value.items():
            out(f"{before}{encode_basestring(key)}:")
            _write(item, out)
            before = ","
        out("}" if value else "{}")
    elif isinstance(value, list | tuple):
        before = "["
        for item in value:
            out(before)
            _write(item, out)
            before = ","
        out("]" if value else "[]")
    elif isinstance(value, Decimal):
        out(value.text if isinstance(value, Number) else str(value))
    else:
        out(repr(value) if type(value) is int else json.dumps(value))


_CONSTANTS = {None: "null", True: "true", False: "false"}


def equal(left: Json, right: Json) -> bool:
    """Say whether two JSON values are the same value (SEMANTICS A5)."""
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, int | float | Decimal) or isinstance(right, int | float | Decimal):
        numbers = isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal)
        return numbers and left == right
    for one, other in _pairs(left, right):  # noqa: SIM110 -- one frame a level, as in `_write`
        if not equal(one, other):
            return False
    return True


_UNLIKE: Sequence[tuple[Json, Json]] = ((True, False),)


def _pairs(left: Json, right: Json) -> Iterable[tuple[Json, Json]]:
    """What must be equal in turn, of two objects or lists."""
    if isinstance(left, dict | Mapping) and isinstance(right, dict | Mapping):
        return [(left[key], right[key]) for key in left] if left.keys() == right.keys() else _UNLIKE
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return zip(left, right, strict=True) if len(left) == len(right) else _UNLIKE
    return _UNLIKE
