"""What can be known of one evaluation from its own fields (SEMANTICS D2, D7).

The same checks run twice: at load, where a value that holds a reference is passed over
(`pending`), and once the references are resolved (V2).
"""

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, get_args

from abs_replay import plugins
from abs_replay.exact_json import Json, Number
from abs_replay.spec import judging, references, rules, schema_checks
from abs_replay.spec.places import Path, meant, nearest
from abs_replay.spec.rule_types import BUILT_IN, RuleTypes, by_type
from abs_replay.trace import ACTIONS, ACTORS, COMMUNICATION, EXECUTION

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

type Pending = Callable[[Json], bool]
type Found = Iterator[tuple[Path, str]]


STEP = RuleTypes(by_type(rules.STEP_RULES, rules.ANY_LEVEL), "step")
SESSION = RuleTypes(by_type(rules.SESSION_RULES, rules.ANY_LEVEL), "session")
TYPES = RuleTypes(BUILT_IN, "any")
COMPOSITIONS = tuple(by_type(rules.ANY_LEVEL))
SCORING = (rules.Judged, rules.TextMetric, rules.Custom, rules.Composition)  # those with a threshold (R6)
ADAPTERS = judging.ENGINES
SELECTORS = ("match", "after")
_DIGITS = 18  # 1e999999999 would take the memory of a whole number that long
# Patterns are tried with references standing for these: the author's own part must compile with one.
_STAND_INS = ("x", "~")
_MESSAGES: Mapping[str, str] = {
    "string_type": "must be text",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "tuple_type": "must be a list",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}


def at_load(value: Json) -> bool:
    """Pass over what can be known only at run: a text with references."""
    return isinstance(value, str) and any(references.names(value))


def at_run(_: Json) -> bool:
    """Pass over nothing."""
    return False


def keys(model: type[rules.AnyRule]) -> tuple[str, ...]:
    """The keys that an evaluation of this model may have, as authors write them."""
    return tuple(field.alias or name for name, field in model.model_fields.items())


def known(raw: Mapping[str, Json], model: type[rules.AnyRule]) -> dict[str, Any]:
    """The fields that the model reads: without `x-` keys and those it does not know."""
    if issubclass(model, rules.Custom):
        return {key: value for key, value in raw.items() if not key.startswith("x-")}
    allowed = keys(model)
    return {key: _known_in(key, value) for key, value in raw.items() if key in allowed}


def _known_in(key: str, value: Json) -> Json:
    if key in SELECTORS and isinstance(value, Mapping):
        return {name: item for name, item in value.items() if name in rules.Selector.model_fields}
    if key == "order" and isinstance(value, list):
        return [_known_in("match", item) for item in value]
    return value


def model_data(fields: Mapping[str, Any], model: type[rules.AnyRule]) -> dict[str, Any]:
    """Exact numbers as the models want them: 0.70 as a float, 3.0 as a whole number."""
    kinds = _kinds(model)
    return {key: _inexact(value, kinds[key]) if key in kinds else value for key, value in fields.items()}


def _inexact(value: Any, kinds: tuple[Any, ...]) -> Any:
    if isinstance(value, list) and {float, int} & set(kinds):
        return [_inexact(item, kinds) for item in value]
    if not isinstance(value, Number):
        return value
    if float in kinds:
        return float(value)
    whole = int in kinds and value.adjusted() < _DIGITS and value == value.to_integral_value()
    return int(value) if whole else value


def is_text(model: type[rules.AnyRule], key: str) -> bool:
    """Say whether the model wants text under a key, and nothing else."""
    return set(_kinds(model).get(key, ())) <= {str, NoneType} and key in keys(model)


def _kinds(model: type[rules.AnyRule]) -> dict[str, tuple[Any, ...]]:
    fields = ((field.alias or name, field.annotation) for name, field in model.model_fields.items())
    return {key: get_args(annotation) or (annotation,) for key, annotation in fields}


def problems(
    fields: Mapping[str, Any], model: type[rules.AnyRule], pending: Pending, adapters: Collection[str]
) -> Found:
    """Give what is wrong with an evaluation's known fields, by path inside it."""
    broken = dict(_model_problems(fields, model, pending))
    yield from broken.items()
    for path, message in _meanings(fields, model, pending, adapters):
        if path not in broken:
            yield path, message


def _meanings(
    fields: Mapping[str, Any], model: type[rules.AnyRule], pending: Pending, adapters: Collection[str]
) -> Found:
    if not issubclass(model, rules.Custom):
        yield from _excluding(fields)
    for path, selector in selectors(fields, model):
        yield from _selector_problems(selector, path)
    if issubclass(model, rules.Regex):
        yield from pattern_problems(fields.get("pattern"), pending, ("pattern",))
    if "schema" in fields and issubclass(model, rules.Schema):
        for path, message in schema_checks.problems(fields["schema"], pending):
            yield ("schema", *path), message
    if issubclass(model, rules.Count) and not {"min", "max"} & fields.keys():
        yield (), "count needs `min` or `max`"
    if fields.get("type") == "llm_judge" and not {"criteria", "prompt"} & fields.keys():
        yield (), "llm_judge needs `criteria`"
    if issubclass(model, rules.TextMetric):
        yield from _choices(fields, pending)
    adapter = fields.get("adapter")
    if isinstance(adapter, str) and not pending(adapter) and not judging.is_known(adapter, adapters):
        own = sorted({*adapters} - {*ADAPTERS})
        yield ("adapter",), judging.unknown(adapter, own)
    yield from _when_problems(fields.get("when"))


def _model_problems(fields: Mapping[str, Any], model: type[rules.AnyRule], pending: Pending) -> Found:
    nulls = [key for key, value in fields.items() if value is None and key in keys(model)]
    blank = [key for key in nulls if key not in ("value", "schema")]
    for key in blank:
        yield (key,), "must not be null: leave the key out"
    data = model_data({key: fields[key] for key in fields if key not in blank}, model)
    try:
        with plugins.foreign():
            model.model_validate(data)
    except Exception as trouble:
        yield from _said(trouble, fields, pending)


def _said(trouble: Exception, fields: Mapping[str, Any], pending: Pending) -> Found:
    """Give what a model found wrong; a validator of another package may raise anything."""
    from pydantic import ValidationError

    if not isinstance(trouble, ValidationError):
        yield (), f"can not be checked: the evaluator's model raised {plugins.told(trouble)}"
        return
    for found in trouble.errors(include_url=False, include_context=True):
        path = tuple(found["loc"])
        if found["type"] == "missing" and path[-1] not in fields:
            yield path[:-1], f"`{path[-1]}` is missing"
        elif not pending(found["input"]) and found["type"] != "missing":
            yield path, message(found)


def message(found: "ErrorDetails") -> str:
    """Say what a model found wrong, in an author's words."""
    limits = found.get("ctx", {})
    match found["type"]:
        case "greater_than_equal":
            return f"must be at least {limits['ge']}"
        case "less_than_equal":
            return f"must be at most {limits['le']}"
        case kind:
            return _MESSAGES.get(kind, found["msg"])


def _choices(fields: Mapping[str, Any], pending: Pending) -> Found:
    kind = fields["type"]
    for key, of_type in (("variant", rules.VARIANTS), ("metric", rules.METRICS)):
        value, known = fields.get(key), of_type[kind]
        if isinstance(value, str) and value not in known and not pending(value):
            hint = meant(value, known) if known else "leave the key out"
            yield (key,), f"`{kind}` has no {key} `{value}`: {hint}"


def _excluding(fields: Mapping[str, Any]) -> Found:
    order = list(fields)
    if "with" in fields and "with_only" in fields:
        yield (max("with", "with_only", key=order.index),), "`with` and `with_only` exclude each other"
    least, most = fields.get("min"), fields.get("max")
    if isinstance(least, int | Number) and isinstance(most, int | Number) and least > most:
        yield (max("min", "max", key=order.index),), f"no number is at least {least} and at most {most}"


def selectors(
    fields: Mapping[str, Json], model: type[rules.AnyRule]
) -> Iterator[tuple[Path, Mapping[str, Json]]]:
    """The selectors of an evaluation with their paths; those of a `custom` one are its own keys."""
    places: list[tuple[Path, Json]] = [
        ((key,), fields.get(key)) for key in SELECTORS if key in model.model_fields
    ]
    order = fields.get("order") if issubclass(model, rules.Sequence) else None
    places += [(("order", i), item) for i, item in enumerate(order)] if isinstance(order, list) else []
    yield from ((path, selector) for path, selector in places if isinstance(selector, Mapping))


def _selector_problems(selector: Mapping[str, Json], path: Path) -> Found:
    if not selector:
        yield path, "a selector needs one of `actor`, `action`, `target`"
    for key, value in selector.items():
        if value is None:
            yield (*path, key), "must not be null: leave the key out"
    if misspelt := misspelt_actor(selector.get("actor")):
        yield (*path, "actor"), misspelt


def misspelt_actor(actor: Json) -> str | None:
    """Say what an unknown actor was meant to be: it would select nothing, and `never` would pass on it."""
    if not isinstance(actor, str) or actor in ACTORS:
        return None
    near = nearest(actor.lower(), ACTORS)
    return f"unknown actor `{actor}`: did you mean `{near}`?" if near else None


def unknown_verb(action: Json, does: str) -> str | None:
    """Say what comes of a verb that the format does not have: it only matches itself (SEMANTICS A3)."""
    if not isinstance(action, str) or not action or action in ACTIONS or at_load(action):
        return None
    near = nearest(action.lower(), ACTIONS, 0.75)
    known = f"words are {', '.join(COMMUNICATION)}; work is {', '.join(EXECUTION)}"
    hint = f"did you mean `{near}`?" if near else known
    return f"`{action}` is no verb known here: it {does} only steps that say the same; {hint}"


def pattern_problems(pattern: Json, pending: Pending, path: Path) -> Found:
    """Compile a pattern as Python's `re`, references standing for themselves (V2, E3)."""
    if not isinstance(pattern, str):
        return
    stand_ins = _STAND_INS if pending is at_load else ("",)
    reasons: list[str] = []
    for stand_in in stand_ins:
        reason = _compile(_pattern_with(pattern, stand_in) if stand_in else pattern)
        if reason is None:
            return
        reasons.append(reason)
    yield path, f"no valid pattern: {reasons[0]}"


def _pattern_with(pattern: str, stand_in: str) -> str:
    parts = references.parse(pattern, pattern=True)
    return "".join(part if isinstance(part, str) else stand_in for part in parts)


def _compile(pattern: str) -> str | None:
    try:
        with warnings.catch_warnings(action="ignore"):  # `re` muses about patterns that may change one day
            re.compile(pattern)
    except RecursionError:
        return "nested too deep"
    except (re.error, OverflowError) as error:
        return str(error)
    return None


def _when_problems(when: Json) -> Found:
    if isinstance(when, str):
        from abs_replay.spec import expressions  # few documents have one

        try:
            expressions.parse(when)
        except expressions.ConditionError as error:
            yield ("when",), f"no valid condition: {error}"
