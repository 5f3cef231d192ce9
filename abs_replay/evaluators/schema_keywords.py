"""Keywords of JSON Schema whose meaning or cost is not left to the library (SEMANTICS E3, E4).

Numbers stay exact, patterns can be stopped, and what is compared is compared in linear time.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Context as Arithmetic
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from abs_replay.evaluators.schema_budget import key, keys_of, spend, spend_on, spend_on_writing
from abs_replay.evaluators.schema_evaluated import (
    Errors,
    matching,
    named,
    unevaluated_items,
    unevaluated_properties,
)
from abs_replay.exact_json import Json, equal
from abs_replay.predicates import Undecided, shown
from abs_replay.predicates.patterns import search

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

DIGITS = 10_000  # of a quotient, beyond which `multipleOf` is given up
REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
REFERRING = 4  # steps for finding out where one leads

type Keyword = Callable[[Any, Any, Any, Any], Iterator["ValidationError"] | None]


def keywords_of(kind: "type[Validator]") -> dict[str, Keyword]:
    """Give all keywords of a draft, ours in place of the library's, each spending steps."""
    keywords: Mapping[str, Keyword] = kind.VALIDATORS
    return {name: _spending(name, KEYWORDS.get(name, keyword)) for name, keyword in keywords.items()}


def _spending(name: str, keyword: Keyword) -> Keyword:
    ours, extra = name in KEYWORDS, REFERRING if name in REFERENCES else 0

    def check(validator: Any, value: Any, instance: Any, schema: Any) -> Errors:
        spend_on(instance, *(() if ours else (value,)))
        spend(extra)
        for error in keyword(validator, value, instance, schema) or ():
            if not ours and not error.path and not error.schema_path:  # of this very keyword
                spend_on_writing(value, instance)
            yield error

    return check


def _pattern(validator: Any, pattern: str, instance: Json, _: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not search(pattern, instance):
        yield ValidationError("does not match")


def _multiple_of(validator: Any, factor: Any, instance: Any, _: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "number"):
        return
    whole, part = (Decimal(repr(n)) if isinstance(n, float) else Decimal(n) for n in (instance, factor))
    digits = max(whole.adjusted() - part.adjusted(), 0) + len(whole.as_tuple().digits) + 2
    if digits > DIGITS:
        raise Undecided(f"{shown(instance)} is too large to be divided by {shown(factor)}")
    if Arithmetic(prec=digits + len(part.as_tuple().digits)).remainder(whole, part):
        yield ValidationError("is no multiple")


def _unique_items(validator: Any, wanted: bool, instance: Any, _: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    if wanted and validator.is_type(instance, "array") and len(set(map(key, instance))) < len(instance):
        yield ValidationError("holds a value twice")


def _enum(validator: Any, values: Any, instance: Json, _: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    if key(instance) not in keys_of(values):
        yield ValidationError("is none of them")


def _const(_: object, value: Json, instance: Json, __: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    spend_on_writing(value)  # more is not compared
    if not equal(instance, value):
        yield ValidationError("is another value")


def _pattern_properties(validator: Any, rules: Mapping[str, Any], instance: Any, _: object) -> Errors:
    if validator.is_type(instance, "object"):
        for pattern, name in matching(rules, instance):
            yield from validator.descend(instance[name], rules[pattern], path=name, schema_path=pattern)


def _additional_properties(validator: Any, rule: Any, instance: Any, schema: Mapping[str, Any]) -> Errors:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    patterns = schema.get("patternProperties", {})
    known = {name for _, name in matching(patterns, instance)} | schema.get("properties", {}).keys()
    extra = [name for name in instance if name not in known]
    if rule is False and extra:
        but = f" (no name matches {named(list(patterns))})" if patterns else ""
        yield ValidationError(f"additional properties that are not allowed: {named(extra)}{but}")
    elif rule is not False:
        for name in extra:
            yield from validator.descend(instance[name], rule, path=name)


KEYWORDS: Mapping[str, Keyword] = {
    "pattern": _pattern,
    "multipleOf": _multiple_of,
    "uniqueItems": _unique_items,
    "const": _const,
    "enum": _enum,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "unevaluatedProperties": unevaluated_properties,
    "unevaluatedItems": unevaluated_items,
}
