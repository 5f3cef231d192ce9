"""JSON without loss: exact numbers, compact writing, one notion of equality.

Numbers with a fraction or an exponent are kept as `Decimal` so that they are written as they
came (FORMATS: "numbers stay exact"). Equality is that of SEMANTICS A5: `1 == 1.0`,
`1 != "1"`, `true != 1`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


class DuplicateKey(ValueError):
    """An object has a key twice, of which only the last would count; `line` counts from 1."""

    def __init__(self, key: str, line: int) -> None:
        super().__init__(f"the key {dumps(key)} is there twice in one object")
        self.line = line


class _Twice(Exception):
    """Some object has a key twice."""


class _NoNumber(Exception):
    """A word for a number that JSON does not have."""


def loads(text: str | bytes, *, strict: bool = False) -> Any:
    """Parse JSON with exact numbers; raises `ValueError` for what is no JSON (NaN included).

    `strict` refuses an object with a key twice, as a `DuplicateKey`.
    """
    if not isinstance(text, str):
        text = text.decode(json.detect_encoding(text), "surrogatepass")
    # -0 is rare, and plain `int` is twice as fast.
    signed = "-0" in text
    decoder = _STRICT[signed] if strict else _SIGNED if signed else _PLAIN
    try:
        return decoder.decode(text)
    except _Twice:
        first, *_ = _duplicates(text)
        raise first from None
    except _NoNumber as word:
        raise ValueError(f"{word} is no JSON number") from None
    except json.JSONDecodeError:
        raise
    except (ArithmeticError, ValueError):  # ValueError: a whole number of thousands of digits
        raise ValueError("a number is too large") from None


def whole(text: str) -> int | Number:
    """Read a whole number; -0, which no `int` can say, stays as written. Raises `ValueError`."""
    number = int(text)
    return number if number or text[0] != "-" else Number("-0")


def _refuse(name: str) -> None:
    raise _NoNumber(name)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _Twice
    return fields


_KEY_OR_BRACE = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*+:)?|[{}]')


def _duplicates(text: str) -> Iterator[DuplicateKey]:
    """Find the keys of a JSON text that their objects have already."""
    objects: list[set[str]] = []
    for found in _KEY_OR_BRACE.finditer(text):
        if found[0] == "{":
            objects.append(set())
        elif found[0] == "}":
            objects.pop()
        elif found[2]:
            key: str = json.loads(found[1])
            if key in objects[-1]:
                yield DuplicateKey(key, text.count("\n", 0, found.start()) + 1)
            objects[-1].add(key)


# Made once: short texts take longer to make a decoder for than to decode.
_PLAIN = json.JSONDecoder(parse_float=Number, parse_int=int, parse_constant=_refuse)
_SIGNED = json.JSONDecoder(parse_float=Number, parse_int=whole, parse_constant=_refuse)
_STRICT = tuple(
    json.JSONDecoder(parse_float=Number, parse_int=kind, parse_constant=_refuse, object_pairs_hook=_once)
    for kind in (int, whole)
)


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
