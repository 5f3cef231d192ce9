"""`all_of`, `any_of`, `none_of` (SEMANTICS E7, R6)."""

from collections.abc import Callable, Sequence
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
from abs_replay.verdicts import Run, Status, Verdict

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


P, F, E, N, S = Status.PASSED, Status.FAILED, Status.ERROR, Status.NOT_EVALUABLE, Status.SKIPPED


@settings(deadline=None)
@given(NAMES, PARTS, THRESHOLDS)
@example("all_of", [P, F, E], 0.6)
@example("all_of", [F, E], 0.75)
@example("none_of", [P, E], 0.5)
@example("any_of", [N, S, E], None)
@example("all_of", [S, S], 0.5)
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


@pytest.mark.parametrize(
    ("name", "parts", "threshold", "status", "score"),
    [
        ("all_of", [P, P], None, P, 1.0),
        ("all_of", [P, F], None, F, 0.5),
        ("any_of", [P, F, F, F], None, P, 0.25),
        ("any_of", [F, F], None, F, 0.0),
        ("none_of", [F, F], None, P, 1.0),
        ("none_of", [P, F], None, F, 0.5),
        ("all_of", [P, F], 0.5, P, 0.5),
        ("all_of", [P, F], 0.51, F, 0.5),
        ("none_of", [P, F, F], 0.6, P, 2 / 3),
        ("any_of", [P, F], 0.6, F, 0.5),
        # Of an undecided part that changes nothing the lower score counts.
        ("any_of", [P, E], None, P, 0.5),
        ("all_of", [F, E], None, F, 0.0),
        ("none_of", [P, E], None, F, 0.0),
        ("all_of", [P, P, E], 0.5, P, 2 / 3),
        ("none_of", [F, F, E], 0.5, P, 2 / 3),
        # Of one that decides there is none.
        ("all_of", [P, E], None, E, None),
        ("any_of", [F, N, E], None, E, None),
        ("none_of", [F, N], None, N, None),
        ("all_of", [S, S], None, S, None),
        ("all_of", [S, P], 0.9, P, 1.0),
    ],
)
def test_a_whole_is_decided_and_scored_by_its_parts(
    name: str, parts: list[Status], threshold: float | None, status: Status, score: float | None
) -> None:
    whole = composed(name, parts, threshold)
    assert (whole.status, whole.score) == (status, score if score is None else pytest.approx(score))
    assert whole.threshold == (threshold if set(parts) != {S} else None)
    assert [child.status for child in whole.children] == parts


def test_a_whole_looks_at_what_its_parts_looked_at(graded: Callable[..., Run]) -> None:
    parts = "{ type: eventually, match: { actor: user } }, { type: eventually, match: { actor: assistant } }"
    last = "{ type: eventually, match: { actor: tool }, when: 'false' }"
    every = "{ type: count, match: { actor: assistant }, min: 1 }"
    whole = f"{{ type: all_of, evaluations: [{parts}, {last}, {every}] }}"
    text = f"behaviors: [{{ actor: user, action: says }}]\nevaluations: [{whole}]"
    talk = {"actor": "assistant", "action": "responds"}
    run = graded(text, {"actor": "user", "action": "says"}, talk, talk)
    assert run.chain_evaluations[0].evidence == (1, 2, 3)


@pytest.mark.parametrize(
    ("name", "parts", "threshold", "reason"),
    [
        ("all_of", [P, P], None, "2 of 2 parts passed"),
        ("all_of", [P, S], 0.5, "1 of 1 parts passed, mean 1, threshold 0.5"),
        ("all_of", [P, F], None, "1 of 2 parts passed; failed: "),
        ("all_of", [P, F], 0.75, "1 of 2 parts passed, mean 0.5, threshold 0.75; failed: "),
        ("none_of", [P, F], None, "1 of 2 parts passed; passed: "),
        ("all_of", [P, E], 0.75, "1 of 2 parts passed; error: "),
        ("any_of", [N, F], None, "0 of 2 parts passed; not_evaluable: "),
        ("any_of", [S, S], None, "every part was skipped"),
    ],
)
def test_the_reason_counts_the_parts_and_quotes_the_first_to_blame(
    name: str, parts: list[Status], threshold: float | None, reason: str
) -> None:
    assert composed(name, parts, threshold).reason == reason


def test_three_thirds_reach_a_threshold_of_one() -> None:
    assert composed("all_of", [Status.PASSED] * 3, 1.0).status is Status.PASSED
    assert composed("any_of", [Status.PASSED, Status.FAILED], 0.5).status is Status.PASSED
