"""What a trace says of itself."""

from dataclasses import replace

import pytest

from abs_replay.exact_json import Number
from abs_replay.trace import Source, Step, Trace, Usage


def test_the_tokens_of_all_steps_are_added_up() -> None:
    steps = (
        Step(1, "user", "says"),
        Step(2, "assistant", "calls", usage=Usage(10, 2)),
        Step(3, "assistant", "responds", usage=Usage(20, 3, 8, 1)),
    )
    assert Trace("t", steps).usage == Usage(30, 5, 8, 1)
    assert Trace("t", steps[:1]).usage is None


def test_models_stand_in_the_order_in_which_they_first_answered() -> None:
    steps = [Step(n, "assistant", "responds", model=name) for n, name in enumerate(["b", None, "a", "b"], 1)]
    assert Trace("t", tuple(steps)).models == ("b", "a")


STEP = Step(1, "assistant", "calls", "Order", None, {"id": Number("1.10"), "half": "\ud83d"})


@pytest.mark.parametrize(
    "other",
    [
        replace(STEP, action="submits"),
        replace(STEP, arguments={"id": Number("1.1"), "half": "\ud83d"}),
        replace(STEP, error="gone"),
    ],
)
def test_another_digest_is_another_conversation(other: Step) -> None:
    assert Trace("t", (other,)).digest != Trace("t", (STEP,)).digest


def test_the_digest_is_that_of_what_was_said_not_of_how_it_was_seen() -> None:
    seen = replace(STEP, at_ms=5.0, sources=(Source("x"),), model="m", usage=Usage(1, 2))
    assert Trace("u", (seen,), "S", tags={"a": "b"}).digest == Trace("t", (STEP,)).digest
