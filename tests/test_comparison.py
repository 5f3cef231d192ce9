"""What flipped between two gradings, which way, and why."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.comparison import Cause, Comparison, Direction, carried, compare, direction
from abs_replay.comparison.results import not_passed
from abs_replay.comparison.statistics import mcnemar_mid_p, wilson
from abs_replay.comparison.tallies import Tally
from abs_replay.reports.flips import render
from abs_replay.reports.flips_json import as_json
from abs_replay.verdicts import (
    BehaviorResult,
    Grading,
    Report,
    Result,
    Run,
    Status,
    StepStatus,
    Verdict,
)


def verdict(at: str, status: Status = Status.PASSED, fingerprint: str = "f", **more: object) -> Verdict:
    score = {Status.PASSED: 1.0, Status.FAILED: 0.0}.get(status)
    made = Verdict(at, "contains", status, f"{status} it was", score, fingerprint=fingerprint)
    return replace(made, **more)  # type: ignore[arg-type]


def behavior(
    nth: int, content: str, *verdicts: Verdict, status: StepStatus = StepStatus.MATCHED
) -> BehaviorResult:
    step = nth + 1 if status is StepStatus.MATCHED else None
    return BehaviorResult(
        f"behaviors[{nth}]", "assistant", "informs", status, content=content, step=step, evaluations=verdicts
    )


def run(
    *steps: BehaviorResult, trace: str = "t", result: Result = Result.PASSED, chain: tuple[Verdict, ...] = ()
) -> Run:
    return Run("S", "s.abs.yaml", trace, result, steps, chain)


def grading(name: str, *runs: Run) -> Grading:
    return Grading(name, 0.0, Report(runs))


def compared(before: Run, after: Run) -> Comparison:
    return compare(grading("g-1", before), grading("g-2", after))


RULE = "behaviors[0].evaluations[0]"


def test_an_edited_rule_that_flips_is_told_with_both_reasons_and_the_rest_is_carried_over() -> None:
    others = [verdict(f"behaviors[0].evaluations[{nth}]", fingerprint=f"f{nth}") for nth in range(1, 10)]
    before = run(behavior(0, "x", verdict(RULE, fingerprint="old"), *others))
    after = run(
        behavior(0, "x", verdict(RULE, Status.FAILED, fingerprint="new"), *others), result=Result.FAILED
    )

    found = compared(before, after)

    (flip,) = found.flips
    assert (flip.direction, flip.causes, flip.after.at) == (Direction.REGRESSION, (Cause.RULE,), RULE)
    assert (flip.before.reason, flip.after.reason) == ("passed it was", "failed it was")
    assert (found.same, found.carried) == (9, 9)
    assert render(found).splitlines()[0] == "g-1 → g-2: 1 flipped, 9 the same (carried over)"
    assert found.regressions == (*found.results, flip)


def test_an_edited_rule_with_the_same_outcome_is_the_same_but_not_carried_over() -> None:
    found = compared(
        run(behavior(0, "x", verdict(RULE, fingerprint="old"))), run(behavior(0, "x", verdict(RULE)))
    )

    assert (found.flips, found.same, found.carried) == ((), 1, 0)
    assert render(found).splitlines()[0] == "g-1 → g-2: nothing flipped, 1 the same"


def test_a_behavior_added_above_moves_verdicts_without_flipping_them() -> None:
    before = run(
        behavior(0, "a", verdict("behaviors[0].evaluations[0]")),
        behavior(1, "b", verdict("behaviors[1].evaluations[0]", Status.FAILED)),
    )
    after = run(
        behavior(0, "new", verdict("behaviors[0].evaluations[0]", Status.FAILED)),
        behavior(1, "a", verdict("behaviors[1].evaluations[0]")),
        behavior(2, "b", verdict("behaviors[2].evaluations[0]", Status.FAILED)),
    )

    found = compared(before, after)

    assert found.flips == ()
    assert found.carried == 2
    assert [check.at for check in found.only_after] == ["behaviors[0].evaluations[0]"]
    assert found.only_before == ()
    assert set(carried(before, after)) == {"behaviors[1].evaluations[0]", "behaviors[2].evaluations[0]"}


def test_a_session_that_flips_says_which_checks_did_it_where_no_evaluation_flipped() -> None:
    before = run(behavior(0, "a", verdict(RULE)))
    added = verdict("behaviors[0].evaluations[1]", Status.FAILED, fingerprint="new", label='contains "x"')
    inserted = replace(behavior(1, "b", status=StepStatus.UNMATCHED), target="Refund")
    after = run(behavior(0, "a", verdict(RULE), added), inserted, result=Result.FAILED)

    found = compared(before, after)

    (flip,) = found.results
    assert flip.before.reason == ""
    assert flip.after.reason == (
        'behaviors[0].evaluations[1] (contains "x") is failed; '
        "behaviors[1] (assistant informs Refund) is unmatched"
    )
    told = render(found)
    assert told.startswith("g-1 → g-2: no evaluation flipped, 1 the same (carried over)\n")
    assert (
        'Only after: 1 evaluation, in 1 trace\n  S · behaviors[0].evaluations[1] · contains "x": 1 fail'
        in told
    )


def test_regressions_count_what_flipped_counts() -> None:
    edited = verdict(RULE, Status.FAILED, fingerprint="new")
    after = run(behavior(0, "x", edited, status=StepStatus.UNMATCHED), result=Result.FAILED)

    found = as_json(compared(run(behavior(0, "x", verdict(RULE))), after))

    assert (found["flipped"], found["regressions"]) == (1, 1)
    assert found["matches"] == {"flipped": 1, "regressions": 1}
    sessions = found["sessions"]
    assert isinstance(sessions, dict)
    assert (sessions["flipped"], sessions["regressions"]) == (1, 1)


@pytest.mark.parametrize(
    ("old", "new", "causes"),
    [
        ({"fingerprint": "a"}, {"fingerprint": "b"}, [Cause.RULE]),
        ({"judge": "j1"}, {"judge": "j2"}, [Cause.JUDGE]),
        ({"judge": "j1"}, {"judge": "j1"}, [Cause.NOISE]),
        ({"evidence": (2,)}, {"evidence": (4,)}, [Cause.ALIGNMENT]),
        ({}, {}, [Cause.OTHER]),
        ({"fingerprint": ""}, {"fingerprint": "b"}, []),
        ({"fingerprint": "a"}, {"fingerprint": "a.b.1"}, []),
    ],
)
def test_the_cause_of_a_flip_is_told_of_gradings_of_before_where_it_can_be(
    old: dict[str, object], new: dict[str, object], causes: list[Cause]
) -> None:
    before = replace(verdict(RULE), **old)  # type: ignore[arg-type]
    after = replace(verdict(RULE, Status.FAILED), **new)  # type: ignore[arg-type]

    (flip,) = compared(run(behavior(0, "x", before)), run(behavior(0, "x", after))).flips

    assert list(flip.causes) == causes


def test_a_step_that_is_no_longer_matched_is_a_regression_without_any_evaluation() -> None:
    after = run(behavior(0, "x", status=StepStatus.UNMATCHED), result=Result.FAILED)

    found = compared(run(behavior(0, "x")), after)

    assert found.flips == ()
    assert [flip.after.type for flip in found.regressions] == ["session", "match"]
    assert "match of assistant informs" in render(found)


@pytest.mark.parametrize(
    ("before", "after", "which"),
    [
        ("passed", "failed", "regression"),
        ("passed", "error", "regression"),
        ("passed", "not_evaluable", "regression"),
        ("failed", "passed", "improvement"),
        ("error", "passed", "improvement"),
        ("failed", "error", "change"),
        ("passed", "skipped", "change"),
        ("skipped", "passed", "change"),
    ],
)
def test_directions(before: str, after: str, which: str) -> None:
    assert direction(Status(before), Status(after)) == which


def test_runs_of_one_grading_alone_are_counted_and_never_flip() -> None:
    one, other = (run(behavior(0, "x", verdict(RULE)), trace=trace) for trace in ("t-1", "t-2"))

    found = compare(grading("g-1", one), grading("g-2", other))

    assert (found.all_flips, found.same) == ((), 0)
    text = render(found)
    assert "Only before: 1 evaluation, in 1 trace" in text
    assert "Only after: 1 evaluation, in 1 trace" in text
    assert f"  S · {RULE} · contains: 1 pass (its trace is not in the other)" in text
    assert as_json(found)["only_after"] == [
        {"session": "S", "trace": "t-2", "at": RULE, "type": "contains", "label": "", "status": "passed"}
        | {"why": "its trace was graded only after"}
    ]


def test_the_same_trace_graded_twice_in_one_grading_pairs_in_order() -> None:
    passed = run(behavior(0, "x", verdict(RULE)))
    failed = run(behavior(0, "x", verdict(RULE, Status.FAILED)), result=Result.FAILED)

    assert compare(grading("a", passed, failed), grading("b", passed, failed)).all_flips == ()


def test_judged_flips_are_tested_from_five_on_and_deterministic_ones_never() -> None:
    def many(flips: int, judge: str | None) -> Comparison:
        runs = [(f"t-{nth}", nth < flips) for nth in range(40)]
        before = [run(behavior(0, "x", verdict(RULE, judge=judge)), trace=trace) for trace, _ in runs]
        after = [
            run(
                behavior(0, "x", verdict(RULE, Status.FAILED if bad else Status.PASSED, judge=judge)),
                trace=trace,
            )
            for trace, bad in runs
        ]
        return compare(grading("a", *before), grading("b", *after))

    assert many(5, None).tallies[0].mid_p is None
    assert many(4, "j").tallies[0].mid_p is None
    assert many(5, "j").tallies[0].mid_p == pytest.approx(0.0312, abs=1e-4)
    assert "too few flips to test" in render(many(4, "j"))
    assert "McNemar's mid-p 0.031" in render(many(5, "j"))
    assert "mid-p" not in render(many(5, None))


# Reference figures: research on Fagerland et al. 2013 and on Wilson's interval.
@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [(0, 5, 0.0312), (0, 4, 0.0625), (1, 7, 0.0391), (2, 9, 0.0386), (3, 3, 1.0), (0, 0, 1.0)],
)
def test_mcnemars_mid_p(worse: int, better: int, p: float) -> None:
    assert mcnemar_mid_p(worse, better) == pytest.approx(p, abs=1e-4)


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"),
    [(30, 30, 0.886, 1), (10, 10, 0.722, 1), (9, 10, 0.596, 0.982), (3, 3, 0.439, 1), (0, 0, 0, 1)],
)
def test_wilsons_interval(passed: int, total: int, low: float, high: float) -> None:
    assert wilson(passed, total) == pytest.approx((low, high), abs=1e-3)


def test_both_denominators_stand_where_something_was_not_decided() -> None:
    runs = [run(trace=f"t-{nth}", result=result) for nth, result in enumerate(Result)]

    text = render(compare(grading("a", *runs), grading("b", *runs[:2])))

    assert "Sessions passed: 1/2 decided, 1/3 in all (9–91 %) → 1/2 (9–91 %)" in text


def test_twenty_flips_of_a_rule_are_shown_and_the_others_counted() -> None:
    def all_of(status: Status) -> list[Run]:
        return [run(behavior(0, "x", verdict(RULE, status)), trace=f"t-{nth}") for nth in range(500)]

    found = compare(grading("a", *all_of(Status.FAILED)), grading("b", *all_of(Status.PASSED)))

    assert len(found.flips) == 500
    assert "  .. and 480 more: --format json lists them" in render(found)
    assert len(render(found).splitlines()) < 70
    flips = as_json(found)["flips"]
    assert isinstance(flips, list)
    assert len(flips) == 500


def test_nothing_in_a_comparison_can_steer_the_terminal() -> None:
    nasty = "a\x1b[2J\nb"
    old = verdict(RULE, label=nasty, reason=nasty)
    new = verdict(RULE, Status.FAILED, label=nasty, reason=nasty)
    runs = [replace(run(behavior(0, nasty, each), trace=nasty), session=nasty) for each in (old, new)]

    text = render(compare(grading(nasty, runs[0]), grading(nasty, runs[1])))

    assert all(line.isprintable() for line in text.split("\n"))


STATUSES = st.sampled_from([status for status in Status if status is not Status.PENDING])


@given(st.lists(STATUSES, max_size=8))
def test_a_grading_compared_with_itself_is_all_carried_over(statuses: list[Status]) -> None:
    verdicts = [verdict(f"behaviors[0].evaluations[{nth}]", status) for nth, status in enumerate(statuses)]
    same = grading("g", run(behavior(0, "x", *verdicts), chain=tuple(verdicts)))

    found = compare(same, same)

    undecided = (Status.ERROR, Status.INCONCLUSIVE, Status.NOT_EVALUABLE)
    assert (found.all_flips, found.only_before, found.only_after) == ((), (), ())
    assert len(found.undecided) == 2 * sum(status in undecided for status in statuses)
    assert found.same == found.carried == 2 * len(statuses) - len(found.undecided)


def test_a_tally_without_a_judge_has_no_test() -> None:
    assert Tally("S", RULE, "contains", "", judged=False, pairs=10, worse=9, better=0).mid_p is None


def test_a_flip_names_every_kind_of_check_that_did_it() -> None:
    before = run(behavior(0, "x"), behavior(1, "y"), behavior(2, "z"))
    differs = replace(behavior(0, "x"), differs=True)
    error = behavior(1, "y", status=StepStatus.ERROR)
    missing = behavior(2, "z", status=StepStatus.MISSING)
    after = run(differs, error, missing, result=Result.FAILED)
    told = not_passed(replace(after, strict_user=True))
    assert told == (
        "behaviors[0] (assistant informs) has other words; behaviors[1] (assistant informs) could not be "
        "matched; behaviors[2] (assistant informs) is missing"
    )
    assert not_passed(replace(after, require_match=False)) == (
        "behaviors[1] (assistant informs) could not be matched"
    )
    assert not_passed(replace(before, problem="the agent hung up")) == "it broke off: the agent hung up"
    assert not_passed(before) == ""


def test_what_was_not_decided_counts_in_no_tally_of_its_rule() -> None:
    error = verdict(RULE, Status.ERROR, judge="j")
    assert compared(run(behavior(0, "x", error)), run(behavior(0, "x", error))).tallies == ()


def renamed(made: Run, name: str) -> Run:
    return replace(made, session=name)


def test_the_runs_of_a_renamed_session_are_compared_and_the_new_name_is_told() -> None:
    before = run(behavior(0, "x", verdict(RULE)))
    after = renamed(run(behavior(0, "x", verdict(RULE, Status.FAILED)), result=Result.FAILED), "R")
    found = compared(before, after)
    assert [flip.direction for flip in found.flips] == [Direction.REGRESSION]
    assert (found.only_before, found.only_after, found.renamed) == ((), (), (("S", "R"),))
    assert 'Session "S" is called "R" now\n' in render(found)
    assert as_json(found)["renamed"] == [{"before": "S", "after": "R"}]


def test_a_name_that_both_gradings_have_and_a_trace_of_two_sessions_are_no_renaming() -> None:
    one, other = run(behavior(0, "x", verdict(RULE))), run(behavior(0, "x", verdict(RULE)), trace="u")
    there = compare(grading("g-1", one, other), grading("g-2", renamed(one, "R"), other))
    two = compare(grading("g-1", one), grading("g-2", renamed(one, "R"), renamed(one, "Q")))
    for found, more in ((there, 1), (two, 2)):
        assert found.renamed == ()
        assert (len(found.only_before), len(found.only_after)) == (1, more)


def test_what_was_decided_anew_and_came_out_the_same_is_named() -> None:
    kept = verdict("behaviors[0].evaluations[1]", fingerprint="kept")
    before = run(behavior(0, "x", verdict(RULE, fingerprint="old"), kept))
    after = run(behavior(0, "x", verdict(RULE, fingerprint="new"), kept))
    found = compared(before, after)
    assert [(flip.after.at, flip.causes) for flip in found.anew] == [(RULE, (Cause.RULE,))]
    assert (
        f"Decided anew, and the same: 1 evaluation, in 1 trace\n  S · {RULE} · contains: 1 pass\n"
        in render(found)
    )
    told = as_json(found)["decided_anew"]
    assert isinstance(told, list)
    assert [(each["at"], each["causes"], each["direction"]) for each in told] == [(RULE, ["rule"], None)]


def test_sessions_that_were_played_again_are_compared_though_their_traces_are_new() -> None:
    def played(trace: str, status: Status, port: int, row: int = 0) -> Run:
        made = run(behavior(0, "x", verdict(RULE, status)), trace=trace)
        return replace(made, agent=f"http://127.0.0.1:{port}", row=row, trace_digest=trace)

    before = [played("t-1", Status.PASSED, 1), played("t-2", Status.PASSED, 1, row=1)]
    after = [played("t-3", Status.PASSED, 2), played("t-4", Status.FAILED, 2, row=1)]
    found = compare(grading("a", *before), grading("b", *after))
    assert [(flip.before.trace, flip.after.trace, flip.causes) for flip in found.flips] == [
        ("t-2", "t-4", (Cause.TRACE,))
    ]
    assert (found.only_before, found.only_after, found.same) == ((), (), 1)


def test_of_several_trials_none_is_taken_for_one_of_another_time() -> None:
    once = replace(run(behavior(0, "x", verdict(RULE))), agent="a")
    found = compare(grading("a", once, replace(once, trace="u")), grading("b", replace(once, trace="v")))
    assert (len(found.only_before), len(found.only_after)) == (2, 1)
