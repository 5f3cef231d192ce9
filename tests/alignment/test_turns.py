"""Optional behaviors of a turn: beside required ones, in unordered blocks, as answers (SEMANTICS A9, A12)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from abs_replay.alignment import align
from abs_replay.alignment.turns import TraceTurns
from abs_replay.spec.rules import MatchesWhen, ToolCall
from abs_replay.spec.session import Behavior, Evaluation, Session
from abs_replay.trace import Step, Trace

type Fields = Mapping[str, Any]

UNORDERED = (Evaluation("e", ToolCall.model_validate({"type": "tool_call", "ordered": False})),)
TALK: Fields = {"actor": "assistant", "action": "responds"}


def call(target: str, **more: Any) -> Fields:
    return {"actor": "assistant", "action": "calls", "target": target, **more}


def answer(target: str, **more: Any) -> Fields:
    return {"actor": "tool", "action": "responds", "target": target, **more}


def words(value: str, **more: Any) -> Fields:
    return {**TALK, "matches_when": MatchesWhen(type="contains", value=value), **more}


def said(content: str) -> Fields:
    return {**TALK, "content": content}


def taken(behaviors: Sequence[Fields], *steps: Fields) -> list[int | str]:
    """For each behavior the `seq` of its step, from 1, else its status."""
    built = tuple(Behavior(at=f"behaviors[{n}]", **fields) for n, fields in enumerate(behaviors))
    trace = Trace("t", tuple(Step(seq=n, **fields) for n, fields in enumerate(steps, 1)))
    places = align(trace, Session("s", built)).places
    return [place.status.value if place.position is None else place.position + 1 for place in places]


A, B = call("A"), call("B")
OPTIONAL = call("A", optional=True)
LAST = call("B", evaluations=UNORDERED)


@pytest.mark.parametrize(
    ("behaviors", "steps", "expected"),
    [
        # Inside its block an optional may stand on either side of the required,
        ([OPTIONAL, LAST], [A, B], [1, 2]),
        ([OPTIONAL, LAST], [B, A], [2, 1]),
        # elsewhere not.
        ([OPTIONAL, call("B")], [B, A], ["skipped", 1]),
        # What stands outside the block bounds it.
        ([TALK, OPTIONAL, LAST], [A, said("x"), B, A], [2, 4, 3]),
        ([OPTIONAL, LAST, TALK], [B, said("x"), A], ["skipped", 1, 2]),
        ([call("C"), OPTIONAL, LAST], [B, A], ["unmatched", 2, 1]),
        ([TALK, OPTIONAL, LAST], [B, A], ["unmatched", 2, 1]),
        ([words("x", optional=True), OPTIONAL, LAST], [A, said("x"), B, A], [2, 4, 3]),
        ([OPTIONAL, LAST, call("C")], [B, A], [2, 1, "unmatched"]),
    ],
)
def test_an_optional_of_an_unordered_block_is_bounded_by_what_stands_outside(
    behaviors: list[Fields], steps: list[Fields], expected: list[int | str]
) -> None:
    assert taken(behaviors, *steps) == expected


def test_an_optional_stands_before_all_of_an_unordered_block_behind_it() -> None:
    behaviors = [words("x", optional=True), A, LAST]
    calls = {**B, "parallel_group": "g"}, {**A, "parallel_group": "g"}
    assert taken(behaviors, calls[0], said("x"), calls[1]) == ["skipped", 3, 1]
    assert taken(behaviors, said("x"), *calls) == [1, 3, 2]


def test_a_step_that_nobody_took_goes_before_one_that_was_taken() -> None:
    behaviors = [words("b"), words("a", optional=True)]
    assert taken(behaviors, said("x"), said("ab"), said("a")) == [2, 3]
    assert taken(behaviors, said("x"), said("ab"), said("c")) == [2, 2]


@pytest.mark.parametrize("optional", [False, True])
@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (("c2", "c1", "c2", "c1"), [2, 4]),  # the answer to the call that was taken
        (("c2", "c1", "c2", None), [2, 4]),  # or one that names no call,
        (("c2", "c1", None, "c1"), [2, 3]),
        (("c2", None, "c2", "c1"), [2, 3]),  # or any where the call has no id
        (("c2", "c1", "c2", "c2"), [2, "none"]),
    ],
)
def test_an_optional_answer_answers_a_call_that_was_taken(
    optional: bool, ids: Sequence[str | None], expected: list[int | str]
) -> None:
    wanted = [call("T", with_={"n": 1}, optional=optional), answer("T", optional=True)]
    calls = call("T", arguments={"n": 2}, call_id=ids[0]), call("T", arguments={"n": 1}, call_id=ids[1])
    found = taken(wanted, *calls, answer("T", call_id=ids[2]), answer("T", call_id=ids[3]))
    assert found == [one if one != "none" else "skipped" for one in expected]


USER: Fields = {"actor": "user", "action": "says"}


@pytest.mark.parametrize(
    ("behaviors", "steps", "expected"),
    [
        ([OPTIONAL, answer("A")], [answer("A", call_id="c")], ["skipped", "unmatched"]),
        ([OPTIONAL, answer("A")], [answer("A")], ["skipped", 1]),
        (
            [A, USER, answer("A")],
            [call("A", call_id="c1"), USER, answer("A", call_id="c2"), answer("A", call_id="c1")],
            [1, 2, 4],
        ),
        (
            [A, USER, answer("A")],
            [call("A", call_id="c1"), USER, answer("A", call_id="c2")],
            [1, 2, "unmatched"],
        ),
        ([A, USER, answer("A")], [USER, answer("A", call_id="c2")], ["unmatched", 1, "unmatched"]),
    ],
)
def test_an_answer_that_is_all_a_turn_requires_answers_a_call_that_was_matched(
    behaviors: list[Fields], steps: list[Fields], expected: list[int | str]
) -> None:
    assert taken(behaviors, *steps) == expected


C1, R1, R2 = call("A", call_id="c1"), answer("A", call_id="c1"), answer("A", call_id="c2")


@pytest.mark.parametrize(
    ("behaviors", "steps", "expected"),
    [
        # Words have no call's id, and open none,
        ([A, TALK, answer("A")], [C1, said("x"), R2], [1, 2, "unmatched"]),
        ([A, TALK, answer("A", optional=True)], [C1, said("x"), R2], [1, 2, "skipped"]),
        ([A, TALK, USER, answer("A")], [C1, said("x"), USER, R2], [1, 2, 3, "unmatched"]),
        ([TALK, A, answer("A")], [call("A", call_id="c2"), said("x"), C1, R2], [2, 3, "unmatched"]),
        # nor does an answer.
        ([A, answer("A"), answer("A")], [C1, R1, R1], [1, 2, "unmatched"]),
        ([A, answer("A"), USER, answer("A")], [C1, R1, USER, R1], [1, 2, 3, "unmatched"]),
        # A call without an id stays open.
        ([A, answer("A"), answer("A")], [A, answer("A"), R2], [1, 2, 3]),
        ([A, answer("A"), USER, answer("A")], [A, answer("A"), USER, R2], [1, 2, 3, 4]),
        (
            [A, B, answer("A"), answer("B")],
            [C1, call("B", call_id="c2"), R1, answer("B", call_id="c2")],
            [1, 2, 3, 4],
        ),
    ],
)
def test_an_answer_is_to_a_call_that_is_still_open(
    behaviors: list[Fields], steps: list[Fields], expected: list[int | str]
) -> None:
    assert taken(behaviors, *steps) == expected


def test_an_answer_to_a_call_that_is_dropped_answers_none() -> None:
    wanted = [words("x", optional=True, id="w"), call("A", optional=True, requires="w"), answer("A")]
    assert taken(wanted, said("x"), C1, R1) == [1, 2, 3]
    assert taken(wanted, said("y"), C1, R1) == ["skipped", "skipped", "unmatched"]


def test_a_turn_is_what_stands_between_two_steps_of_the_user() -> None:
    steps = tuple(Step(seq=n, **one) for n, one in enumerate([said("x"), USER, A, B, USER, USER, A], 1))
    turns = TraceTurns(steps, {}, {})
    spans = [range(1), range(2, 4), range(5, 5), range(6, 7), range(0)]
    assert [turns.span(number) for number in range(5)] == spans
    assert [turns[number].steps for number in range(4)] == [steps[one.start : one.stop] for one in spans[:4]]
    assert [turns[number].user for number in range(4)] == [None, steps[1], steps[4], steps[5]]
