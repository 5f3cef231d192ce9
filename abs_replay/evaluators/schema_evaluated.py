"""`unevaluatedProperties` and `unevaluatedItems`: what no other keyword has looked at (SEMANTICS E4).

The library searches for keys with `re`, which can not be stopped, and looks each one up in a list.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from abs_replay.evaluators.schema_budget import spend, spend_on
from abs_replay.exact_json import dumps
from abs_replay.predicates.patterns import search

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

SEARCHES = 4  # with a pattern in short texts make a step

type Errors = Iterator["ValidationError"]
type Evaluated = set[str] | set[int]


def unevaluated_properties(validator: Any, rule: Any, instance: Any, _: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "object"):
        return
    evaluated = _evaluated(validator, instance)
    left = [key for key in instance if key not in evaluated and not _fits(validator, instance[key], rule)]
    if left:
        yield ValidationError(f"unevaluated properties that are not allowed: {named(left)}")


def unevaluated_items(validator: Any, rule: Any, instance: Any, _: object) -> Errors:
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "array"):
        return
    if len(_evaluated(validator, instance)) < len(instance):  # those that fit the rule are among them
        yield ValidationError("unevaluated items that are not allowed")


def named(keys: list[str]) -> str:
    return ", ".join(map(dumps, keys))


def matching(patterns: Mapping[str, Any], instance: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Give each key of an object with each pattern that it matches."""
    for pattern in patterns:
        spend(1 + len(instance) // SEARCHES)
        for key in instance:
            if search(pattern, key):
                yield pattern, key


def _evaluated(validator: Any, instance: Any) -> Evaluated:
    """Give the keys or positions that a schema looks at in a value, also through its parts."""
    schema = validator.schema
    if not isinstance(schema, Mapping):
        return set()
    spend_on(instance)
    found: set[Any] = (_keys if isinstance(instance, Mapping) else _positions)(validator, schema, instance)
    for part in _parts(validator, schema, instance):
        found |= _evaluated(part, instance)
    return found


def _keys(validator: Any, schema: Mapping[str, Any], instance: Mapping[str, Any]) -> set[str]:
    found: set[str] = schema.get("properties", {}).keys() & instance.keys()
    found |= {key for _, key in matching(schema.get("patternProperties", {}), instance)}
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            found |= {key for key, value in instance.items() if _fits(validator, value, schema[keyword])}
    return found


def _positions(validator: Any, schema: Mapping[str, Any], instance: list[Any]) -> set[int]:
    everything = range(len(instance))
    items, first = schema.get("items"), schema.get("prefixItems", ())
    if isinstance(items, list | tuple):  # as it was until 2019-09
        items, first = schema.get("additionalItems"), items
    found = set(everything if items is not None else everything[: len(first)])
    for keyword in ("contains", "unevaluatedItems"):
        if keyword in schema:
            found |= {at for at in everything if _fits(validator, instance[at], schema[keyword])}
    return found


def _parts(validator: Any, schema: Mapping[str, Any], instance: Any) -> Iterator[Any]:
    """Give validators for the parts that speak of the same value, and that it fits."""
    yield from _referred(validator, schema)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for part in schema.get(keyword, ()):
            if _fits(validator, instance, part):
                yield validator.evolve(schema=part)
    if "if" in schema:
        fits = _fits(validator, instance, schema["if"])
        for part in (schema["if"], schema.get("then", True)) if fits else (schema.get("else", True),):
            yield validator.evolve(schema=part)
    for name, part in schema.get("dependentSchemas", {}).items():
        if isinstance(instance, Mapping) and name in instance:
            yield validator.evolve(schema=part)


def _referred(validator: Any, schema: Mapping[str, Any]) -> Iterator[Any]:
    from referencing.jsonschema import lookup_recursive_ref

    known, resolver = validator.VALIDATORS, validator._resolver
    resolved = [
        resolver.lookup(schema[key]) for key in ("$ref", "$dynamicRef") if key in schema and key in known
    ]
    if "$recursiveRef" in schema and "$recursiveRef" in known:
        resolved.append(lookup_recursive_ref(resolver))
    for one in resolved:
        yield validator.evolve(schema=one.contents, _resolver=one.resolver)


def _fits(validator: Any, value: Any, schema: Any) -> bool:
    return next(validator.descend(value, schema), None) is None
