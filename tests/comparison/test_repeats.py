"""A flip whose judge once said otherwise to the same question is unstable: the store knows it."""

from dataclasses import replace
from pathlib import Path

from abs_replay.cli.diff import compare_kept
from abs_replay.comparison import compare
from abs_replay.comparison.repeats import asked, with_repeats
from abs_replay.judgement import Question
from abs_replay.reports import flips, flips_json, flips_markdown
from abs_replay.reports.flips import stable
from abs_replay.store import KeptAnswer, Store
from abs_replay.verdicts import Status, Verdict
from tests.comparison.made import E, F, P, grading, run, verdict

OLD = verdict(P, 0.8, judge="j", question="Q", threshold=0.5)
NEW = verdict(F, 0.2, judge="j", question="R", fingerprint="other.d.1", threshold=0.5)


def test_what_the_judge_said_on_both_sides_of_the_threshold_makes_a_flip_unstable() -> None:
    found = compare(grading("a", run(OLD)), grading("b", run(NEW)))
    assert asked(found) == {("Q", "j"), ("R", "j")}
    for scores, unstable in (((0.8, 0.9), False), ((0.8, 0.4), True), ((), False)):
        (flip,) = with_repeats(found, {("Q", "j"): scores, ("R", "k"): (0.1, 0.9)}).flips
        assert flip.unstable is unstable


def test_a_session_that_flips_by_unstable_flips_alone_is_unstable() -> None:
    def other(status: Status) -> Verdict:
        return verdict(status, at="behaviors[0].evaluations[1]", fingerprint="fact.d.1")

    noise, fact = (verdict(P, judge="j"), verdict(F, judge="j")), (other(P), other(F))
    added = verdict(F, at="behaviors[0].evaluations[2]", fingerprint="added.d.1")
    for before, after, unstable in (
        ([noise[0]], [noise[1]], True),
        ([noise[0], fact[0]], [noise[1], fact[0]], True),
        ([noise[0], fact[0]], [noise[1], fact[1]], False),
        ([noise[0]], [noise[1], added], False),
        ([noise[0], fact[0]], [noise[1], other(E)], False),
        ([fact[0]], [fact[1]], False),
    ):
        (of_session,) = compare(grading("a", run(*before)), grading("b", run(*after))).results
        assert of_session.unstable is unstable


def test_a_session_is_unstable_too_where_only_the_store_knows_it_of_its_flips() -> None:
    found = compare(grading("a", run(OLD)), grading("b", run(NEW)))
    assert not found.results[0].unstable
    assert with_repeats(found, {("Q", "j"): (0.8, 0.4)}).results[0].unstable


def test_a_run_that_broke_off_or_lacks_an_added_behavior_did_not_flip_by_chance() -> None:
    before, after = run(verdict(P, judge="j")), run(verdict(F, judge="j"))
    lacking = replace(run(step=None).steps[0], at="behaviors[1]")
    for other in (replace(after, problem="it hung up"), replace(after, steps=(*after.steps, lacking))):
        found = compare(grading("a", before), grading("b", other))
        assert (len(found.matches), found.results[0].unstable) == (0, False)


def test_an_unstable_session_is_told_apart_with_the_flips_that_it_rests_on() -> None:
    both = run(verdict(P, judge="j")), run(verdict(F, judge="j"))
    found = compare(grading("a", both[0]), grading("b", both[1]))
    assert flips.render(found).partition(flips.UNSTABLE)[2].count("the whole session") == 1
    assert "<summary>unstable · ❌ <code>S · the whole session</code>" in flips_markdown.render(found)
    assert stable(found) == []


def test_what_another_judge_says_alike_is_counted_apart_from_what_is_carried_over() -> None:
    fact = verdict(P, at="behaviors[0].evaluations[1]", fingerprint="fact.d.1")
    whole = [verdict(P, children=(verdict(P, judge=judge),), type_="all_of") for judge in "jk"]
    cases: list[tuple[Verdict, Verdict, tuple[int, int]]] = [
        (verdict(P, judge="j"), verdict(P, judge="k"), (1, 1)),
        (verdict(P, judge="j"), verdict(P, judge="j"), (2, 0)),
        (whole[0], whole[1], (1, 1)),
        (whole[0], whole[0], (2, 0)),
        (replace(verdict(P, judge="j"), judged=None), verdict(P, judge="j"), (2, 0)),
        (replace(verdict(P, judge="j"), judged=None), verdict(P, judge="k"), (1, 1)),
    ]
    for old, new, counts in cases:
        found = compare(grading("a", run(old, fact)), grading("b", run(new, fact)))
        assert (found.same, found.carried, found.by_another) == (2, *counts)
        headline = flips.render(found).splitlines()[0]
        told = "1 carried over, 1 answered anew by another judge" if counts[1] else "carried over"
        assert headline.endswith(f": nothing flipped, 2 the same ({told})")
        assert flips_json.as_json(found)["answered_by_another_judge"] == counts[1]


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
