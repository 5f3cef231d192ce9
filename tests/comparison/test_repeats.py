"""A flip whose judge once said otherwise to the same question is unstable: the store knows it."""

from pathlib import Path

from abs_replay.cli.diff import compare_kept
from abs_replay.comparison import compare
from abs_replay.comparison.repeats import asked, with_repeats
from abs_replay.judgement import Question
from abs_replay.store import KeptAnswer, Store
from tests.comparison.made import F, P, grading, run, verdict

OLD = verdict(P, 0.8, judge="j", question="Q", threshold=0.5)
NEW = verdict(F, 0.2, judge="j", question="R", fingerprint="other.d.1", threshold=0.5)


def test_what_the_judge_said_on_both_sides_of_the_threshold_makes_a_flip_unstable() -> None:
    found = compare(grading("a", run(OLD)), grading("b", run(NEW)))
    assert asked(found) == {("Q", "j"), ("R", "j")}
    for scores, unstable in (((0.8, 0.9), False), ((0.8, 0.4), True), ((), False)):
        (flip,) = with_repeats(found, {("Q", "j"): scores, ("R", "k"): (0.1, 0.9)}).flips
        assert flip.unstable is unstable


def test_the_parts_of_a_composition_are_looked_up() -> None:
    before, after = (
        verdict(each.status, children=(each,), type_="all_of", fingerprint=each.fingerprint)
        for each in (OLD, NEW)
    )
    found = compare(grading("a", run(before)), grading("b", run(after)))
    (flip,) = with_repeats(found, {("R", "j"): (0.2, 0.6)}).flips
    assert flip.unstable


def test_the_store_knows_what_judges_said_at_other_times(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.duckdb")
    gradings = grading("a", run(OLD)), grading("b", run(NEW))
    assert not compare_kept(*gradings, store).flips[0].unstable
    said = [KeptAnswer("Q", "j", 0, score, "") for score in (0.8, 0.3)]
    store.keep_answers([Question("Q", "at", "llm_judge", "c", {})], [*said, KeptAnswer("R", "j", 0, 0.2, "")])
    assert store.scores(["Q"]) == {("Q", "j"): (0.8, 0.3)}
    assert compare_kept(*gradings, store).flips[0].unstable
    assert not compare_kept(*gradings, None).flips[0].unstable
