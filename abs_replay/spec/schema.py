"""The JSON Schema (2020-12) of ABS documents, for editors: `abs schema`.

Generated from the rule models and the tables that the loader itself checks with, so that it can not
drift from them. It is no stricter than the loader: what only the whole document shows (ids, references,
patterns that compile) `abs validate` says.
"""

from collections.abc import Mapping
from typing import Any

from abs_replay.spec import checks, rule_checks, rules, schema_texts
from abs_replay.spec.rule_types import RuleTypes
from abs_replay.trace import ACTORS, EXECUTION

type Schema = dict[str, Any]

_SELECTOR = rules.Selector.__name__
_X_KEYS: Schema = {"^x-": True}
_REFERENCE: Schema = {"$ref": "#/$defs/reference"}
_KINDS: Mapping[checks.Kind, Schema] = {
    "text": {"type": "string", "minLength": 1},
    "words": {"type": "string"},
    "boolean": {"type": "boolean"},
    "mapping": {"type": "object"},
    "list": {"type": "array"},
    "anything": {},
    "version": {"enum": [*checks.VERSIONS, *map(float, checks.VERSIONS)]},
}
_SUGGESTED: Mapping[str, list[str]] = {
    "actor": list(ACTORS),
    "action": ["says", "asks", "responds", "informs", *EXECUTION, "hands_off"],
    "adapter": list(rule_checks.ADAPTERS),
}


def document_schema() -> Schema:
    """Give the schema of one document, with the evaluators that installed packages add."""
    of_fragments = {"type": "object", "additionalProperties": _list_of("entry")}
    properties = _properties(
        checks.DOCUMENT,
        dataset={"$ref": "#/$defs/dataset"},
        fragments=of_fragments,
        behaviors={**_list_of("entry"), "minItems": 1},
        evaluations=_list_of("session_evaluation"),
    )
    own_session = [key for key in checks.DOCUMENT if not checks.only_lends({"fragments": {}, key: None})]
    lends = {"required": ["fragments"], "properties": dict.fromkeys(own_session, False)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ABS document",
        **_closed(properties),
        "anyOf": [{"required": ["session", "behaviors"]}, lends],
        "$defs": {
            "reference": {"type": "string", "pattern": r"\{\{.+\}\}", "description": "A {{reference}}."},
            "dataset": _closed(_properties(checks.DATASET), "id"),
            "entry": {
                "if": {"required": ["include"]},
                "then": _closed(_properties(checks.INCLUDE), "include"),
                "else": {"$ref": "#/$defs/behavior"},
            },
            "behavior": _behavior(),
            "selector": _selector(),
            **_evaluations("step", rule_checks.STEP),
            **_evaluations("session", rule_checks.SESSION),
        },
    }


def _behavior() -> Schema:
    matches = {key: schema_texts.OF_DOCUMENT[key] for key in ("type", *checks.MATCHES_WHEN.values())}
    kinds = [
        _closed({"type": {"const": kind}, key: {"type": "string", "description": matches[key]}}, "type", key)
        for kind, key in checks.MATCHES_WHEN.items()
    ]
    criterion = {
        **_by_type(dict(zip(checks.MATCHES_WHEN, kinds, strict=True))),
        "properties": {"type": {"enum": list(checks.MATCHES_WHEN), "description": matches["type"]}},
    }
    properties = _properties(checks.BEHAVIOR, matches_when=criterion, evaluations=_list_of("step_evaluation"))
    exclusive = {"not": {"required": ["with", "with_only"]}}
    return {**_closed(properties, "actor", "action"), **exclusive}


def _properties(table: Mapping[str, checks.Kind], **special: Schema) -> dict[str, Schema]:
    """The keys of a mapping that the loader checks with a table."""
    return {
        key: _described(key, special.get(key, _KINDS[kind]), schema_texts.OF_DOCUMENT)
        for key, kind in table.items()
    }


def _described(key: str, schema: Schema, texts: Mapping[str, str]) -> Schema:
    said = {"description": texts[key]} if key in texts else {}
    suggested = {"examples": _SUGGESTED[key]} if key in _SUGGESTED else {}
    return {**schema, **said, **suggested}


def _closed(properties: Mapping[str, Schema], *required: str) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "patternProperties": _X_KEYS,
        "additionalProperties": False,
        "required": list(required),
    }


def _list_of(name: str) -> Schema:
    return {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}


def _by_type(schemas: Mapping[str, Schema]) -> Schema:
    """One schema for each `type`, so that an editor complains of the one that is meant."""
    chosen = [
        {"if": {"properties": {"type": {"const": kind}}, "required": ["type"]}, "then": schema}
        for kind, schema in schemas.items()
    ]
    return {
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": list(schemas)}},
        "allOf": chosen,
    }


# -- evaluations, from their models --


def _evaluations(level: str, types: RuleTypes) -> dict[str, Schema]:
    """The definition of a level's evaluations, and one for each type that may stand there."""
    models = {name: model for name in types if (model := types.get(name)) is not None}
    names = {
        name: f"{level}_{name}" if issubclass(model, rules.Composition) else name
        for name, model in models.items()
    }
    definitions: dict[str, Schema] = {}
    for name, model in models.items():
        definitions |= _rule(names[name], name, model, level)
    by_type = _by_type({name: {"$ref": f"#/$defs/{names[name]}"} for name in models})
    return {f"{level}_evaluation": by_type, **definitions}


def _rule(definition: str, name: str, model: type[rules.AnyRule], level: str) -> dict[str, Schema]:
    """The definition of one type, and those of the models inside it (`TYPE.MODEL`)."""
    made = model.model_json_schema(by_alias=True, ref_template=f"#/$defs/{name}.{{model}}")
    properties = {key: _field(key, field) for key, field in made["properties"].items()}
    properties["type"] = {"const": name, "description": schema_texts.OF_EVALUATION["type"]}
    if issubclass(model, rules.Composition):
        parts = {**_list_of(f"{level}_evaluation"), "minItems": 1}
        properties["evaluations"] = _described("evaluations", parts, schema_texts.OF_EVALUATION)
    if issubclass(model, rules.TextMetric):
        _choose(properties, "variant", rules.VARIANTS[name])
        _choose(properties, "metric", rules.METRICS[name])
    schema = {
        "description": schema_texts.OF_TYPE.get(name) or made.get("description", ""),
        **_closed(properties, *made["required"]),
        "additionalProperties": made["additionalProperties"],
    }
    inner = {f"{name}.{key}": one for key, one in made.get("$defs", {}).items() if key != _SELECTOR}
    return {definition: schema, **inner}


def _choose(properties: dict[str, Schema], key: str, known: tuple[str, ...]) -> None:
    """Allow what a text metric knows under a key; where it knows nothing the key is not allowed."""
    made = properties.pop(key)
    if known:
        properties[key] = {**made, "type": "string", "anyOf": [{"enum": list(known)}, _REFERENCE]}


def _field(key: str, made: Schema) -> Schema:
    """A model's field as authors write it: never null, and a reference where no text is wanted."""
    kinds = [kind for kind in made.get("anyOf", [made]) if kind.get("type") != "null"]
    schema: Schema = (
        {"anyOf": kinds} if len(kinds) > 1 else {k: v for k, v in kinds[0].items() if k != "title"}
    )
    for holder in (schema, schema.get("items", {})):
        if holder.get("$ref", "").endswith(f".{_SELECTOR}"):
            holder["$ref"] = "#/$defs/selector"
    default = schema.pop("default", made.get("default"))
    if schema.get("type") in ("boolean", "number", "integer", "object"):
        schema = {"anyOf": [schema, _REFERENCE]}
    if default is not None:
        schema["default"] = default
    if "description" in made:
        schema["description"] = made["description"]
    return _described(key, schema, schema_texts.OF_EVALUATION)


def _selector() -> Schema:
    fields = rules.Selector.model_fields
    properties = {key: _described(key, {"type": "string"}, schema_texts.OF_SELECTOR) for key in fields}
    return {**_closed(properties), "anyOf": [{"required": [key]} for key in fields]}
