"""`schema`: content against a full JSON Schema (SEMANTICS E4).

Numbers stay exact, formats are asserted, nothing is fetched, and every pattern of the author's runs
under the time limit. `jsonschema` is loaded when the first schema is met: it costs 0.2 s.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import Context as Arithmetic
from decimal import Decimal
from functools import lru_cache, partialmethod
from typing import TYPE_CHECKING, Any, cast

from abs_replay.evaluators.context import Context, failed, observed_in, passed
from abs_replay.exact_json import Json
from abs_replay.predicates import Undecided, shown, structured
from abs_replay.predicates.patterns import search
from abs_replay.spec.rules import Schema
from abs_replay.spec.schema_checks import DRAFTS, NEWEST, validator_of
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Verdict

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

NAMES = ("properties", "$defs", "definitions", "dependentSchemas", "dependencies")  # keys are names there
VALUES = ("const", "enum", "default", "examples")  # no schemas there
TELLING = ("required", "additionalProperties", "unevaluatedProperties", "dependentRequired", "dependencies")
DIGITS = 10_000  # of a quotient, beyond which `multipleOf` is given up


def schema(evaluation: Evaluation, context: Context) -> Verdict:
    rule, step = evaluation.rule, context.step
    assert isinstance(rule, Schema)
    content = structured(observed_in(step))
    violations = sorted(set(violations_of(rule.schema_, content)))
    if not violations:
        return passed(evaluation, "valid against the schema", step.seq)
    return failed(evaluation, "; ".join(violations), step.seq)


def violations_of(schema: Any, content: Any) -> Iterator[str]:
    """Say everything that is wrong with the content, each with its path (`$.lines[0].sku`)."""
    original: dict[str, str] = {}
    if isinstance(schema, Mapping):
        schema = _fitted(schema, content, original)
    for error in _validator(schema).iter_errors(content):
        text = _told(error)
        for written, pattern in original.items():
            text = text.replace(repr(written), repr(pattern))
        yield f"{error.json_path}: {text}"


def _told(error: "ValidationError") -> str:
    if error.validator in TELLING:
        return error.message
    observed: Any = error.instance
    if error.validator is None:
        return f"expected nothing here, observed {shown(observed)}"
    wanted: Any = error.validator_value
    return f"expected {error.validator} {shown(wanted)}, observed {shown(observed)}"


def _validator(schema: Any) -> "Validator":
    from referencing.jsonschema import EMPTY_REGISTRY

    kind = _exact(_draft(schema))
    return kind(schema, registry=EMPTY_REGISTRY, format_checker=kind.FORMAT_CHECKER)


def _draft(schema: Any) -> str:
    draft: str = schema.get("$schema", NEWEST) if isinstance(schema, Mapping) else NEWEST
    return draft.rstrip("#")


@lru_cache(maxsize=8)
def _exact(draft: str) -> "type[Validator]":
    """Give a draft's validator, made to take exact numbers and to stop patterns."""
    from jsonschema.validators import extend

    from abs_replay.evaluators.schema_formats import formats_of

    if draft not in DRAFTS:
        raise Undecided(f"unknown JSON Schema draft {shown(draft)}")
    kind = validator_of(draft)
    types = kind.TYPE_CHECKER
    if "draft-04" not in draft:  # where 1.0 is no integer yet
        types = types.redefine("integer", _is_integer)
    own = {"pattern": _pattern, "multipleOf": _multiple_of}
    exact: Any = extend(  # type: ignore[no-untyped-call]
        kind, own, type_checker=types, format_checker=formats_of(kind)
    )
    exact.evolve = partialmethod(_evolve, exact.evolve)
    exact.descend = partialmethod(_descend, exact.descend)
    return cast("type[Validator]", exact)


def _evolve(validator: Any, plain: Callable[..., Any], **changes: Any) -> "Validator":
    """Stay exact in a part that names its draft; also `#` is one. The library would take its own class."""
    evolved = plain(validator, **changes)
    if type(evolved) is type(validator):
        return cast("Validator", evolved)
    kind: Any = _exact(_draft(evolved.schema))
    more = {"registry": evolved._registry, "_resolver": evolved._resolver}
    return cast("Validator", kind(evolved.schema, format_checker=kind.FORMAT_CHECKER, **more))


def _descend(
    validator: Any, plain: Callable[..., Any], instance: Json, schema: Any, path: Any = None, **more: Any
) -> "Iterator[ValidationError]":
    errors: Iterator[ValidationError] = plain(validator, instance, schema, path, **more)
    return errors if schema is not False or path is None else _placed(errors, path)


def _placed(errors: "Iterator[ValidationError]", path: str | int) -> "Iterator[ValidationError]":
    """Say where the content is that `false` refuses: the library forgets the path there."""
    for error in errors:
        error.path.appendleft(path)
        yield error


def _is_integer(_: object, value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )


def _pattern(validator: Any, pattern: str, instance: Json, _: object) -> "Iterator[ValidationError]":
    from jsonschema.exceptions import ValidationError

    if isinstance(instance, str) and not search(pattern, instance):
        yield ValidationError("does not match")


def _multiple_of(validator: Any, factor: Any, instance: Any, _: object) -> "Iterator[ValidationError]":
    from jsonschema.exceptions import ValidationError

    if not validator.is_type(instance, "number"):
        return
    whole, part = (Decimal(repr(n)) if isinstance(n, float) else Decimal(n) for n in (instance, factor))
    digits = max(whole.adjusted() - part.adjusted(), 0) + len(whole.as_tuple().digits) + 2
    if digits > DIGITS:
        raise Undecided(f"{shown(instance)} is too large to be divided by {shown(factor)}")
    if Arithmetic(prec=digits + len(part.as_tuple().digits)).remainder(whole, part):
        yield ValidationError("is no multiple")


# -- patternProperties --
#
# The library matches these in several places with `re`, which can not be stopped. For given content
# only the keys in it matter: so each pattern is searched here, and replaced by the keys it matches.


def _fitted(schema: Mapping[str, Any], content: Json, original: dict[str, str]) -> Mapping[str, Any]:
    if '"patternProperties"' not in _keywords(schema):
        return schema
    keys = list(dict.fromkeys(_keys(content)))
    fitted: Mapping[str, Any] = _refit(schema, keys, original)
    return fitted


def _keywords(value: Any) -> set[str]:
    if isinstance(value, Mapping):
        return {f'"{key}"' for key in value}.union(*map(_keywords, value.values()))
    return set().union(*map(_keywords, value)) if isinstance(value, list | tuple) else set()


def _keys(content: Json) -> Iterator[str]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield key
            yield from _keys(value)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from _keys(item)


def _refit(schema: Any, keys: list[str], original: dict[str, str]) -> Any:
    if isinstance(schema, list | tuple):
        return [_refit(item, keys, original) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword == "patternProperties" and isinstance(value, Mapping):
            result[keyword] = {
                _only(pattern, keys, original): _refit(inner, keys, original)
                for pattern, inner in value.items()
            }
        elif keyword in NAMES and isinstance(value, Mapping):
            result[keyword] = {name: _refit(inner, keys, original) for name, inner in value.items()}
        else:
            result[keyword] = value if keyword in VALUES else _refit(value, keys, original)
    return result


def _only(pattern: str, keys: list[str], original: dict[str, str]) -> str:
    """Write a pattern that matches just those of the keys that the author's matches."""
    matching = "|".join(re.escape(key) for key in keys if search(pattern, key)) or "(?!)"
    written = f"(?#{len(original)})\\A(?:{matching})\\Z"
    original[written] = pattern
    return written
