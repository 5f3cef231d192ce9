"""What a trace says of itself."""

from abs_replay.trace import Step, Trace, Usage


def test_the_tokens_of_all_steps_are_added_up() -> None:
    steps = (
        Step(1, "user", "says"),
        Step(2, "assistant", "calls", usage=Usage(10, 2)),
        Step(3, "assistant", "responds", usage=Usage(20, 3)),
    )
    assert Trace("t", steps).usage == Usage(30, 5)
    assert Trace("t", steps[:1]).usage is None


def test_models_stand_in_the_order_in_which_they_first_answered() -> None:
    steps = [Step(n, "assistant", "responds", model=name) for n, name in enumerate(["b", None, "a", "b"], 1)]
    assert Trace("t", tuple(steps)).models == ("b", "a")
