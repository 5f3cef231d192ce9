"""`schema`: content against a full JSON Schema (SEMANTICS E4).

Numbers stay exact, formats are asserted, nothing is fetched, every pattern of the author's runs under the
time limit, and the whole ends after so many steps (`schema_budget`): as an error, and on every machine
alike. `jsonschema` is loaded when the first schema is met: it costs 0.2 s.
"""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache, partialmethod
from typing import TYPE_CHECKING, Any, cast

from abs_replay.evaluators.context import Context, failed, observed_in, passed
from abs_replay.evaluators.schema_budget import budget, shown_once, spend, spend_on_writing
from abs_replay.evaluators.schema_keywords import keywords_of
from abs_replay.exact_json import Json
from abs_replay.predicates import Undecided, shown, structured
from abs_replay.spec.rules import Schema
from abs_replay.spec.schema_checks import DRAFTS, NEWEST, validator_of
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Verdict

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator

TELLING = ("required", "additionalProperties", "unevaluatedProperties", "dependentRequired", "dependencies")


def schema(evaluation: Evaluation, context: Context) -> Verdict:
    rule, step = evaluation.rule, context.step
    assert isinstance(rule, Schema)
    content = structured(observed_in(step))
    violations = sorted(set(violations_of(rule.schema_, content)))
    if not violations:
        return passed(evaluation, "valid against the schema", step.seq)
    return failed(evaluation, "; ".join(violations), step.seq)


def violations_of(schema: Any, content: Any) -> list[str]:
    """Say everything that is wrong with the content, each with its path (`$.lines[0].sku`).

    Raises `Undecided` for what takes too many steps.
    """
    with budget():
        return [f"{error.json_path}: {_told(error)}" for error in _validator(schema).iter_errors(content)]


def _told(error: "ValidationError") -> str:
    if error.validator in TELLING:
        return error.message
    observed: Any = error.instance
    spend_on_writing(observed)
    if error.validator is None:
        return f"expected nothing here, observed {shown(observed)}"
    wanted: Any = error.validator_value
    return f"expected {error.validator} {shown_once(wanted)}, observed {shown(observed)}"


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
    exact: Any = extend(  # type: ignore[no-untyped-call]
        kind, keywords_of(kind), type_checker=types, format_checker=formats_of(kind)
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
    spend(1)
    if schema is False:
        spend_on_writing(instance)
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
