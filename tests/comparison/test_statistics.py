"""Tests and intervals against known values, and the units that they speak of."""

import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest  # type: ignore[import-untyped]

from abs_replay.comparison import compare
from abs_replay.comparison.scenarios import Scenario, Value, sampled
from abs_replay.comparison.statistics import Sample, bootstrapped, holm, rate_interval, wilson
from abs_replay.comparison.tallies import Tally
from tests.comparison.made import F, P, grading, run, verdict


def test_holm_adjusts_for_the_number_of_tests_and_keeps_their_order() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.9, 0.8]) == pytest.approx((1.0, 1.0))
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_never_lowers_a_p_value_nor_changes_which_is_lower(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(after >= before or after == 1 for before, after in zip(p_values, adjusted, strict=True))
    assert [adjusted[place] for place in sorted(range(len(p_values)), key=p_values.__getitem__)] == sorted(
        adjusted
    )


@given(st.integers(1, 100_000), st.data())
def test_wilsons_interval_is_that_of_scipy(total: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, total))

    theirs = binomtest(passed, total).proportion_ci(0.95, method="wilson")

    assert wilson(passed, total) == (theirs.low, theirs.high)


def test_the_bootstrap_of_a_mean_comes_close_to_theory_and_repeats_itself() -> None:
    # 400 units, of which 100 rose: the standard error of their mean is sqrt(.25 * .75 / 400) = .0217.
    sums, sizes = [1.0] * 100 + [0.0] * 300, [1] * 400
    low, high = bootstrapped(sums, sizes)
    assert (low, high) == pytest.approx((0.25 - 1.96 * 0.0217, 0.25 + 1.96 * 0.0217), abs=0.005)
    assert bootstrapped(sums, sizes) == (low, high)


def test_ten_thousand_units_are_resampled_within_a_second() -> None:
    started = time.process_time()
    bootstrapped([1.0, 0.0] * 5000, [1] * 10_000)
    assert time.process_time() - started < 2


def values(scenarios: int, each: int) -> list[Value]:
    return [
        Value(Scenario("S", row=row), f"t-{row}-{nth}", 1.0)
        for row in range(scenarios)
        for nth in range(each)
    ]


def test_several_scenarios_are_the_units_and_of_one_alone_its_traces() -> None:
    several, alone = sampled(values(3, 2)), sampled(values(1, 4))
    assert (several.unit, several.sizes, several.repeated) == ("scenario", (2, 2, 2), True)
    assert (alone.unit, alone.sizes, alone.repeated) == ("trace", (1, 1, 1, 1), False)


def test_more_trials_of_a_scenario_are_no_evidence_of_their_own() -> None:
    """Ten rows of which one got worse, each tried once or ten times: the interval is the same."""
    once, ten = Sample((-1.0,) + (0.0,) * 9, (1,) * 10), Sample((-10.0,) + (0.0,) * 9, (10,) * 10, "scenario")
    assert once.interval == ten.interval
    tried_once = Tally(
        "S", "at", "llm_judge", "", True, 10, 9, 0, changes=Sample((-1.0,) * 9 + (0.0,), (1,) * 10)
    )
    tried_often = Tally("S", "at", "llm_judge", "", True, 100, 90, 0, changes=ten)
    assert tried_once.mid_p is not None
    assert tried_often.mid_p is None


def test_a_rate_of_scenarios_that_all_passed_is_as_certain_as_they_are_many() -> None:
    assert rate_interval(Sample((10.0, 10.0, 10.0), (10, 10, 10), "scenario")) == pytest.approx(
        (0.439, 1), abs=1e-3
    )
    assert rate_interval(Sample((1.0,) * 30, (1,) * 30)) == pytest.approx((0.886, 1), abs=1e-3)
    low, high = rate_interval(Sample((10.0, 0.0, 5.0, 10.0), (10,) * 4, "scenario"))
    assert 0 <= low < 0.625 < high <= 1


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(3, 5)), min_size=2, max_size=30))
def test_an_interval_lies_within_what_units_came_to(units: list[tuple[int, int]]) -> None:
    sample = Sample(tuple(float(total) for total, _ in units), tuple(size for _, size in units))
    interval = sample.interval
    assert interval is not None
    rates = [total / size for total, size in units]
    assert min(rates) - 1e-9 <= interval[0] <= interval[1] <= max(rates) + 1e-9


def test_a_rule_whose_scores_are_not_there_has_flips_and_no_difference() -> None:
    before, after = (
        grading(name, run(replace(verdict(status, judge="j"), score=None)))
        for name, status in (("a", P), ("b", F))
    )
    (tally,) = compare(before, after).tallies
    assert (tally.worse, tally.effect, tally.scores.mean, tally.score_interval) == (1, -1.0, None, None)
    assert Tally("S", "at", "contains", "", False, 0, 0, 0).effect == 0


def test_one_unit_has_no_interval_and_none_has_no_mean() -> None:
    assert Sample((1.0,), (1,)).interval is None
    assert (Sample().mean, Sample().interval) == (None, None)
