"""Where an author can write references, and how each place reads them (SEMANTICS V2).

`behavior` and `evaluation` rebuild what was written with `visit(path, text, mode)` in the place of
every text in which references count. Resolving and listing references are two such visits.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from abs_replay.exact_json import Json
from abs_replay.spec.places import Path
from abs_replay.spec.rule_checks import SELECTORS, TYPES, is_text
from abs_replay.spec.rule_types import BUILT_IN
from abs_replay.spec.rules import AnyRule
from abs_replay.spec.schema_checks import VALUES


class Mode(Enum):
    """How a place reads its references."""

    VALUE = "value"  # a reference alone keeps its type
    TEXT = "text"  # always text
    PATTERN = "pattern"  # values escaped
    CONDITION = "condition"  # values looked up, the text stays


type Visit = Callable[[Path, str, Mode], Json]

_VERBATIM = ("type", "behavior", "variable")
_TYPED = ("with", "with_only", "threshold", "blocking", "case_sensitive", "ordered", "every")
_NUMBERS = ("min", "max", "max_steps")
_MODES: Mapping[str, Mode] = {
    **dict.fromkeys((*_TYPED, *_NUMBERS), Mode.VALUE),
    "pattern": Mode.PATTERN,
    "when": Mode.CONDITION,
}
# What every evaluation has reads the same in a `custom` one; all else there is the author's own.
_OF_ALL = ("blocking", "threshold", "adapter", "when", "reason", "dataset", "prompt")
_FIELDS = {
    "content": Mode.VALUE,
    "with": Mode.VALUE,
    "with_only": Mode.VALUE,
    "capture": Mode.VALUE,
    "target": Mode.TEXT,
}


def behavior(value: Mapping[str, Json], visit: Visit) -> dict[str, Any]:
    """Rebuild a behavior's fields, all but its evaluations."""
    result: dict[str, Any] = dict(value)
    for key, mode in _FIELDS.items():
        if key in value:
            result[key] = _apply(value[key], visit, (key,), mode)
    match = value.get("matches_when")
    if isinstance(match, Mapping):
        result["matches_when"] = {
            key: _field(key, item, visit, ("matches_when", key), Mode.TEXT) for key, item in match.items()
        }
    result.pop("evaluations", None)
    return result


def evaluation(fields: Mapping[str, Json], visit: Visit, path: Path = ()) -> dict[str, Any]:
    """Rebuild an evaluation; a composition's parts are rebuilt on their own."""
    kind = fields.get("type")
    own = _own_keys(kind)
    result: dict[str, Any] = {}
    for key, value in fields.items():
        here = (*path, key)
        if own and key not in (*_OF_ALL, "type"):
            result[key] = _apply(value, visit, here, Mode.TEXT if is_text(own, key) else Mode.VALUE)
        elif key == "evaluations":
            result[key] = value
        elif key in SELECTORS:
            result[key] = _selector(value, visit, here)
        elif key == "order" and isinstance(value, list):
            result[key] = [_selector(item, visit, (*here, i)) for i, item in enumerate(value)]
        elif key == "schema":
            result[key] = _schema(value, visit, here)
        else:
            result[key] = _field(key, value, visit, here, Mode.VALUE if kind == "exact_match" else Mode.TEXT)
    return result


def _own_keys(kind: Json) -> type[AnyRule] | None:
    """The model of a type whose keys are none of the format's: `custom`, or an installed package's."""
    model = TYPES.get(kind) if isinstance(kind, str) else None
    return model if kind == "custom" or kind not in tuple(BUILT_IN) else None


def _field(key: str, value: Json, visit: Visit, path: Path, of_value: Mode) -> Json:
    if key in _VERBATIM:
        return value
    default = of_value if key == "value" else Mode.TEXT
    return _apply(value, visit, path, _MODES.get(key, default))


def _selector(value: Json, visit: Visit, path: Path) -> Json:
    if not isinstance(value, Mapping):
        return value
    return {
        key: _apply(item, visit, (*path, key), Mode.TEXT) if key == "target" else item
        for key, item in value.items()
    }


def _schema(value: Json, visit: Visit, path: Path, *, is_schema: bool = True) -> Json:
    if isinstance(value, Mapping):
        return {
            key: visit((*path, key), item, Mode.PATTERN)
            if is_schema and key == "pattern" and isinstance(item, str)
            else _schema(item, visit, (*path, key), is_schema=is_schema and key not in VALUES)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_schema(item, visit, (*path, i), is_schema=is_schema) for i, item in enumerate(value)]
    return _apply(value, visit, path, Mode.VALUE)


def _apply(value: Json, visit: Visit, path: Path, mode: Mode) -> Json:
    if isinstance(value, str):
        return visit(path, value, mode)
    if isinstance(value, Mapping):
        return {key: _apply(item, visit, (*path, key), mode) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_apply(item, visit, (*path, index), mode) for index, item in enumerate(value)]
    return value
