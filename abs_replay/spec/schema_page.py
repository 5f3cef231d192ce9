"""Every key of ABS documents on one Markdown page: the schema (`spec/schema.py`) for people.

Made from the schema, so it says what the loader checks with, evaluators of installed packages among it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from abs_replay.spec import rules

type Schema = Mapping[str, Any]

_HEAD = """# Every key of an ABS document

Made by `abs schema --format markdown`. A key that begins with `x-` is yours, anywhere. Where a number, a
boolean or a mapping is wanted, a reference (`{{order.id}}`) may stand.
"""
_COMMON = tuple(rules.BuiltIn.model_fields)


def page(schema: Schema) -> str:
    """Give the page for a document's schema (`schema.document_schema`)."""
    defs = schema["$defs"]
    step, session = _types(defs["step_evaluation"]), _types(defs["session_evaluation"])
    anywhere = [name for name in step if name in session]
    parts = "\n".join(
        [
            _HEAD,
            *_section("Document", schema),
            *_section("`dataset`", defs["dataset"]),
            *_section("Behavior", defs["behavior"]),
            *_section("`matches_when`", _merged(defs["behavior"]["properties"]["matches_when"])),
            *_section("Selector (`order`, `match`, `after`)", defs["selector"]),
            *_section("Every evaluation", _only(defs[next(iter(step.values()))], _COMMON)),
            *_evaluations("Of a behavior", {k: defs[v] for k, v in step.items() if k not in anywhere}),
            *_evaluations("Of a session", {k: defs[v] for k, v in session.items() if k not in anywhere}),
            *_evaluations("Of either", {k: defs[step[k]] for k in anywhere}),
        ]
    )
    return parts.rstrip("\n") + "\n"


def _types(evaluation: Schema) -> dict[str, str]:
    """Give the definition's name for each type of evaluation."""
    names = evaluation["properties"]["type"]["enum"]
    targets = [chosen["then"]["$ref"].rpartition("/")[2] for chosen in evaluation["allOf"]]
    return dict(zip(names, targets, strict=True))


def _merged(by_type: Schema) -> Schema:
    """Put the fields of every type into one table."""
    fields = {
        key: field for chosen in by_type["allOf"] for key, field in chosen["then"]["properties"].items()
    }
    return {"properties": {**fields, "type": by_type["properties"]["type"]}, "required": ["type"]}


def _only(schema: Schema, keys: Iterable[str]) -> Schema:
    kept = {key: schema["properties"][key] for key in keys}
    return {
        "properties": {**kept, "type": {**kept["type"], "const": None, "type": "string"}},
        "required": ["type"],
    }


def _section(title: str, schema: Schema) -> Iterator[str]:
    yield f"## {title}\n"
    yield from _table(schema)


def _evaluations(title: str, schemas: Mapping[str, Schema]) -> Iterator[str]:
    yield f"## {title}\n"
    for name, schema in schemas.items():
        yield f"### `{name}`\n\n{schema['description']}\n"
        own = {key: field for key, field in schema["properties"].items() if key not in _COMMON}
        if own:
            yield from _table({**schema, "properties": own})


def _table(schema: Schema) -> Iterator[str]:
    yield "| key | is | says |\n|---|---|---|"
    required = schema.get("required", ())
    for key, field in schema["properties"].items():
        must = ", required" if key in required else ""
        says = field.get("description", "").replace("|", "\\|")
        yield f"| `{key}` | {_kind(field)}{_default(field)}{must} | {says} |"
    yield ""


def _default(field: Schema) -> str:
    default = field.get("default")
    return "" if default is None else f" (`{str(default).lower()}`)"


def _kind(field: Schema) -> str:
    """Say in a word or two what may stand there; a reference may anyway."""
    if field.get("const") or field.get("enum"):
        known = field.get("enum", [field.get("const")])
        return " ".join(dict.fromkeys(f"`{value}`" for value in known))
    if "anyOf" in field and "type" not in field:
        return " or ".join(dict.fromkeys(_kind(one) for one in field["anyOf"] if not _is_reference(one)))
    if field.get("anyOf"):
        return " or ".join(_kind(one) for one in field["anyOf"] if not _is_reference(one))
    if "$ref" in field:
        return str(field["$ref"].rpartition("/")[2]).removeprefix("step_").removeprefix("session_")
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}" if field.get("items") else "list"
    return _KINDS.get(field.get("type", ""), "anything")


_KINDS: Mapping[str, str] = {
    "string": "text",
    "boolean": "true or false",
    "object": "mapping",
    "number": "number",
    "integer": "whole number",
}


def _is_reference(field: Schema) -> bool:
    return field.get("$ref") == "#/$defs/reference"
