"""Dataclasses that are made in a third of the time: `@dataclass(frozen=True, slots=True)`, as ever.

The standard library writes each function of a class as text and compiles it whenever a program starts: seven
for a frozen class, and with dozens of classes that was a third of what a short command takes. Here only
`__init__` is compiled. The others need no text of their own: they get all fields at once, in C. What is made
is a dataclass to `fields`, `replace`, `asdict` and to a type checker.
"""

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool, eq: bool = True) -> Callable[[type], type]:
        """Make a class a dataclass with slots; the flags are those of `dataclasses.dataclass`."""
        assert slots, "without slots a class has no setters that `__init__` could use"

        def made(cls: type) -> type:
            plain = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=True)
            found = dataclasses.fields(plain)
            given = {"__init__": _init(plain, found, frozen), "__repr__": _repr(found)}
            if eq:
                given |= _comparing(found, frozen)
            if frozen:
                given |= _FROZEN
            for name, function in given.items():
                if cls.__dict__.get(name) is None:  # a class with an `__eq__` has no hash, not one of its own
                    setattr(plain, name, function)
            return plain

        return made


def _init(cls: type, found: tuple[Field[Any], ...], frozen: bool) -> Callable[..., None]:
    """Compile `__init__`, which sets each slot by its own setter where assigning is forbidden."""
    known: dict[str, Any] = {"ABSENT": MISSING}
    given, lines = ["self"], list[str]()
    for each in found:
        given.extend(_parameter(each, known))
        value = _value(each, known)
        if value is None:  # left to `__post_init__`
            continue
        if frozen:
            known[f"set_{each.name}"] = getattr(cls, each.name).__set__
        lines.append(f"set_{each.name}(self, {value})" if frozen else f"self.{each.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(given)}):\n " + "\n ".join(lines or ["pass"]), known)
    init: Callable[..., None] = known["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    init.__annotations__ = {each.name: each.type for each in found if each.init} | {"return": None}
    return init


def _parameter(each: Field[Any], known: dict[str, Any]) -> Iterator[str]:
    if not each.init:
        return
    if each.default_factory is not MISSING:
        yield f"{each.name}=ABSENT"
    elif each.default is not MISSING:
        known[f"default_{each.name}"] = each.default
        yield f"{each.name}=default_{each.name}"
    else:
        yield each.name


def _value(each: Field[Any], known: dict[str, Any]) -> str | None:
    """The expression that a field begins with; None where only `__post_init__` knows it."""
    if each.default_factory is MISSING:
        return each.name if each.init else None
    known[f"make_{each.name}"] = each.default_factory
    made = f"make_{each.name}()"
    return f"{made} if {each.name} is ABSENT else {each.name}" if each.init else made


def _repr(found: tuple[Field[Any], ...]) -> Callable[[object], str]:
    names = tuple(each.name for each in found if each.repr)

    def __repr__(self: object) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _comparing(found: tuple[Field[Any], ...], frozen: bool) -> dict[str, Any]:
    """What compares by all fields that count; what can change has no hash."""
    values = _getter(tuple(each.name for each in found if each.compare))

    def __eq__(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:
        return hash(values(self))

    return {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}


def _getter(names: tuple[str, ...]) -> Callable[[object], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _no_assigning(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _no_deleting(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _take_state(self: object, state: tuple[None, dict[str, Any]]) -> None:
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


_FROZEN = {"__setattr__": _no_assigning, "__delattr__": _no_deleting, "__setstate__": _take_state}
