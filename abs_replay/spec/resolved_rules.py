"""Evaluations built from resolved fields: the rule, its condition, its fingerprint."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from abs_replay.exact_json import Json, dumps
from abs_replay.spec import rule_checks, rules
from abs_replay.spec.places import written
from abs_replay.spec.session import Condition, Evaluation


def build(
    at: str,
    fields: Mapping[str, Any],
    values: Mapping[str, Json],
    parts: tuple[Evaluation, ...],
    adapters: Collection[str],
) -> Evaluation:
    """Build an evaluation from its known, resolved fields and the values of its references."""
    rule, invalid = _rule(fields, adapters)
    when = _condition(fields, values)
    return Evaluation(
        at=at,
        rule=rule,
        when=when,
        parts=parts,
        references=frozenset(values),
        fingerprint=_fingerprint(fields, when, parts),
        invalid=invalid,
    )


def _rule(fields: Mapping[str, Any], adapters: Collection[str]) -> tuple[rules.AnyRule, str | None]:
    """What a check says of values known only at run makes the rule invalid, not the document (V2)."""
    model = rule_checks.TYPES[fields["type"]]
    problems = list(rule_checks.problems(fields, model, rule_checks.at_run, adapters))
    data = rule_checks.model_data(fields, model)
    if not problems:
        return model.model_validate(data), None
    path, message = problems[0]
    broken = {place[0] for place, _ in problems if place}
    usable = {key: value for key, value in data.items() if key not in broken}
    return model.model_construct(**usable), f"{written(path)}: {message}" if path else message


def _condition(fields: Mapping[str, Any], values: Mapping[str, Json]) -> Condition | None:
    text = fields.get("when")
    if not isinstance(text, str):
        return None
    from abs_replay.spec import expressions

    expression = expressions.parse(text)
    names = [name for name in expressions.names(expression) if name in values]
    return Condition(text, expression, {name: values[name] for name in names})


def _fingerprint(fields: Mapping[str, Any], when: Condition | None, parts: tuple[Evaluation, ...]) -> str:
    """sha256 of an evaluation after resolving, whatever the order of its keys."""
    own = {key: value for key, value in fields.items() if key != "evaluations"}
    resolved: Json = [own, when.values if when else {}, [part.fingerprint for part in parts]]
    return hashlib.sha256(dumps(_sorted(resolved)).encode()).hexdigest()


def _sorted(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value
