"""Models of what authors write, declared as pydantic's are, and checked without it where all is well.

Loading pydantic takes longer than grading hundreds of traces, and a document in order needs nothing of
it. What a field here does not take goes to a model of pydantic that is made of the same fields
(`spec/twins.py`): it says what is wrong, and gives the JSON Schema. A test holds both to the same values.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, NoReturn, Self, dataclass_transform, get_args, get_origin

REQUIRED: Any = object()

_HALF = re.compile("[\ud800-\udfff]")

type Read = Callable[[Any], Any]


class Declared:
    """A field: how authors write its `key`, what `read` makes of a value, and the `limits` that pydantic's
    `Field` has (`ge`, `le`, `min_length`)."""

    __slots__ = ("alias", "annotation", "default", "key", "limits", "read")

    def __init__(self, default: Any, alias: str | None = None, limits: Mapping[str, float] = {}) -> None:
        self.default, self.alias, self.limits = default, alias, limits

    def stands_at(self, name: str, annotation: Any) -> None:
        self.key = self.alias or name
        self.annotation = annotation
        self.read = _reader(annotation, self.limits)

    def is_required(self) -> bool:
        return self.default is REQUIRED


def declared(*, default: Any = REQUIRED, alias: str | None = None, **limits: float) -> Any:
    """Declare a field that has more to it than its annotation and default."""
    return Declared(default, alias, limits)


class Unlike(Exception):
    """A value that a field does not take."""


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(declared,))
class Model:
    """A frozen model; an `open` one may have more keys than its fields. Nothing is converted but a whole
    number to a fraction, and a list to a tuple."""

    model_fields: ClassVar[Mapping[str, Declared]] = {}
    is_open: ClassVar[bool] = False

    def __init_subclass__(cls, *, is_open: bool = False) -> None:
        cls.is_open = is_open
        cls.model_fields = {**cls.model_fields, **dict(_own_fields(cls))}

    def __init__(self, **data: Any) -> None:
        self.__dict__.update(_checked(type(self), data))

    @classmethod
    def model_validate(cls, data: Any) -> Self:
        """Make a model of an author's keys; raises pydantic's `ValidationError`."""
        return _holding(cls, _checked(cls, data))

    @classmethod
    def model_construct(cls, **data: Any) -> Self:
        """Make a model of some keys unchecked; what is required and missing is not there."""
        fields = cls.model_fields.items()
        values = {name: data.get(field.key, field.default) for name, field in fields}
        present = {name: value for name, value in values.items() if value is not REQUIRED}
        return _holding(cls, present | (_further(cls, data) if cls.is_open else {}))

    @classmethod
    def model_json_schema(cls, **how: Any) -> dict[str, Any]:
        """Give the JSON Schema as pydantic writes it."""
        from abs_replay.spec.twins import twin

        return twin(cls).model_json_schema(**how)

    @property
    def model_extra(self) -> dict[str, Any]:
        """The values of an open model that no field is for."""
        return {key: value for key, value in self._values().items() if key not in self.model_fields}

    def model_dump(self, *, by_alias: bool, exclude_none: bool, exclude: Collection[str]) -> dict[str, Any]:
        """Give the values by the keys that authors write."""
        keys = {name: field.key for name, field in self.model_fields.items() if by_alias}
        return {
            keys.get(name, name): value
            for name, value in self._values().items()
            if name not in exclude and not (exclude_none and value is None)
        }

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and type(self) is type(other) and self._values() == other._values()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self._values().items())})"

    def _values(self) -> dict[str, Any]:
        """What was given, without what is worked out from it and kept."""
        return {
            name: self.__dict__[name] for name in self.__dict__ if self.is_open or name in self.model_fields
        }


def _own_fields(model: type[Model]) -> Iterator[tuple[str, Declared]]:
    for name, annotation in get_annotations(model).items():
        default = model.__dict__.get(name, REQUIRED)
        if default is not REQUIRED:
            delattr(model, name)  # an instance without it shall say so
        field = default if isinstance(default, Declared) else Declared(default)
        field.stands_at(name, annotation)
        yield name, field


def _holding[M: Model](model: type[M], values: Mapping[str, Any]) -> M:
    made = model.__new__(model)
    made.__dict__.update(values)
    return made


def _checked(model: type[Model], data: Any) -> dict[str, Any]:
    try:
        return _read(model, data)
    except Unlike as what:
        from abs_replay.spec.twins import twin

        twin(model).model_validate(data)
        raise TypeError(f"{model.__name__} does not take {what}") from None


def _read(model: type[Model], data: Any) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise Unlike(data)
    values, further = {}, _further(model, data)
    for name, field in model.model_fields.items():
        if field.key in data:
            values[name] = field.read(data[field.key])
        elif field.default is REQUIRED:
            raise Unlike(data)
        else:
            values[name] = field.default
    if further and not model.is_open:
        raise Unlike(data)
    return values | further


def _further(model: type[Model], data: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.key for field in model.model_fields.values()}
    return {key: value for key, value in data.items() if key not in known}


# -- what a field takes --


def _reader(annotation: Any, limits: Mapping[str, float]) -> Read:
    if isinstance(annotation, UnionType):
        (kind,) = (kind for kind in get_args(annotation) if kind is not NoneType)
        return _or_none(_reader(kind, limits))
    kinds = get_args(annotation)
    if get_origin(annotation) is Literal:
        return _one_of(kinds)
    if get_origin(annotation) is tuple:
        return _several(_reader(kinds[0], {}), limits["min_length"])
    if isinstance(annotation, type) and issubclass(annotation, Model):
        return _inner(annotation)
    return _READERS[annotation](**limits)


def _or_none(read: Read) -> Read:
    return lambda value: None if value is None else read(value)


def _one_of(words: Collection[str]) -> Read:
    def read(value: Any) -> str:
        if isinstance(value, str) and value in words:
            return value
        raise Unlike(value)

    return read


def _several(read_one: Read, min_length: float) -> Read:
    def read(value: Any) -> tuple[Any, ...]:
        if isinstance(value, list | tuple) and len(value) >= min_length:
            return tuple(map(read_one, value))
        raise Unlike(value)

    return read


def _inner(model: type[Model]) -> Read:
    return lambda value: value if isinstance(value, model) else _holding(model, _read(model, value))


def _anything() -> Read:
    return lambda value: value


def _text(min_length: int = 0) -> Read:
    def read(value: Any) -> str:
        # Where it counts characters pydantic wants whole ones: no halves of surrogate pairs.
        if isinstance(value, str) and not (min_length and (len(value) < min_length or _HALF.search(value))):
            return value
        raise Unlike(value)

    return read


def _boolean() -> Read:
    def read(value: Any) -> bool:
        if isinstance(value, bool):
            return value
        raise Unlike(value)

    return read


def _whole(ge: int) -> Read:
    def read(value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= ge:
            return value
        raise Unlike(value)

    return read


def _fraction(ge: float, le: float) -> Read:
    def read(value: Any) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool) and ge <= value <= le:
            return float(value)
        raise Unlike(value)

    return read


def _mapping() -> Read:
    def read(value: Any) -> dict[str, Any]:
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return dict(value)
        raise Unlike(value)

    return read


_READERS: Mapping[Any, Callable[..., Read]] = {
    Any: _anything,
    str: _text,
    bool: _boolean,
    int: _whole,
    float: _fraction,
    dict[str, Any]: _mapping,
}
