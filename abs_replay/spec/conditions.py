"""Whether a `when` holds (SEMANTICS C6): decided by looking values up, never by an interpreter.

`parse` gives an expression or raises `ConditionError`; `holds` gives a boolean or raises
`Undecidable`. References are looked up in `Condition.values`; a value never becomes syntax.
"""

from collections.abc import Mapping
from decimal import Decimal

from abs_replay.exact_json import Json, dumps, equal
from abs_replay.spec import references
from abs_replay.spec.expressions import (
    AnyAll,
    Comparison,
    ConditionError,
    Constant,
    Expression,
    Fields,
    Items,
    Not,
    Text,
    Value,
    names,
    parse,
)
from abs_replay.spec.session import Condition

__all__ = ["ConditionError", "Undecidable", "holds", "names", "parse"]


class Undecidable(Exception):
    """A `when` that is neither true nor false for these values; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def holds(condition: Condition) -> bool:
    """Decide a `when`; raises `Undecidable` for everything that C6 calls an error."""
    expression = condition.expression
    assert isinstance(
        expression, Constant | Text | Value | Items | Fields | Not | AnyAll | Comparison
    )  # what `parse` gave
    try:
        return _boolean(_evaluate(expression, condition.values), "the whole")
    except RecursionError:
        raise Undecidable("a value is nested too deeply to be compared") from None


def _evaluate(expression: Expression, values: Mapping[str, Json]) -> Json:
    match expression:
        case Constant(value):
            return value
        case Value(name):
            return _look_up(name, values)
        case Text(written):
            return references.fill(written, lambda name: _look_up(name, values))
        case Items(parts):
            return [_evaluate(part, values) for part in parts]
        case Fields(pairs):
            return {key: _evaluate(part, values) for key, part in pairs}
        case Not(of):
            return not _boolean(_evaluate(of, values), "what `not` negates")
        case AnyAll(parts, until):
            word = "or" if until else "and"
            decided = any(_boolean(_evaluate(p, values), f"a side of `{word}`") is until for p in parts)
            return decided is until
        case _:
            left, right = _evaluate(expression.left, values), _evaluate(expression.right, values)
            return _compare(expression.operator, left, right)


def _look_up(name: str, values: Mapping[str, Json]) -> Json:
    if name not in values:
        raise Undecidable(f"{{{{{name}}}}} has no value")
    return values[name]


def _boolean(value: Json, what: str) -> bool:
    if not isinstance(value, bool):
        raise Undecidable(f"{what} is {_shown(value)}, no boolean")
    return value


def _compare(operator: str, left: Json, right: Json) -> bool:
    if operator in ("==", "!="):
        return equal(left, right) is (operator == "==")
    return _in(left, right) if operator == "in" else _ordered(operator, left, right)


def _in(left: Json, right: Json) -> bool:
    match right:
        case list() | tuple():
            return any(equal(left, item) for item in right)
        case str() | Mapping() if isinstance(left, str):
            return left in right
    raise Undecidable(f"`in` can not look for {_shown(left)} in {_shown(right)}")


def _ordered(operator: str, left: Json, right: Json) -> bool:
    order = _order(left, right)
    if order is None:
        raise Undecidable(
            f"{_shown(left)} {operator} {_shown(right)}: only two numbers or two texts have an order"
        )
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def _order(left: Json, right: Json) -> int | None:
    if isinstance(left, str) and isinstance(right, str):
        return (left > right) - (left < right)
    if isinstance(left, bool) or isinstance(right, bool):
        return None
    if isinstance(left, int | float | Decimal) and isinstance(right, int | float | Decimal):
        return (left > right) - (left < right)
    return None


def _shown(value: Json) -> str:
    text = dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
