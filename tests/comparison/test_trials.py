"""Trials: several traces of one session and row."""

from dataclasses import replace
from itertools import combinations
from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.comparison.trials import (
    Errors,
    Trials,
    are_trials,
    measured,
    pass_all,
    pass_at,
    trials_of,
    usual_ks,
)
from abs_replay.reports.trials import as_json, in_report, line, render
from abs_replay.testing import step as step_
from abs_replay.testing import trace
from abs_replay.verdicts import Result, Run, Status, Verdict


def runs(row: int, *results: str, session: str = "S") -> list[Run]:
    return [
        Run(
            session,
            None,
            f"t-{row}-{nth}",
            Result(result),
            (),
            (Verdict("evaluations[0]", "contains", Status(result), "", label='contains "x"'),),
            row=row,
        )
        for nth, result in enumerate(results)
    ]


P, F, E = "passed", "failed", "error"


@given(st.integers(1, 7), st.data())
def test_both_measures_are_the_share_of_all_choices_of_k_trials(trials: int, data: st.DataObject) -> None:
    passed, k = data.draw(st.integers(0, trials)), data.draw(st.integers(1, trials))
    chosen = list(combinations([True] * passed + [False] * (trials - passed), k))
    assert isclose(pass_at(trials, passed, k), sum(map(any, chosen)) / len(chosen), abs_tol=1e-12)
    assert isclose(pass_all(trials, passed, k), sum(map(all, chosen)) / len(chosen), abs_tol=1e-12)


def test_a_measure_is_undefined_where_there_are_fewer_trials_than_k() -> None:
    found = measured(trials_of([*runs(1, P, P), *runs(2, P, F, P, P)]), (1, 2, 4, 8), Errors.EXCLUDED)
    assert [measure.mean for measure in found.pass_all] == pytest.approx([0.875, 0.75, 0.0, None])
    assert [measure.mean for measure in found.pass_at] == pytest.approx([0.875, 1.0, 1.0, None])
    assert [len(measure.values) for measure in found.pass_at] == [2, 2, 1, 0]


def test_undecided_trials_are_left_out_or_taken_for_failed() -> None:
    trials = trials_of([*runs(1, P, P, E, E), *runs(2, P, P)])
    excluded, failed = (measured(trials, (2, 4), errors) for errors in Errors)
    assert ((excluded.passed, excluded.counted), (failed.passed, failed.counted)) == ((4, 4), (4, 6))
    assert [measure.mean for measure in excluded.pass_all] == [1.0, None]
    assert [measure.mean for measure in failed.pass_all] == pytest.approx([(1 / 6 + 1) / 2, 0.0])
    told = render(trials, (2, 4))
    assert "6 trials of 2 scenarios, 2 undecided" in told
    assert "Undecided trials left out:" in told
    assert "Undecided trials taken for failed:" in told
    assert "pass^4    undefined: no scenario has 4 trials" in told


def test_flaky_scenarios_are_named_with_the_evaluations_that_waver() -> None:
    trials = trials_of([*runs(1, P, F), *runs(2, P, P), *runs(3, F, F), *runs(4, F, E, P)])
    assert [each.flaky for each in trials] == [True, False, False, True]
    assert trials[0].wavering == (("evaluations[0]", 'contains "x"'),)
    assert trials[1].wavering == trials[2].wavering == ()
    told = render(trials, usual_ks(trials))
    assert "Flaky: 2 scenarios\n  S · row 1: 1 passed, 1 failed\n    evaluations[0] · contains" in told
    assert "  S · row 4: 1 passed, 1 failed, 1 undecided\n" in told


def test_traces_of_one_row_are_trials_and_those_of_other_rows_or_agents_are_not() -> None:
    one, other = runs(1, P), runs(2, P)
    assert not are_trials(trials_of([*one, *other]))
    assert not are_trials(trials_of([*one, *(replace(run, agent="b") for run in one)]))
    assert are_trials(trials_of([*one, *one]))
    bound = [replace(run, row=None, said=("s",), bindings={"order": nth}) for nth, run in enumerate(one * 2)]
    assert not are_trials(trials_of(bound))
    assert are_trials(trials_of([*bound, *bound]))


def said(*words: str, result: str = P) -> Run:
    """A stored trace that nobody played, in which the user says these words."""
    steps = [step for each in words for step in (step_("user", "says", each), step_(content="Well."))]
    id_ = f"t-{'-'.join(words)}-{result}"
    return replace(runs(0, result)[0], row=None, trace=id_, said=trace(*steps).said)


def test_unrelated_conversations_of_one_session_are_no_trials() -> None:
    unrelated = [said(f"My order {nth}?") for nth in range(16)] + [said(), said(result=F)]

    found = trials_of(unrelated)

    assert (len(found), are_trials(found)) == (18, False)
    assert (in_report(unrelated), line(unrelated)) == (None, None)
    told = render(found, ())
    assert told.startswith("18 traces, and no scenario was tried twice\n")
    assert "18 traces of S are not repetitions of one scenario: what their users say differs" in told
    assert "pass^" not in told
    assert as_json(found, ())["not_repetitions"] == [{"name": "S", "traces": 18}]


def test_repetitions_say_the_same_as_far_as_each_goes() -> None:
    whole, failed = said("Where is it?", "Thanks."), said(" Where is it? ", "Thanks.", result=F)
    same = [whole, failed, said("Where is it?")]

    assert [each.traces for each in trials_of(same)] == [tuple(run.trace for run in same)]
    assert line(same) == "3 trials of 1 scenario · pass^2 0.333 over 1 scenario · 1 flaky: abs trials"
    assert "(as in t-Where is it?-Thanks.-passed): 2 passed, 1 failed" in render(trials_of(same), (1,))


def test_what_is_said_in_data_is_words_too() -> None:
    one, other = (trace(step_("user", "says", {"text": text})) for text in ("Hi", "Ho"))

    assert one.said == trace(step_("user", "says", {"text": "Hi"})).said != other.said


def test_who_only_begins_alike_is_no_repetition() -> None:
    greeted = [said("Hi", "My order?"), said("Hi", "A refund!"), said("Hi"), said("Hi", result=F)]

    assert [len(each.traces) for each in trials_of(greeted)] == [1, 1, 2]


def test_all_traces_of_a_session_are_trials_where_that_is_asked_for() -> None:
    played = [replace(said("Hi", "My order?"), agent="http://a"), replace(said("Hello"), agent="http://a")]

    assert are_trials(trials_of([said("Hi"), said("Hello")], whatever_is_said=True))
    assert are_trials(trials_of(played))


def test_scenarios_are_resampled_for_the_intervals_and_one_has_none() -> None:
    several = measured(trials_of([*runs(1, P, P), *runs(2, F, F), *runs(3, P, F)]), (1,), Errors.EXCLUDED)
    interval = several.pass_at[0].interval
    assert interval is not None
    assert 0 <= interval[0] < 0.5 < interval[1] <= 1
    assert several.sample.unit == "scenario"
    alone = measured(trials_of(runs(1, P, P, F)), (1,), Errors.EXCLUDED)
    assert alone.pass_at[0].interval is None
    assert alone.interval == pytest.approx((0.208, 0.939), abs=1e-3)


def test_reports_tell_of_trials_only_where_there_are_any() -> None:
    assert (in_report(runs(1, P)), line(runs(1, P))) == (None, None)
    assert (
        line([*runs(1, P, P), *runs(2, P, F)])
        == "4 trials of 2 scenarios · pass^2 0.5 over 2 scenarios · 1 flaky: abs trials"
    )
    found: Any = in_report([*runs(1, P, P), *runs(2, P, F)])
    assert found["flaky"] == 1
    assert [measure["pass_rate"] for measure in found["measures"]] == [0.75, 0.75]


def test_json_has_every_scenario_and_every_measure() -> None:
    found: Any = as_json(trials_of([*runs(1, P, F), *runs(2, E)]), (1, 2))
    assert [scenario["name"] for scenario in found["scenarios"]] == ["S · row 1", "S · row 2"]
    excluded: Any = found["measures"][0]
    assert [each["value"] for each in excluded["pass_hat_k"]] == [0.5, 0.0]
    nothing: Any = as_json((), ())
    assert [one["pass_rate"] for one in nothing["measures"]] == [None, None]


def test_nothing_in_a_name_can_steer_the_terminal() -> None:
    told = render(trials_of(runs(1, P, F, session="a\x1b[2J\nb")), (1,))
    assert all(text.isprintable() for text in told.split("\n"))


def test_no_trial_at_all_has_an_undefined_rate() -> None:
    assert usual_ks(()) == ()
    assert "pass rate undefined" in render((), ())
    assert isinstance(trials_of(runs(1, P))[0], Trials)
