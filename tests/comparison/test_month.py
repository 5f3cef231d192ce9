"""An edited rubric over a month of stored conversations: exactly the planted flips, each by its cause.

Six conversations of each kind; `python -m benchmarks month` does the same with five thousand.
"""

from collections import Counter
from pathlib import Path

import pytest

from abs_replay import exact_json
from abs_replay.comparison import Cause, Comparison, Direction, compare
from abs_replay.evaluators import EVALUATORS
from abs_replay.evaluators.context import Context, failed
from abs_replay.grading import Settings, grade, select_given
from abs_replay.reports.flips import UNSTABLE, render
from abs_replay.reports.json_report import from_json
from abs_replay.reports.json_report import render as render_json
from abs_replay.spec import rule_types
from abs_replay.spec.loader import load
from abs_replay.spec.session import Evaluation
from abs_replay.store import Store
from abs_replay.verdicts import Grading, Report, Run, Verdict
from fixtures.gradings import month

OF_A_KIND = 6
COUNT = OF_A_KIND * month.EVERY


def graded(folder: Path, later: bool, count: int = COUNT) -> tuple[Run, ...]:
    document = folder / f"{later}.abs.yaml"
    document.write_text(month.RUBRIC % (month.AFTER if later else month.BEFORE), encoding="utf-8")
    selection = select_given(month.conversations(count, later), load([document]).sessions)
    return grade(selection, Settings(judge=month.Judge(later)))


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Both gradings, kept in a store and compared as it gives them back."""
    folder = tmp_path_factory.mktemp("month")
    store = Store(folder / "store.duckdb")
    for nth, later in enumerate((False, True)):
        store.save_grading(Grading(f"g-{nth}", nth, Report(graded(folder, later))))
    return compare(store.grading("g-0"), store.grading("g-1"))


def test_exactly_what_was_planted_flips_and_by_its_cause(compared: Comparison) -> None:
    found = [
        ((flip.after.trace, flip.after.at), (flip.causes, flip.direction is Direction.REGRESSION))
        for flip in compared.flips
    ]
    assert sorted(found) == sorted(month.planted(COUNT).items())


def test_what_the_judge_could_not_say_is_no_flip_and_listed_with_why(compared: Comparison) -> None:
    assert Counter((pair.after.at, pair.why) for pair in compared.undecided if pair.after) == {
        (month.HELPS, "error after"): OF_A_KIND
    }
    assert (compared.only_before, compared.only_after) == ((), ())
    assert compared.same == 7 * COUNT - len(compared.flips) - OF_A_KIND


def test_what_only_the_judge_made_of_it_is_unstable(compared: Comparison) -> None:
    unstable = Counter(flip.after.at for flip in compared.flips if flip.unstable)
    assert unstable == {month.HELPS: 2 * OF_A_KIND}
    told = render(compared)
    assert told.index(UNSTABLE) > told.index("another judge answered")


def test_judged_rules_are_tested_and_deterministic_ones_are_facts(compared: Comparison) -> None:
    tallies = {tally.at: tally for tally in compared.tallies}
    tone, word = tallies[month.TONE], tallies[month.WORD]
    assert (tone.pairs, tone.worse, tone.better) == (COUNT, OF_A_KIND, 0)
    assert tone.mid_p == pytest.approx(0.5**OF_A_KIND)
    assert tone.interval is not None
    assert tone.interval[0] < -OF_A_KIND / COUNT < tone.interval[1] < 0
    assert (word.mid_p, word.interval) == (None, None)
    assert tallies[month.HELPS].undecided == OF_A_KIND
    # Two of three votes against one: they differ in two of three pairs.
    assert tallies[month.HELPS].noise == pytest.approx(2 / 3)
    assert tone.noise is None
    assert f"of {COUNT - OF_A_KIND} judged both times ({OF_A_KIND} more were not)" in render(compared)
    assert "where votes on one question differ by 67 %" in render(compared)


def test_another_version_of_an_evaluator_is_the_cause_of_what_it_flips(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stricter(evaluation: Evaluation, context: Context) -> Verdict:
        return (
            failed(evaluation, "no van is good enough")
            if "van" in str(evaluation.rule)
            else kept(evaluation, context)
        )

    kept = EVALUATORS["contains"]
    before = graded(tmp_path, later=False, count=30)
    monkeypatch.setitem(EVALUATORS, "contains", stricter)
    monkeypatch.setattr(rule_types, "EVALUATORS_VERSION", "2")
    after = graded(tmp_path, later=False, count=30)
    found = compare(Grading("a", 0.0, Report(before)), Grading("b", 0.0, Report(after)))
    assert Counter((flip.after.at, flip.causes) for flip in found.flips) == {
        (month.VAN, (Cause.EVALUATOR,)): 30
    }


def test_saved_reports_tell_the_same_flips_and_causes(tmp_path: Path) -> None:
    runs = [graded(tmp_path, later, month.EVERY) for later in (False, True)]
    saved = [from_json(exact_json.loads(render_json(Report(each)))).runs for each in runs]
    kept, read = (
        compare(Grading("a", 0.0, Report(before)), Grading("b", 0.0, Report(after)))
        for before, after in (runs, saved)
    )
    assert [(flip.after.at, flip.causes, flip.unstable) for flip in read.flips] == [
        (flip.after.at, flip.causes, flip.unstable) for flip in kept.flips
    ]
    assert len(read.flips) == len(month.planted(month.EVERY))
