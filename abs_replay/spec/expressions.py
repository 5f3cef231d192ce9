"""The grammar of `when` (SEMANTICS C6), read by hand into expressions.

or < and < not < one comparison (== != < <= > >= in), parentheses, JSON literals, text also in
single quotes, lists, references
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from abs_replay.exact_json import Json, loads
from abs_replay.spec import references

DEEPEST = 50  # parentheses, lists and `not` inside each other


class ConditionError(ValueError):
    """A `when` that is not in the language; the message says what was read."""


@dataclass(frozen=True, slots=True)
class Constant:
    value: Json


@dataclass(frozen=True, slots=True)
class Text:
    """A quoted text, which may hold references."""

    written: str


@dataclass(frozen=True, slots=True)
class Value:
    """A reference standing for its value."""

    name: str


@dataclass(frozen=True, slots=True)
class Items:
    of: tuple["Expression", ...]


@dataclass(frozen=True, slots=True)
class Fields:
    of: tuple[tuple[str, "Expression"], ...]


@dataclass(frozen=True, slots=True)
class Not:
    of: "Expression"


@dataclass(frozen=True, slots=True)
class AnyAll:
    """Operands of `or` or `and`; `until` is the boolean that decides the whole early."""

    of: tuple["Expression", ...]
    until: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    operator: str
    left: "Expression"
    right: "Expression"


type Expression = Constant | Text | Value | Items | Fields | Not | AnyAll | Comparison


def parse(text: str) -> Expression:
    """Read a `when`; raises `ConditionError`."""
    reader = _Reader(_tokens(text))
    expression = reader.either()
    reader.finish()
    return expression


def names(expression: Expression) -> Iterator[str]:
    """Give the references of an expression, as written."""
    match expression:
        case Value(name):
            yield name
        case Text(written):
            yield from references.names(written)
        case Not(of):
            yield from names(of)
        case Items(parts) | AnyAll(parts, _):
            for part in parts:
                yield from names(part)
        case Fields(pairs):
            for _, part in pairs:
                yield from names(part)
        case Comparison(_, left, right):
            yield from names(left)
            yield from names(right)


_TOKEN = re.compile(
    r"""[\ \t\r\n]*+(?:
        (?P<reference>\{\{[^{}]*+\}\})
      | (?P<text>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')
      | (?P<number>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.]))
      | (?P<word>[^\W\d]\w*+)
      | (?P<sign>==|!=|<=|>=|[<>()\[\]{},:])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS: Mapping[str, Json] = {"true": True, "false": False, "null": None}
_COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "in")
_END = ("end", "the end")


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None:
            rest = text[position:].strip()
            raise ConditionError(f"can not read `{rest[:20]}`")
        tokens.append((str(found.lastgroup), found[str(found.lastgroup)]))
        position = found.end()
    return [*tokens, _END]


class _Reader:
    """Recursive descent over the tokens; every method reads one level of the grammar."""

    def __init__(self, tokens: Sequence[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    def either(self) -> Expression:
        return self._row("or", self._both, until=True)

    def finish(self) -> None:
        kind, text = self._tokens[self._at]
        if kind != "end":
            raise ConditionError(f"`{text}` can not follow here")

    def _both(self) -> Expression:
        return self._row("and", self._negation, until=False)

    def _row(self, word: str, part: Callable[[], Expression], *, until: bool) -> Expression:
        parts = [part()]
        while self._take(word):
            parts.append(part())
        return parts[0] if len(parts) == 1 else AnyAll(tuple(parts), until)

    def _negation(self) -> Expression:
        return Not(self._inside(self._negation)) if self._take("not") else self._comparison()

    def _comparison(self) -> Expression:
        left = self._operand()
        operator = self._take(*_COMPARISONS)
        if not operator:
            return left
        right = self._operand()
        if self._tokens[self._at][1] in _COMPARISONS and self._tokens[self._at][0] != "text":
            raise ConditionError("comparisons can not be chained: join them with `and`")
        return Comparison(operator, left, right)

    def _operand(self) -> Expression:
        kind, text = self._tokens[self._at]
        self._at += kind != "end"
        match kind, text:
            case "reference", _:
                return _reference(text)
            case "text", _:
                return Text(_unquoted(text))
            case "number", _:
                return Constant(_number(text))
            case "word", ("true" | "false" | "null"):
                return Constant(_CONSTANTS[text])
            case "sign", "(":
                inner = self._inside(self.either)
                self._expect(")")
                return inner
            case "sign", "[":
                return Items(self._inside(lambda: self._list("]", self._operand)))
            case "sign", "{":
                return Fields(self._inside(lambda: self._list("}", self._pair)))
        raise ConditionError(f"expected a value, found {text if kind == 'end' else f'`{text}`'}")

    def _pair(self) -> tuple[str, Expression]:
        kind, text = self._tokens[self._at]
        if kind != "text":
            raise ConditionError(f"expected a key in quotes, found `{text}`")
        self._at += 1
        self._expect(":")
        return _unquoted(text), self._operand()

    def _list[T](self, end: str, item: Callable[[], T]) -> tuple[T, ...]:
        items: list[T] = []
        while not self._take(end):
            if items:
                self._expect(",")
            items.append(item())
        return tuple(items)

    def _inside[T](self, part: Callable[[], T]) -> T:
        self._depth += 1
        if self._depth > DEEPEST:
            raise ConditionError(f"nested more than {DEEPEST} deep")
        result = part()
        self._depth -= 1
        return result

    def _take(self, *wanted: str) -> str:
        kind, text = self._tokens[self._at]
        if kind not in ("word", "sign") or text not in wanted:
            return ""
        self._at += 1
        return text

    def _expect(self, wanted: str) -> None:
        if not self._take(wanted):
            raise ConditionError(f"expected `{wanted}`, found `{self._tokens[self._at][1]}`")


def _reference(text: str) -> Expression:
    name = references.alone(text)
    if name is None:
        raise ConditionError(f"`{text}` is no reference")
    return Value(name)


def _unquoted(text: str) -> str:
    """Read a quoted text. `\\{{` is left to `references` (V6); in single quotes `\\'` is a quote."""
    escapes = {"\\{": "\\\\{", "\\'": "'" if text.startswith("'") else "\\'", '"': '\\"'}
    body = re.sub(r'\\.|"', lambda found: escapes.get(found[0], found[0]), text[1:-1], flags=re.DOTALL)
    try:
        result = loads(f'"{body}"')
        result.encode()
    except ValueError:
        raise ConditionError(f"can not read the text {text[:20]}") from None
    assert isinstance(result, str)
    return result


def _number(text: str) -> Json:
    try:
        number: Json = loads(text)
    except (ValueError, ArithmeticError):
        raise ConditionError(f"the number {text[:20]} is too large") from None
    return number
