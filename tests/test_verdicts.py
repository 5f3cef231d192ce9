"""What runs and reports come to (SEMANTICS R2, R3; FORMATS, report)."""

from typing import Any

import pytest

from abs_replay.judgement import Usage
from abs_replay.verdicts import BehaviorResult, Judged, Report, Result, Run, Status, StepStatus, Verdict


def run(result: Result = Result.PASSED, **more: Any) -> Run:
    return Run("s", None, "t", result, **{"steps": (), **more})


def behavior(status: StepStatus, **more: Any) -> BehaviorResult:
    return BehaviorResult("behaviors[0]", "user", "says", status, **more)


@pytest.mark.parametrize(
    ("results", "worst"),
    [
        ([], Result.PASSED),
        ([Result.PASSED], Result.PASSED),
        ([Result.PASSED, Result.ERROR], Result.ERROR),
        ([Result.ERROR, Result.FAILED, Result.PASSED], Result.FAILED),
    ],
)
def test_a_report_is_its_worst_run(results: list[Result], worst: Result) -> None:
    assert Report(tuple(map(run, results))).result is worst


@pytest.mark.parametrize("calls", [0, 1])
def test_a_verdict_was_asked_for_where_a_judge_was_called_for_it_or_for_a_part(calls: int) -> None:
    judged = Verdict("a", "llm_judge", Status.PASSED, "so", judged=Judged("q", usage=Usage(calls)))
    whole = Verdict("b", "all_of", Status.PASSED, "so", children=(judged,))
    assert judged.asked is whole.asked is bool(calls)


def test_a_run_that_broke_off_has_not_passed() -> None:
    for before, after in ((Result.PASSED, Result.ERROR), (Result.FAILED, Result.FAILED)):
        short = run(before).cut_short("the agent went away")
        assert (short.result, short.problem, short.passed) == (after, "the agent went away", False)


@pytest.mark.parametrize("status", list(StepStatus))
def test_a_behavior_without_its_step_fails_unless_that_does_not_count(status: StepStatus) -> None:
    absent = status in (StepStatus.MISSING, StepStatus.UNMATCHED)
    assert run().fails(behavior(status)) is absent
    assert not run(require_match=False).fails(behavior(status))


def test_other_words_of_the_user_fail_only_where_that_counts() -> None:
    differs = behavior(StepStatus.SENT, differs=True)
    assert not run().fails(differs)
    assert run(strict_user=True).fails(differs)
    assert not run(strict_user=True).fails(behavior(StepStatus.SENT))


def test_verdicts_stand_step_by_step_and_then_those_of_the_whole() -> None:
    one, two, three = (Verdict(at, "contains", Status.PASSED, "") for at in "abc")
    steps = (behavior(StepStatus.SENT, evaluations=(one,)), behavior(StepStatus.SENT, evaluations=(two,)))
    assert run(steps=steps, chain_evaluations=(three,)).verdicts == (one, two, three)
