"""Models of pydantic with the fields of ours (`spec/models.py`): for what is wrong, and for JSON Schemas."""

from collections.abc import Mapping
from types import GenericAlias, UnionType
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from abs_replay.spec.models import Declared, Model

_TWINS: dict[type[Model], type[BaseModel]] = {}


def twin(model: type[Model]) -> type[BaseModel]:
    """Give the model of pydantic that takes what ours takes."""
    if model not in _TWINS:
        _TWINS[model] = _made(model)
    return _TWINS[model]


def _made(model: type[Model]) -> type[BaseModel]:
    fields: Mapping[str, Any] = {
        name: (_annotation(field.annotation), _field(field)) for name, field in model.model_fields.items()
    }
    config = ConfigDict(frozen=True, extra="allow" if model.is_open else "forbid", strict=True)
    return create_model(model.__name__, __config__=config, __doc__=model.__doc__, **fields)


def _field(field: Declared) -> Any:
    limits: Mapping[str, Any] = field.limits
    strict = False if get_origin(field.annotation) is tuple else None  # which takes lists, too
    return Field(... if field.is_required() else field.default, alias=field.alias, strict=strict, **limits)


def _annotation(annotation: Any) -> Any:
    """Put twins in the place of models."""
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return twin(annotation)
    if isinstance(annotation, UnionType):
        first, *others = map(_annotation, get_args(annotation))
        for other in others:
            first = first | other
        return first
    if get_origin(annotation) is tuple:
        return GenericAlias(tuple, (_annotation(get_args(annotation)[0]), ...))
    return annotation
