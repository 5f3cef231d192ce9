"""Gates: what makes a comparison fail, and what does not."""

from typing import Any

import pytest

from abs_replay.comparison import Comparison, compare
from abs_replay.comparison.gates import Bound, FailOn, Gates, failures
from abs_replay.comparison.tallies import rate_of
from abs_replay.verdicts import Run
from tests.comparison.made import E, F, P, S, grading, run, verdict

REGRESSION, ANY = Gates(FailOn.REGRESSION), Gates(FailOn.ANY)


def compared(*sides: tuple[Any, Any], **more: Any) -> Comparison:
    """A comparison with one trace for each pair of statuses."""
    before, after = (
        [run(verdict(pair[side], **more), trace=f"t-{nth}") for nth, pair in enumerate(sides)]
        for side in (0, 1)
    )
    return compare(grading("a", *before), grading("b", *after))


def failed(gates: Gates, found: Comparison) -> str:
    return "\n".join(failures(gates, found.rate_after, found))


def test_without_gates_nothing_fails() -> None:
    assert failed(Gates(), compared((P, F))) == ""
    assert (Gates().given, Gates(min_pass_rate=0.5).given, Gates(margin=0.0).compare) == (False, True, True)
    assert not Gates(min_pass_rate=0.5).compare


def test_what_can_not_be_decided_any_more_counts_as_a_regression() -> None:
    """A gate that holds because the judge was down would be a lie."""
    assert failed(REGRESSION, compared((P, P), (F, P), (F, E), (E, E), (P, S))) == ""
    assert failed(REGRESSION, compared((P, F))).startswith("--fail-on regression: 1 check got worse: t-0 beh")
    assert "1 of them not decided any more" in failed(REGRESSION, compared((P, E)))
    assert "t-2 behaviors[0].evaluations[0] and others" in failed(REGRESSION, compared(*[(P, F)] * 4))


def test_a_session_that_only_an_added_rule_fails_got_worse() -> None:
    added = verdict(F, at="behaviors[0].evaluations[1]", fingerprint="new.d.1")
    found = compare(grading("a", run(verdict(P))), grading("b", run(verdict(P), added)))
    assert failed(REGRESSION, found) == "--fail-on regression: 1 check got worse by what was added: t session"
    assert failed(ANY, found) == "--fail-on any: 1 check changed: t session"


def test_what_the_same_judge_says_otherwise_to_the_same_question_is_no_regression() -> None:
    noise = compared((P, F), (F, P), judge="j")
    assert failed(REGRESSION, noise) == ""
    assert failed(ANY, noise).startswith("--fail-on any: 2 checks changed")
    # A split of its votes on another trace may well be one.
    split = verdict(F, judge="j", question="R", scores=(0.0, 0.0, 1.0), unstable=True)
    found = compare(grading("a", run(verdict(P, judge="j"))), grading("b", run(split)))
    assert found.flips[0].unstable
    assert failed(REGRESSION, found).startswith("--fail-on regression: 1 check got worse")


def test_any_change_is_any_change_of_status() -> None:
    assert failed(ANY, compared((P, P), (E, E))) == ""
    for pair in ((F, P), (P, F), (F, E), (E, P), (P, S)):
        assert failed(ANY, compared(pair)).startswith("--fail-on any: ")


def runs(passed: int, failed: int, undecided: int = 0) -> list[Run]:
    statuses = [P] * passed + [F] * failed + [E] * undecided
    return [run(verdict(status), trace=f"t-{nth}") for nth, status in enumerate(statuses)]


def test_a_pass_rate_is_of_all_sessions_since_an_undecided_one_has_not_passed() -> None:
    def low(gates: Gates, *counts: int) -> tuple[str, ...]:
        return failures(gates, rate_of(runs(*counts)), None)

    assert low(Gates(min_pass_rate=0.9), 9, 1) == ()
    assert low(Gates(min_pass_rate=0.9), 9, 0, 1) == ()
    assert low(Gates(min_pass_rate=0.9), 8, 0, 2) == (
        "--min-pass-rate 0.9: 8 of 10 sessions passed, 2 undecided: 0.8",
    )
    assert low(Gates(min_pass_rate=0), 0, 0) == ("--min-pass-rate 0: there is no session to count",)


def test_the_lower_bound_of_a_pass_rate_wants_more_sessions() -> None:
    gates = Gates(min_pass_rate=0.88, bound=Bound.LOWER)
    assert failures(gates, rate_of(runs(30, 0)), None) == ()
    (told,) = failures(gates, rate_of(runs(10, 0)), None)
    assert told.endswith("10 of 10 sessions passed: 1, and the rate's lower bound is 0.722")


def test_a_margin_bears_a_few_flips_among_many_and_none_among_few() -> None:
    few, many = [(P, F)] + [(P, P)] * 9, [(P, F)] + [(P, P)] * 299
    told = failed(Gates(margin=0.02), compared(*few))
    assert told.startswith(
        "--margin 0.02: the share of sessions that pass went by -0.1, and may have gone by"
    )
    assert "over 10 traces" in told
    assert failed(Gates(margin=0.02), compared(*many)) == ""
    assert failed(Gates(margin=0.0), compared(*many)) != ""
    assert failed(Gates(margin=0.0), compared(*[(P, P)] * 3, (F, P))) == ""
    # As many better as worse, which may be chance.
    assert failed(Gates(margin=0.1), compared(*[(P, F), (F, P)] * 5, *[(P, P)] * 10)) != ""


def test_a_margin_counts_what_is_not_decided_any_more_and_needs_something_to_count() -> None:
    assert failed(Gates(margin=0.1), compared(*[(P, E)] * 4, (P, P))) != ""
    assert "no session was decided in both" in failed(Gates(margin=0.1), compared((E, E)))
    assert failed(Gates(margin=0.1), compared((P, F))) != ""


def test_no_margin_bears_a_rule_that_blocks_and_failed_now() -> None:
    many = [(P, F)] + [(P, P)] * 299
    assert failed(Gates(margin=0.5), compared(*many)) == ""
    told = failed(Gates(margin=0.5), compared(*many, blocking=True))
    assert told.startswith("--margin: 1 check failed now that block what follows: t-0 behaviors[0]")


def test_one_rule_that_is_demonstrably_worse_hides_in_no_pass_rate() -> None:
    """The runs failed before as after by another rule, so that the rate of sessions says nothing."""

    def side(bad: int) -> list[Run]:
        other = verdict(F, at="behaviors[0].evaluations[1]", fingerprint="z.d.1")
        return [run(verdict(F if nth < bad else P, judge="j"), other, trace=f"t-{nth}") for nth in range(40)]

    found = compare(grading("a", *side(0)), grading("b", *side(12)))
    told = failed(Gates(margin=0.1), found)
    assert told.startswith("--margin 0.1: llm_judge (S · behaviors[0].evaluations[0]) passes -0.3 as often")
    assert failed(Gates(margin=0.35), found) == ""


@pytest.mark.parametrize("often", [1, 20])
def test_trials_of_few_scenarios_show_no_margin_however_many_they_are(often: int) -> None:
    def side(bad: bool) -> list[Run]:
        return [
            run(verdict(F if bad and row == 0 else P), trace=f"t-{row}-{nth}", row=row)
            for row in range(5)
            for nth in range(often)
        ]

    found = compare(grading("a", *side(False)), grading("b", *side(True)))
    assert failed(Gates(margin=0.3), found) != ""
    assert found.sessions.mean == pytest.approx(-0.2)
