"""JSON without loss: exact numbers, compact writing, one notion of equality.

Numbers with a fraction or an exponent are kept as `Decimal` so that they are written as they
came (FORMATS: "numbers stay exact"). Equality is that of SEMANTICS A5: `1 == 1.0`,
`1 != "1"`, `true != 1`.
"""

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
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
    signed_zero = (b"-0" if isinstance(text, bytes) else "-0") in text  # rare, and `int` is twice as fast
    return json.loads(
        text, parse_float=Number, parse_int=whole if signed_zero else int, parse_constant=_refuse
    )


def whole(text: str) -> int | Number:
    """Read a whole number; -0, which no `int` can say, stays as written. Raises `ValueError`."""
    number = int(text)
    return number if number or text[0] != "-" else Number("-0")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def dumps(value: Json) -> str:
    """Write compact JSON: no blanks, keys in their order, letters not escaped (SEMANTICS V1)."""
    return "".join(_write(value))


def _write(value: Json) -> list[str]:
    match value:
        case Number():
            return [value.text]
        case Decimal():
            return [str(value)]
        case Mapping():
            inner = [f"{json.dumps(key, ensure_ascii=False)}:{dumps(item)}" for key, item in value.items()]
            return ["{", ",".join(inner), "}"]
        case list() | tuple():
            return ["[", ",".join(dumps(item) for item in value), "]"]
        case _:
            return [json.dumps(value, ensure_ascii=False)]


def equal(left: Json, right: Json) -> bool:
    """Say whether two JSON values are the same value (SEMANTICS A5)."""
    if isinstance(left, bool) or isinstance(right, bool) or left is None or right is None:
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal):
        return left == right
    return isinstance(left, str) and isinstance(right, str) and left == right
