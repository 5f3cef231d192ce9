"""`all_of`, `any_of`, `none_of` (SEMANTICS E7, R6)."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay.alignment import align
from abs_replay.evaluators.composition import all_of, any_of, none_of
from abs_replay.evaluators.context import Context, Evaluator
from abs_replay.spec.rules import Composition, Custom
from abs_replay.spec.session import Evaluation, Session
from abs_replay.trace import Trace
from abs_replay.verdicts import Status, Verdict

SCORES = {Status.PASSED: 1.0, Status.FAILED: 0.0}
STATUSES = st.sampled_from([Status.PASSED, Status.FAILED, Status.ERROR, Status.NOT_EVALUABLE, Status.SKIPPED])
PARTS = st.lists(STATUSES, min_size=1, max_size=5)
DECIDED = st.lists(st.sampled_from([Status.PASSED, Status.FAILED]), min_size=1, max_size=5)
UNDECIDED = (Status.ERROR, Status.NOT_EVALUABLE)
BY_NAME: dict[str, Evaluator] = {
    "all_of": all_of,
    "any_of": any_of,
    "none_of": none_of,
}
NAMES = st.sampled_from(["all_of", "any_of", "none_of"])
THRESHOLDS = st.none() | st.sampled_from([0.0, 0.3, 0.5, 0.6, 1.0])


def preset(evaluation: Evaluation, context: Context) -> Verdict:
    """An evaluator of one's own whose `id` says what it comes to."""
    assert isinstance(evaluation.rule, Custom)
    status = Status(evaluation.rule.id)
    return Verdict(evaluation.at, "custom", status, "", SCORES.get(status))


def composed(name: Any, parts: Sequence[Status], threshold: float | None = None) -> Verdict:
    rule = Composition(type=name, evaluations=({},), threshold=threshold)
    evaluations = tuple(Evaluation(part.value, Custom(type="custom", id=part.value)) for part in parts)
    session = Session("s", ())
    context = Context(session, align(Trace("t", ()), session), {}, {"custom": preset})
    return BY_NAME[name](Evaluation("whole", rule, parts=evaluations), context)


@settings(deadline=None)
@given(DECIDED)
@example([Status.PASSED])
@example([Status.FAILED])
@example([Status.FAILED, Status.PASSED])
def test_none_of_is_not_any_of(parts: list[Status]) -> None:
    assert (composed("none_of", parts).status is Status.PASSED) != (
        composed("any_of", parts).status is Status.PASSED
    )


@settings(deadline=None)
@given(DECIDED)
def test_all_of_is_any_of_turned_over(parts: list[Status]) -> None:
    turned = [Status.FAILED if part is Status.PASSED else Status.PASSED for part in parts]
    assert (composed("all_of", parts).status is Status.PASSED) != (
        composed("any_of", turned).status is Status.PASSED
    )


@settings(deadline=None)
@given(NAMES, PARTS, THRESHOLDS)
def test_an_undecided_part_is_the_wholes_unless_it_makes_no_difference(
    name: str, parts: list[Status], threshold: float | None
) -> None:
    whole = composed(name, parts, threshold)
    counted = [part for part in parts if part is not Status.SKIPPED]
    if not counted:
        assert whole.status is Status.SKIPPED
        return
    outcomes = {
        composed(name, [as_ if part in UNDECIDED else part for part in counted], threshold).status
        for as_ in (Status.PASSED, Status.FAILED)
    }
    expected = outcomes if len(outcomes) == 1 else {min(set(counted) & set(UNDECIDED), key=UNDECIDED.index)}
    assert {whole.status} == expected


@settings(deadline=None)
@given(NAMES, PARTS, THRESHOLDS)
def test_a_score_is_between_none_and_one(name: str, parts: list[Status], threshold: float | None) -> None:
    score = composed(name, parts, threshold).score
    assert score is None or 0 <= score <= 1


@settings(deadline=None)
@given(NAMES, PARTS, THRESHOLDS)
def test_skipped_parts_are_as_if_not_written(name: str, parts: list[Status], threshold: float | None) -> None:
    counted = [part for part in parts if part is not Status.SKIPPED]
    if counted:
        with_, without = composed(name, parts, threshold), composed(name, counted, threshold)
        assert (with_.status, with_.score) == (without.status, without.score)


def test_three_thirds_reach_a_threshold_of_one() -> None:
    assert composed("all_of", [Status.PASSED] * 3, 1.0).status is Status.PASSED
    assert composed("any_of", [Status.PASSED, Status.FAILED], 0.5).status is Status.PASSED


@pytest.mark.parametrize(("name", "blamed"), [("all_of", "failed"), ("none_of", "passed")])
def test_a_failed_whole_names_the_part_that_is_to_blame(name: str, blamed: str) -> None:
    verdict = composed(name, [Status.PASSED, Status.FAILED])
    assert f"; {blamed}: " in verdict.reason
