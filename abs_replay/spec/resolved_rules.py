"""Evaluations built from resolved fields: the rule, its condition, its fingerprint."""

import hashlib
from collections.abc import Collection, Mapping
from typing import Any

from abs_replay.exact_json import Json, dumps
from abs_replay.spec import rule_checks, rule_types, rules
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


# What decides how an answer becomes a verdict, and whether it is looked for at all; the rest is the question.
DECIDING = frozenset({"threshold", "blocking", "when", "reason"})


def _fingerprint(fields: Mapping[str, Any], when: Condition | None, parts: tuple[Evaluation, ...]) -> str:
    """Name an evaluation after resolving: `QUESTION.DECISION.VERSION`, whatever the order of its keys.

    The type of a composition is its pass rule, and so of the decision.
    """
    deciding = DECIDING | {"type"} if parts else DECIDING
    own = {key: value for key, value in fields.items() if key != "evaluations"}
    of_parts = [part.fingerprint.split(".", 2) for part in parts]
    question: Json = [
        {key: value for key, value in own.items() if key not in deciding},
        [names[0] for names in of_parts],
    ]
    decision: Json = [
        {key: value for key, value in own.items() if key in deciding},
        when.values if when else {},
        [names[1] for names in of_parts],
    ]
    versions = {rule_types.version_of(fields["type"]), *(names[2] for names in of_parts)}
    return f"{_digest(question)}.{_digest(decision)}.{'+'.join(sorted(versions))}"


def _digest(value: Json) -> str:
    return hashlib.sha256(dumps(_sorted(value)).encode()).hexdigest()[:32]


def _sorted(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value
