"""Why a verdict flipped: each cause alone, several at once, and nothing that can not have done it."""

from typing import Any

import pytest

from abs_replay.comparison import Cause, Flip, compare
from abs_replay.verdicts import Run, Verdict
from tests.comparison.made import RULE, F, P, S, grading, run, verdict


def flip(before: Run, after: Run) -> Flip:
    (found,) = compare(grading("a", before), grading("b", after)).flips
    return found


def why(before: Verdict, after: Verdict, **more: Any) -> set[str]:
    """The causes between two verdicts of one trace, in small letters; `more` is of the later run."""
    first: dict[str, Any] = {"digest": "d"} if "digest" in more else {}
    return {cause.name.lower() for cause in flip(run(before, **first), run(after, **more)).causes}


JUDGED: dict[str, Any] = {"judge": "j", "threshold": 0.5}


@pytest.mark.parametrize(
    ("before", "after", "causes"),
    [
        ({}, {"fingerprint": "other.d.1"}, {"criterion"}),
        ({}, {"fingerprint": "q.d.2"}, {"evaluator"}),
        ({}, {"fingerprint": "other.d.2"}, {"criterion", "evaluator"}),
        ({}, {"fingerprint": "q.other.1"}, {"decision"}),
        ({"fingerprint": "a" * 64}, {"fingerprint": "b" * 64}, {"rule"}),
        ({"fingerprint": "a" * 64}, {"fingerprint": "q.d.1"}, set()),
        ({}, {"evidence": (2,)}, {"alignment"}),
        # An edited rule looks at what it likes.
        ({}, {"evidence": (2,), "fingerprint": "other.d.1"}, {"criterion"}),
        ({}, {}, {"other"}),
        (JUDGED, JUDGED | {"judge": "k"}, {"judge"}),
        (JUDGED, JUDGED, {"noise"}),
        (JUDGED, JUDGED | {"question": "R", "fingerprint": "other.d.1"}, {"criterion"}),
        (
            JUDGED,
            JUDGED | {"question": "R", "fingerprint": "other.d.1", "judge": "k"},
            {"criterion", "judge"},
        ),
        # The same question was put to the same judge: the version of what reads the answer is nothing.
        (JUDGED, JUDGED | {"fingerprint": "q.d.2"}, {"noise"}),
        # Another question of the same rule, and whether the trace is another is not known.
        (JUDGED, JUDGED | {"question": "R"}, {"other"}),
    ],
)
def test_each_cause_is_told_by_what_differs(
    before: dict[str, Any], after: dict[str, Any], causes: set[str]
) -> None:
    assert why(verdict(P, **before), verdict(F, **after)) == causes
    assert why(verdict(F, **after), verdict(P, **before)) == causes


def test_another_trace_is_the_cause_unless_the_question_is_the_same() -> None:
    assert why(verdict(P), verdict(F), digest="e") == {"trace"}
    assert why(verdict(P), verdict(F, evidence=(2,)), digest="e") == {"trace"}
    assert why(verdict(P), verdict(F, fingerprint="other.d.1"), digest="e") == {"criterion", "trace"}
    assert why(verdict(P, **JUDGED), verdict(F, **JUDGED | {"question": "R"}), digest="e") == {"trace"}
    assert why(verdict(P, **JUDGED), verdict(F, **JUDGED), digest="e") == {"noise"}


def test_other_behaviors_over_the_same_trace_are_a_matter_of_alignment() -> None:
    old, new = verdict(P, **JUDGED), verdict(F, **JUDGED | {"question": "R"})
    assert why(verdict(P), verdict(F), digest="d", content="y", step=2) == {"alignment"}
    assert why(verdict(P), verdict(F), digest="d", content="y") == {"alignment"}
    # What its steps were taken for is another, and so is the question.
    assert why(old, new, digest="d") == {"alignment"}
    assert why(verdict(P), verdict(F), digest="e", content="y", step=2) == {"trace", "alignment"}


@pytest.mark.parametrize(
    ("before", "after", "causes"),
    [
        # (score, threshold) of both sides
        ((0.6, 0.5), (0.6, 0.7), {"threshold"}),
        ((0.6, 0.5), (0.55, 0.7), {"threshold"}),  # the other answer would have passed as well
        ((0.6, 0.5), (0.2, 0.55), {"noise"}),  # and so would the threshold
        ((0.6, 0.5), (0.2, 0.7), {"threshold", "noise"}),  # each alone would have done
        ((0.8, 0.9), (0.95, 0.85), {"noise"}),
        ((0.8, 0.9), (0.88, 0.85), {"threshold", "noise"}),  # neither alone
    ],
)
def test_a_threshold_is_a_cause_where_the_flip_depends_on_it(
    before: tuple[float, float], after: tuple[float, float], causes: set[str]
) -> None:
    def judged(score: float, threshold: float, decision: str) -> Verdict:
        status = P if score >= threshold else F
        fingerprint = f"q.{decision}.1"
        return verdict(status, score, judge="j", threshold=threshold, fingerprint=fingerprint)

    assert why(judged(*before, "d"), judged(*after, "e")) == causes


def test_a_threshold_that_old_fingerprints_hold_is_told_by_the_scores() -> None:
    old = verdict(P, 0.6, threshold=0.5, fingerprint="a" * 64)
    assert why(old, verdict(F, 0.6, threshold=0.7, fingerprint="b" * 64)) == {"threshold"}
    assert why(old, verdict(F, 0.1, threshold=0.55, fingerprint="b" * 64)) == {"rule"}


def composed(status: Any, *children: Verdict, type_: str = "all_of", **more: Any) -> Verdict:
    names = [child.fingerprint.split(".") for child in children]
    question, decision = ("+".join(name[nth] for name in names) for nth in (0, 1))
    return verdict(
        status, children=children, type_=type_, fingerprint=f"{question}.{type_}{decision}.1", **more
    )


def test_a_composition_flips_by_the_parts_that_came_out_otherwise() -> None:
    kept, before = verdict(P, fingerprint="k.d.1"), verdict(P, **JUDGED)
    reworded = verdict(F, **JUDGED | {"fingerprint": "other.d.1", "question": "R"})
    assert why(composed(P, kept, before), composed(F, kept, reworded)) == {"criterion"}
    assert why(composed(P, kept, before), composed(F, kept, verdict(F, **JUDGED))) == {"noise"}
    # The other part was edited as well, and came to the same.
    edited = verdict(P, fingerprint="l.d.1")
    assert why(composed(P, kept, before), composed(F, edited, verdict(F, **JUDGED))) == {"noise"}
    lowered = verdict(F, 0.6, **JUDGED | {"threshold": 0.7, "fingerprint": "q.e.1"})
    assert why(composed(P, kept, verdict(P, 0.6, **JUDGED)), composed(F, kept, lowered)) == {"threshold"}


def test_a_composition_with_other_parts_or_another_pass_rule_was_edited() -> None:
    good, bad = (
        verdict(P, fingerprint="g.d.1", type_="contains"),
        verdict(F, fingerprint="b.d.1", type_="regex"),
    )
    assert why(composed(P, good), composed(F, good, bad)) == {"criterion"}
    assert why(composed(P, good, bad, type_="any_of"), composed(F, good, bad)) == {"decision"}


def test_a_match_flips_by_the_trace_or_by_its_behavior() -> None:
    def causes(**after: Any) -> set[Cause]:
        found = compare(grading("a", run(digest="d")), grading("b", run(step=None, **after)))
        (match,) = found.matches
        return set(match.causes)

    assert causes(digest="e") == {Cause.TRACE}
    assert causes(digest="d", content="y") == {Cause.ALIGNMENT}
    assert causes() == set()


def test_a_behavior_that_only_one_grading_expects_has_no_match_to_flip() -> None:
    without = Run("S", None, "t", run().result, ())
    assert compare(grading("a", without), grading("b", run(step=None))).matches == ()


def test_what_a_condition_skips_flips_nowhere_and_was_edited() -> None:
    found = compare(grading("a", run(verdict(P))), grading("b", run(verdict(S, fingerprint="q.e.1"))))
    assert (found.flips, [pair.why for pair in found.incomparable]) == ((), ["skipped after"])


def test_flips_that_asking_again_could_undo_are_unstable() -> None:
    stable, split = verdict(P, **JUDGED), verdict(F, judge="k", scores=(0.0, 0.0, 1.0), unstable=True)
    assert not flip(run(stable), run(verdict(F, judge="k"))).unstable
    assert flip(run(stable), run(split)).unstable
    assert flip(run(stable), run(verdict(F, **JUDGED))).unstable
    assert flip(run(composed(P, stable)), run(composed(F, split))).unstable


def test_a_verdict_that_moved_with_its_rule_is_paired_though_its_threshold_was_edited() -> None:
    one = verdict(P, fingerprint="one.d.1")
    two = verdict(P, 0.6, fingerprint="two.d.1", threshold=0.5, at="behaviors[0].evaluations[1]")
    raised = verdict(F, 0.6, fingerprint="two.e.1", threshold=0.7, at=RULE)
    found = compare(grading("a", run(one, two)), grading("b", run(raised)))
    (flipped,) = found.flips
    assert flipped.causes == (Cause.THRESHOLD,)
    assert [check.fingerprint for check in found.only_before] == ["one.d.1"]
