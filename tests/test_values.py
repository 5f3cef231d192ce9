"""Our `dataclass` beside the standard library's: all that can be asked of what they make is the same."""

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay import values
from abs_replay.trace import Step, Trace

FIELDS: dict[str, Callable[[], Any]] = {
    "given": lambda: dataclasses.MISSING,
    "usual": lambda: 7,
    "made": lambda: field(default_factory=list),
    "quiet": lambda: field(default=None, repr=False),
    "apart": lambda: field(default=0, compare=False),
    "own": lambda: field(default_factory=dict, init=False),
}
VALUES = st.integers(0, 1) | st.just(1.0) | st.lists(st.integers(0, 1), max_size=1)


def body(names: tuple[str, ...]) -> dict[str, Any]:
    written: dict[str, Any] = {"__doc__": "What is compared.", "__annotations__": dict.fromkeys(names, Any)}
    made = {name: FIELDS[name]() for name in names}
    return written | {name: value for name, value in made.items() if value is not dataclasses.MISSING}


def of_both(names: tuple[str, ...], flags: dict[str, bool]) -> list[type]:
    makers: list[Any] = [values.dataclass, dataclass]
    return [maker(slots=True, **flags)(type("A", (), body(names))) for maker in makers]


def told(action: Callable[[], Any]) -> object:
    try:
        return action()
    except (TypeError, FrozenInstanceError) as error:
        return type(error)


def same_hash(one: object, other: object) -> bool:
    return hash(one) == hash(other)


@given(
    st.sets(st.sampled_from(sorted(FIELDS))).map(lambda names: tuple(n for n in FIELDS if n in names)),
    st.fixed_dictionaries({"frozen": st.booleans(), "eq": st.booleans()}),
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES)), min_size=2, max_size=2),
)
def test_what_is_made_is_what_the_standard_library_makes(
    names: tuple[str, ...], flags: dict[str, bool], chosen: list[dict[str, Any]]
) -> None:
    found = []
    for cls in of_both(names, flags):
        one, other = (told(partial(cls, **given)) for given in chosen)
        found.append(
            [
                repr(one),
                one == other,
                one == object(),
                told(partial(same_hash, one, other)) if flags["eq"] else None,
                told(partial(dataclasses.asdict, one)),
                repr(told(partial(replace, one, usual=1))),  # type: ignore[type-var]
                repr(told(partial(copy.deepcopy, one))),
                [(told(partial(setattr, one, name, 3)), repr(one)) for name in names],
                [told(partial(delattr, one, name)) for name in names],
                list(inspect.signature(cls).parameters),
                cls.__init__.__annotations__,  # type: ignore[misc]
                getattr(cls, "__match_args__", None),
            ]
        )
    assert found[0] == found[1]


def test_a_trace_can_be_copied_and_its_steps_hashed_by_their_fields() -> None:
    trace = Trace("t", (Step(1, "user", "says", content="Hi"),))
    assert copy.deepcopy(trace) == trace
    assert {copy.copy(trace.steps[0])} == {Step(1, "user", "says", content="Hi")}


def test_a_class_keeps_the_functions_that_it_has() -> None:
    @values.dataclass(frozen=True, slots=True)
    class Doubled:
        """One field, and another by it."""

        one: int
        two: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "two", 2 * self.one)

        def __repr__(self) -> str:
            return f"<{self.one}>"

        def __eq__(self, other: object) -> bool:
            return True

    assert (Doubled(2).two, repr(Doubled(2)), Doubled(2) == 3) == (4, "<2>", True)
    with pytest.raises(FrozenInstanceError):
        Doubled(2).one = 3  # type: ignore[misc]
