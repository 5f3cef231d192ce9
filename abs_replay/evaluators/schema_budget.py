"""What one validation may cost, in steps and not by a clock: the same verdict on every machine.

A schema's references can double from one to the next, and its keywords can compare everything with
everything. So each keyword at each value is a step (some 10 microseconds), and so is what it looks at.
"""

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any

from abs_replay.exact_json import Json
from abs_replay.predicates import Undecided, shown
from abs_replay.values import dataclass

STEPS = 200_000  # of one validation, one or two seconds
LOOKED_AT = 7  # 2 ** 7 characters, items or keys that are looked at make a step
WRITTEN = 3  # 2 ** 3 values that are written or compared do


@dataclass(slots=True)
class Budget:
    """What is left of one validation's steps, and what it need not find out twice, by `id`."""

    left: int
    sizes: dict[int, int] = field(default_factory=dict)
    enums: dict[int, frozenset[Hashable]] = field(default_factory=dict)
    shown: dict[int, str] = field(default_factory=dict)


_BUDGET: ContextVar[Budget] = ContextVar("validation")


@contextmanager
def budget() -> Iterator[None]:
    """Raise `Undecided` inside where the steps are used up."""
    token = _BUDGET.set(Budget(STEPS))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def spend(steps: int) -> None:
    current = _BUDGET.get()
    current.left -= steps
    if current.left < 0:
        raise Undecided(f"the schema took longer than {STEPS:,} steps on what was observed")


def spend_on(*values: Any) -> None:
    """Spend what it costs to look through values, not into what they hold."""
    spend(1 + sum(len(value) >> LOOKED_AT for value in values if hasattr(value, "__len__")))


def spend_on_writing(*values: Any) -> None:
    spend(1 + (sum(map(_size, values)) >> WRITTEN))


def _size(value: Any) -> int:
    """Count the values in a value of the content or of the schema, which both outlive the budget."""
    if isinstance(value, str):
        return 1 + (len(value) >> WRITTEN)
    if not isinstance(value, Mapping | list | tuple):
        return 1
    sizes = _BUDGET.get().sizes
    if id(value) not in sizes:
        sizes[id(value)] = 1 + sum(map(_size, value.values() if isinstance(value, Mapping) else value))
    return sizes[id(value)]


def shown_once(value: Json) -> str:
    """Quote a part of the schema, which many violations may name."""
    known = _BUDGET.get().shown
    if id(value) not in known:
        known[id(value)] = shown(value)
    return known[id(value)]


def keys_of(enum: Any) -> frozenset[Hashable]:
    """Give the keys of a list's values, made once."""
    enums = _BUDGET.get().enums
    if id(enum) not in enums:
        enums[id(enum)] = frozenset(map(key, enum))
    return enums[id(enum)]


def key(value: Json) -> Hashable:
    """Give what is equal for values that are equal as JSON, and only for those (SEMANTICS A5)."""
    if isinstance(value, Mapping):
        spend_on(value)
        return "object", frozenset((name, key(item)) for name, item in value.items())
    if isinstance(value, list | tuple):
        spend_on(value)
        return "list", tuple(map(key, value))
    return ("boolean", value) if isinstance(value, bool) else value
