"""Which evaluations are asked about, without a store."""

from dataclasses import replace

import pytest

from abs_replay.cli.label_choice import Wanted, chosen, disagreeing, unlabelled
from abs_replay.errors import UsageError
from abs_replay.labels import Evaluated, Label, Labelled, Opinion, Place

AT = "evaluations[0]"
ONE = Evaluated(
    *("Orders", "t-0", AT, "llm_judge", "is kind", "passed", 0.9, 0.5, "kind", (1,), "ann", "q", "q.d.1"),
    unstable=False,
    grading="g",
)
RULE = replace(ONE, at="evaluations[1]", judge=None, question=None)
THREE = [replace(ONE, trace=f"t-{nth}", question=f"q-{nth}") for nth in range(3)]
ALL = Labelled((*THREE, RULE), (), (), ())
SAID = Opinion(
    *("Orders", "t-0", AT, "llm_judge", "is kind", "ann", "f", "eve", "fail", "passed", 0.9),
    stale=False,
    note=None,
    reason="kind",
    current=True,
)


def test_what_a_judge_answered_is_asked_about_unless_another_is_named() -> None:
    assert chosen(ALL, Wanted()) == THREE
    assert chosen(ALL, Wanted(evaluation="evaluations[1]")) == [RULE]
    assert chosen(ALL, Wanted(trace="t-1")) == [THREE[1]]
    assert chosen(ALL, Wanted(trace="t-")) == THREE
    assert len(chosen(ALL, Wanted(sample=2))) == 2


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(session="Order"), "--session 'Order': no verdict that stands has it; is it Orders?"),
        (Wanted(evaluation="evaluation[0]"), r"--evaluation 'evaluation\[0\]': .* is it evaluations\[0\]"),
        (Wanted(trace="x"), "--trace 'x': .* is it t-0 or t-1 or t-2"),
    ],
)
def test_what_is_not_there_is_said_with_what_is_near(wanted: Wanted, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen(ALL, wanted)


def test_where_nothing_is_judged_it_is_said() -> None:
    with pytest.raises(UsageError, match="nothing was graded"):
        chosen(Labelled((), (), (), ()), Wanted())
    with pytest.raises(UsageError, match="no judge answered any of these"):
        chosen(Labelled((RULE,), (), (), ()), Wanted())


def test_a_second_look_is_at_what_differs_now() -> None:
    place = Place("Orders", "t-0", AT)
    assert disagreeing([SAID]) == {place}
    assert disagreeing([replace(SAID, human="pass"), replace(SAID, human="fail", who="max")]) == {place}
    for alike in (
        replace(SAID, human="pass"),
        replace(SAID, human="unsure"),
        replace(SAID, stale=True),
        replace(SAID, current=False),
        replace(SAID, status="error"),
    ):
        assert disagreeing([alike]) == set()


def test_a_person_is_asked_again_only_about_what_was_changed() -> None:
    label = Label("l", 1.0, "eve", "Orders", "t-0", AT, "pass", None, "q-0", "q.d.1")
    stale = replace(label, trace="t-1", question="old")

    assert unlabelled(THREE, [label, stale], "eve") == THREE[1:]
    assert unlabelled(THREE, [label, stale], "max") == THREE
