"""A/A beside A/B: what a judge says otherwise though nothing changed is the floor for what an edit flips."""

from dataclasses import replace
from typing import Any

import pytest

from abs_replay.comparison import Comparison, compare
from abs_replay.comparison.noise import NO_FLOOR, Floor, beyond
from abs_replay.judgement import Usage
from abs_replay.reports import flips, flips_json, flips_markdown
from abs_replay.verdicts import Status, Verdict
from tests.comparison.made import F, P, grading, run, verdict

OTHER = "behaviors[0].evaluations[1]"


def asked(status: Status, fingerprint: str, question: str, at: str, **more: Any) -> Verdict:
    made = verdict(status, fingerprint=fingerprint, judge="j", question=question, at=at, **more)
    assert made.judged is not None
    return replace(made, judged=replace(made.judged, usage=Usage(1)))


def regraded(edited: int, same: int, of: int = 40) -> Comparison:
    """One rule edited, which flips `edited` times, and one not, which the same judge decides otherwise `same`
    times when it is asked again."""
    before, after = [], []
    for n in range(of):
        kept = asked(P, "q.d.1", f"kept {n}", OTHER)
        old, new = asked(P, "old.d.1", f"old {n}", "at"), asked(P, "new.d.1", f"new {n}", "at")
        before.append(run(old, kept, trace=f"t-{n}", row=n))
        went = replace(new, status=F) if n < edited else new
        again = replace(kept, status=F) if n >= of - same else kept
        after.append(run(went, again, trace=f"t-{n}", row=n))
    return compare(grading("g-1", *before), grading("g-2", *after))


def test_what_is_asked_the_same_again_is_the_floor() -> None:
    found = regraded(edited=12, same=2)

    assert found.floor == Floor(40, 2)
    told = flips.render(found)
    assert "Noise floor: 5.0 % of 40 questions asked twice, with nothing changed, came out otherwise" in told
    assert "; more than the noise floor (Fisher's one-sided p 0.0032)" in told
    assert "Noise floor: 5.0 %" in flips_markdown.render(found)


def test_flips_that_are_no_more_than_the_floor_are_told_so_and_the_floor_is_not_tested() -> None:
    found = regraded(edited=6, same=5)

    assert flips.render(found).count("not shown to be more than the noise floor") == 1
    document: Any = flips_json.as_json(found)
    assert document["noise_floor"] == {"asked_twice": 40, "otherwise": 5.0, "rate": 0.125}
    assert [each["beyond_noise_p"] is None for each in document["judged"]] == [False, True]


def test_votes_on_one_question_are_a_floor_too() -> None:
    split = asked(P, "q.d.1", "Q", "at", scores=(1.0, 1.0, 0.0), threshold=0.5)
    found = compare(grading("g-1", run(split)), grading("g-2", run(split)))

    assert found.floor.pairs == 3  # both sides have votes, and it was asked again
    assert found.floor.otherwise == pytest.approx(4 / 3)


@pytest.mark.parametrize(
    "after",
    [
        verdict(F, judge="j", at="at"),  # a kept answer: nobody was asked
        asked(F, "q.other.1", "Q", "at"),  # decided otherwise
        asked(F, "q.d.1", "another", "at"),
        verdict(F, at="at"),
    ],
)
def test_what_changed_or_was_not_asked_is_no_floor(after: Verdict) -> None:
    found = compare(grading("g-1", run(asked(P, "q.d.1", "Q", "at"))), grading("g-2", run(after)))

    assert found.floor == NO_FLOOR
    assert "Noise floor" not in flips.render(found)


def test_without_flips_or_without_a_floor_there_is_no_test() -> None:
    assert beyond(0, 10, Floor(10, 1)) is None
    assert beyond(5, 10, NO_FLOOR) is None
    assert beyond(5, 10, Floor(10, 5)) == pytest.approx(0.672, abs=1e-3)
