"""Whether a JSON Schema is one, before any content meets it (SEMANTICS D7, E4).

`jsonschema` is loaded when the first schema is met: it takes a third of the start of `abs grade`.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from abs_replay.exact_json import Json, dumps, loads
from abs_replay.spec.places import Path

if TYPE_CHECKING:
    from jsonschema.protocols import Validator
    from referencing import Registry, Specification

NEWEST = "https://json-schema.org/draft/2020-12/schema"
DRAFTS: Mapping[str, str] = {  # each with its class in `jsonschema`
    NEWEST: "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
    "http://json-schema.org/draft-06/schema": "Draft6Validator",
    "http://json-schema.org/draft-04/schema": "Draft4Validator",
}
# Below the first stand schemas by name, below the second values: `$ref` or `pattern` there is data.
NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")
VALUES = ("const", "enum", "default", "examples")

type Pending = Callable[[Json], bool]
type Found = Iterator[tuple[Path, str]]
type _Resolver = Any  # `referencing` exports no name for what its registries give


def validator_of(draft: str) -> "type[Validator]":
    """Give the validator of one of `DRAFTS`."""
    import jsonschema

    kind: type[Validator] = getattr(jsonschema, DRAFTS[draft])
    return kind


def problems(schema: Json, pending: Pending) -> Found:
    """Give what is wrong, by path; parts that are `pending` (references unresolved) are left out."""
    try:
        yield from _of_shape(dumps(_shape(schema)), pending)
    except RecursionError:
        yield (), "the schema is nested too deeply"


def _shape(value: Json, *, names: bool = False) -> Json:
    """A schema without what may be any value: a thousand that differ in a `const` are checked once."""
    if isinstance(value, Mapping):
        return {
            key: item if not names and key in VALUES else _shape(item, names=not names and key in NAMES)
            for key, item in value.items()
            if names or key not in ("const", "default")
        }
    return [_shape(item) for item in value] if isinstance(value, list | tuple) else value


@lru_cache(maxsize=256)
def _of_shape(shape: str, pending: Pending) -> tuple[tuple[Path, str], ...]:
    with warnings.catch_warnings(action="ignore"):  # `re` muses about patterns that may change one day
        return tuple(_problems(loads(shape), pending))


def _problems(schema: Json, pending: Pending) -> Found:
    if isinstance(schema, bool) or pending(schema):
        return
    if not isinstance(schema, Mapping):
        yield (), "a JSON Schema is a mapping, true or false"
        return
    draft = schema.get("$schema", NEWEST)
    if pending(draft):
        return
    if not isinstance(draft, str) or draft.rstrip("#") not in DRAFTS:
        yield ("$schema",), f"unknown JSON Schema draft; known: {', '.join(DRAFTS)}"
        return
    broken = False
    for path, message in _violations(schema, validator_of(draft.rstrip("#")), pending):
        broken = True
        yield path, message
    if not broken:
        yield from _references(schema, draft.rstrip("#"), pending)


def _violations(schema: Mapping[str, Json], draft: "type[Validator]", pending: Pending) -> Found:
    checker = draft(draft.META_SCHEMA, format_checker=draft.FORMAT_CHECKER)
    for error in checker.iter_errors(_floats(schema)):
        instance = cast(Json, error.instance)
        parts = [instance, *instance] if isinstance(instance, list) else [instance]
        if not any(map(pending, parts)):
            yield tuple(error.absolute_path), f"no valid JSON Schema: {error.message[:300]}"


def _floats(value: Json) -> Any:
    """Exact numbers as the numbers that `jsonschema` knows: 3.0 is an integer to it, Decimal is not."""
    if isinstance(value, Mapping):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_floats(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


def _references(schema: Mapping[str, Json], draft: str, pending: Pending) -> Found:
    from referencing.jsonschema import EMPTY_REGISTRY, specification_with

    specification = specification_with(draft)
    root = specification.create_resource(schema)
    base = root.id() or "urn:document"
    registry: Registry[Json] = EMPTY_REGISTRY.with_resource(base, root).crawl()
    for path, resolver, target in _written(schema, (), registry.resolver(base), specification):
        if not pending(target) and not _leads_somewhere(resolver, target):
            reason = "nothing is there" if target.startswith("#") else "it leads out of the document"
            yield path, f"the reference {target} can not be followed: {reason}"


def _leads_somewhere(resolver: _Resolver, target: str) -> bool:
    from referencing.exceptions import Unresolvable

    try:
        resolver.lookup(target)
    except (Unresolvable, ValueError):
        return False
    return True


def _written(
    value: Json, path: Path, resolver: _Resolver, specification: "Specification[Json]"
) -> Iterator[tuple[Path, _Resolver, str]]:
    """Every reference with its path and what resolves it: an embedded `$id` begins a new base."""
    if isinstance(value, Mapping):
        if path:
            resolver = resolver.in_subresource(specification.create_resource(value))
        for key, item in value.items():
            if key in ("$ref", "$dynamicRef", "$recursiveRef") and isinstance(item, str):
                yield (*path, key), resolver, item
            elif key not in VALUES or path[-1:] in (("properties",), ("$defs",), ("definitions",)):
                yield from _written(item, (*path, key), resolver, specification)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _written(item, (*path, index), resolver, specification)
