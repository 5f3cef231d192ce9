"""What of a session decides how its traces are aligned: which answers need a call, what hangs on what."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from abs_replay.alignment.planning import plan_of
from abs_replay.spec.rules import MatchesWhen
from abs_replay.spec.session import Behavior, Session

type Fields = Mapping[str, Any]

USER: Fields = {"actor": "user", "action": "says"}
TALK: Fields = {"actor": "assistant", "action": "responds"}
CALL: Fields = {"actor": "assistant", "action": "calls"}
ANSWER: Fields = {"actor": "tool", "action": "responds"}
ALIASES = {"find": ("lookup",)}


def session(*behaviors: Fields) -> Session:
    built = tuple(Behavior(at=f"behaviors[{n}]", **fields) for n, fields in enumerate(behaviors))
    return Session("s", built, aliases=ALIASES)


@pytest.mark.parametrize(
    ("behaviors", "answering"),
    [
        ([{**CALL, "target": "find"}, {**ANSWER, "target": "find"}], {1}),
        ([{**CALL, "target": "find"}, {**ANSWER, "target": "other"}], set()),
        ([{**ANSWER, "target": "find"}, {**CALL, "target": "find"}], set()),
        # under another of its names,
        ([{**CALL, "target": "find"}, {**ANSWER, "target": "lookup"}], {1}),
        ([{**CALL, "target": "lookup"}, {**ANSWER, "target": "find"}], {1}),
        # of a call or an answer that names no tool.
        ([CALL, {**ANSWER, "target": "find"}], {1}),
        ([{**CALL, "target": "find"}, ANSWER], {1}),
        ([ANSWER], set()),
        ([TALK, {**ANSWER, "target": "find"}], set()),
        ([CALL, TALK, USER, ANSWER, ANSWER], {3, 4}),
    ],
)
def test_an_answer_needs_a_call_where_one_of_its_tool_stands_before_it(
    behaviors: list[Fields], answering: set[int]
) -> None:
    assert plan_of(session(*behaviors)).answering == answering


def test_a_plan_says_what_is_optional_and_what_requires_what() -> None:
    plan = plan_of(session({**TALK, "id": "a", "optional": True}, TALK, {**CALL, "requires": "a"}))
    assert (sorted(plan.optional), dict(plan.requires)) == ([0], {2: 0})
    assert (plan.hang_together, plan.has_criteria) == (False, False)


def test_turns_hang_together_where_a_users_behavior_requires_another() -> None:
    assert plan_of(session({**TALK, "id": "a", "optional": True}, {**USER, "requires": "a"})).hang_together


def test_a_judge_may_be_asked_where_one_behavior_has_a_criterion() -> None:
    criterion = MatchesWhen.model_validate({"type": "contains", "value": "x"})
    assert plan_of(session(TALK, {**TALK, "matches_when": criterion})).has_criteria


def test_a_plan_is_worked_out_once_for_a_session_and_anew_for_its_equal() -> None:
    one = session(USER, TALK)
    assert plan_of(one) is plan_of(one)
    assert plan_of(replace(one)) is not plan_of(one)
    assert plan_of(replace(one)) == plan_of(one)
