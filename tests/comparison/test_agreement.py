"""Judges against people, with known values."""

from dataclasses import replace
from itertools import count

import pytest

from abs_replay.comparison.agreement import calibrations, consensus
from abs_replay.comparison.confusion import Confusion, corrected
from abs_replay.labels import Opinion, Population

OPINION = Opinion(
    *("S", "t", "evaluations[0]", "llm_judge", "is kind", "ann", "f", "eve", "pass", "passed", 0.9),
    stale=False,
    note=None,
    reason="kind",
    current=True,
)
POPULATION = Population("S", "evaluations[0]", "llm_judge", "is kind", "ann", "f", 83, 100, 100)
_number = count()


def opinions(table: Confusion, **changes: object) -> list[Opinion]:
    """Labels of as many traces as the table counts."""
    kinds = (("pass", "passed"), ("fail", "passed"), ("pass", "failed"), ("fail", "failed"))
    return [
        replace(OPINION, trace=f"t-{next(_number)}", human=human, status=status, **changes)  # type: ignore[arg-type]
        for (human, status), how_many in zip(kinds, table.counts, strict=True)
        for _ in range(how_many)
    ]


def test_kappa_alone_misleads_where_nearly_everything_passes() -> None:
    table = Confusion(91, 4, 4, 1)

    assert table.agreement == pytest.approx(0.92)
    assert table.kappa == pytest.approx(0.158, abs=5e-4)
    assert table.ac1 == pytest.approx(0.912, abs=5e-4)
    assert (table.prevalence, table.judge_rate, table.tnr) == (0.95, 0.95, 0.2)
    assert table.tpr == pytest.approx(91 / 95)


def test_kappa_is_the_textbooks() -> None:
    assert Confusion(20, 5, 10, 15).kappa == pytest.approx(0.4)  # Cohen (1960), and any introduction
    assert Confusion(118, 5, 2, 0).kappa == pytest.approx(-0.0234, abs=5e-5)  # Gwet (2008), table 2
    assert Confusion(118, 5, 2, 0).ac1 == pytest.approx(0.9408, abs=5e-5)
    assert Confusion(0, 10, 10, 0).kappa == -1
    assert Confusion(10, 0, 0, 10).kappa == Confusion(10, 0, 0, 10).ac1 == 1


def test_what_can_not_be_said_is_not_said() -> None:
    assert Confusion().agreement is Confusion().kappa is Confusion().ac1 is None
    assert Confusion(10).kappa is None  # all of one kind, so that all of it may be chance
    assert Confusion(10).ac1 == 1
    assert Confusion(10).tnr is Confusion().judge_rate is Confusion().prevalence is None
    assert Confusion().kappa_interval is None
    for alike in (Confusion(9, 0, 0, 9), Confusion(0, 9, 0, 0), Confusion(5, 5, 0, 0)):
        assert alike.kappa_interval is None  # which shows no spread


def test_intervals_hold_their_statistic_and_narrow_with_more_labels() -> None:
    few, many = Confusion(18, 2, 3, 17), Confusion(180, 20, 30, 170)
    for table in (few, many):
        for value, interval in (
            (table.kappa, table.kappa_interval),
            (table.ac1, table.ac1_interval),
            (table.tpr, table.tpr_interval),
            (table.tnr, table.tnr_interval),
            (table.agreement, table.agreement_interval),
        ):
            assert value is not None
            assert interval is not None
            assert interval[0] < value < interval[1]
    assert few.kappa_interval is not None
    assert many.kappa_interval is not None
    assert many.kappa_interval[1] - many.kappa_interval[0] < few.kappa_interval[1] - few.kappa_interval[0]
    # Cohen (1960): the error of kappa is sqrt(.875 * .125 / 400) / (1 - .5) for the larger table.
    assert many.kappa_interval == pytest.approx((0.75 - 1.96 * 0.0331, 0.75 + 1.96 * 0.0331), abs=0.01)
    assert few.tpr_interval == pytest.approx((0.6536, 0.9502), abs=5e-5)  # Wilson's of 18 of 21


def test_the_same_labels_give_the_same_intervals() -> None:
    assert Confusion(18, 2, 3, 17).ac1_interval == Confusion(18, 2, 3, 17).ac1_interval


def test_a_rate_is_corrected_by_what_is_known_of_the_judges_errors() -> None:
    found = corrected(Confusion(90, 15, 10, 85), 83, 100)

    assert (found.observed, found.clipped) == (0.83, False)
    assert found.rate == pytest.approx(0.907, abs=5e-4)
    assert found.interval is not None
    assert found.interval[0] < 0.83 < found.rate < found.interval[1]


def test_a_rate_outside_of_0_to_1_is_brought_back_and_it_is_said() -> None:
    assert (
        corrected(Confusion(70, 1, 30, 99), 95, 100).rate,
        corrected(Confusion(70, 1, 30, 99), 95, 100).clipped,
    ) == (
        1.0,
        True,
    )
    assert corrected(Confusion(99, 30, 1, 70), 5, 100).rate == 0.0


def test_each_judge_of_each_evaluation_is_calibrated_for_itself() -> None:
    other = opinions(Confusion(1, 0, 0, 2), judge="bob", judge_fingerprint="g", current=False)
    found = calibrations([*opinions(Confusion(90, 15, 10, 85)), *other], [POPULATION])

    assert [(each.judge, each.table.counts, each.current) for each in found] == [
        ("ann", (90, 15, 10, 85), True),
        ("bob", (1, 0, 0, 2), False),
    ]
    assert found[0].corrected is not None
    assert found[0].corrected.rate == pytest.approx(0.907, abs=5e-4)
    assert found[1].uncorrected == "this judge's answers stand nowhere now"


def test_stale_labels_count_for_nothing_but_are_counted() -> None:
    stale = opinions(Confusion(3, 1), stale=True)
    (found,) = calibrations(stale, [POPULATION])

    assert (found.stale, found.table.total, found.corrected) == (4, 0, None)
    assert found.uncorrected == "all labels are stale"
    (mixed,) = calibrations([*stale, *opinions(Confusion(5, 1, 1, 5))], [POPULATION])
    assert (mixed.stale, mixed.table.total, mixed.uncorrected) == (4, 12, None)


def test_a_judge_that_answers_now_and_answered_nothing_that_is_labelled_is_not_calibrated() -> None:
    new = replace(POPULATION, judge="new", judge_fingerprint="n")
    found = calibrations(opinions(Confusion(5, 1, 1, 5), current=False), [new])

    assert [(each.judge, each.uncorrected) for each in found] == [
        ("new", "nothing that it judged is labelled"),
        ("ann", "this judge's answers stand nowhere now"),
    ]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (Confusion(5, 0, 1, 0), "no label says fail"),
        (Confusion(0, 5, 0, 1), "no label says pass"),
        (Confusion(5, 5, 5, 5), "the judge is no better than chance"),
    ],
)
def test_no_rate_is_corrected_by_labels_that_do_not_say_enough(table: Confusion, why: str) -> None:
    (found,) = calibrations(opinions(table), [POPULATION])

    assert (found.uncorrected, found.corrected) == (why, None)


def test_what_people_and_judges_leave_open_is_counted_apart() -> None:
    def said(trace: str, *words: str, status: str = "passed") -> list[Opinion]:
        return [
            replace(OPINION, trace=trace, who=f"p{nth}", human=word, status=status)
            for nth, word in enumerate(words)
        ]

    (found,) = calibrations(
        [
            *said("a", "pass", "pass", "fail"),
            *said("b", "pass", "fail"),
            *said("c", "unsure"),
            *said("d", "pass", status="error"),
            *said("e", "unsure", "fail"),
        ]
    )

    assert found.table == Confusion(passed=1, waved_through=1)
    assert (found.split, found.unsure, found.undecided) == (1, 1, 1)
    assert consensus(["unsure", "unsure"]) == "unsure"


def test_the_worst_disagreements_come_first_with_both_reasons() -> None:
    def differs(trace: str, human: str, status: str, score: float | None) -> Opinion:
        return replace(OPINION, trace=trace, human=human, status=status, score=score, note=f"note {trace}")

    (found,) = calibrations(
        [
            differs("near", "fail", "passed", 0.6),
            differs("far", "pass", "failed", 0.0),
            differs("none", "pass", "failed", None),
            OPINION,
        ]
    )

    assert [(each.place.trace, each.human, each.notes, each.reason) for each in found.worst] == [
        ("far", "pass", ("note far",), "kind"),
        ("near", "fail", ("note near",), "kind"),
        ("none", "pass", ("note none",), "kind"),
    ]


def test_labels_that_are_no_sample_of_the_whole_are_told() -> None:
    (alike,) = calibrations(opinions(Confusion(40, 3, 2, 5)), [POPULATION])
    (unlike,) = calibrations(opinions(Confusion(20, 5, 5, 20)), [POPULATION])

    assert (alike.unlike, unlike.unlike) == (False, True)


def test_a_statistic_that_few_draws_define_has_no_interval() -> None:
    assert Confusion(1, 0, 0, 1).kappa == 1
    assert Confusion(1, 0, 0, 1).kappa_interval is None
    assert corrected(Confusion(1, 0, 0, 1), 5, 10).interval is None


def test_what_stands_nowhere_is_not_unlike_what_is_labelled() -> None:
    labelled = opinions(Confusion(20, 0, 0, 20))
    (alone,) = calibrations(labelled)
    (undecided,) = calibrations(labelled, [replace(POPULATION, passed=0, decided=0)])
    (unlike,) = calibrations(labelled, [POPULATION])
    assert [each.unlike for each in (alone, undecided, unlike)] == [False, False, True]
