"""What holds of any two gradings: of one with itself, the other way round, and of their pairs."""

from collections import Counter
from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.comparison import Direction, compare
from abs_replay.comparison.flips import SEVERAL
from abs_replay.comparison.pairing import KEYS, Check, evaluations_of, paired
from abs_replay.reports import flips
from abs_replay.verdicts import Run, Status
from tests.comparison.made import F, P, grading, run, verdict

STATUSES = st.sampled_from([status for status in Status if status is not Status.PENDING])


@st.composite
def runs(draw: st.DrawFn) -> tuple[Run, ...]:
    """Runs of up to five traces, some of them graded twice, with up to four rules of few fingerprints."""
    made = []
    for trace in draw(st.lists(st.sampled_from("abcde"), max_size=6)):
        rules = draw(
            st.lists(st.tuples(STATUSES, st.sampled_from(["q.d.1", "q.e.1", "r.d.1", ""])), max_size=4)
        )
        verdicts = [
            verdict(
                status,
                fingerprint=fingerprint,
                judge=draw(st.sampled_from([None, "j", "k"])),
                at=f"at[{nth}]",
            )
            for nth, (status, fingerprint) in enumerate(rules)
        ]
        made.append(run(*verdicts, trace=trace, digest=draw(st.sampled_from(["", "d", "e"]))))
    return tuple(made)


SIDES = {
    Direction.REGRESSION: Direction.IMPROVEMENT,
    Direction.IMPROVEMENT: Direction.REGRESSION,
    Direction.CHANGE: Direction.CHANGE,
}


@settings(max_examples=25)
@given(runs())
def test_a_grading_flips_nothing_against_itself(one: tuple[Run, ...]) -> None:
    found = compare(grading("a", *one), grading("a", *one))
    assert (found.all_flips, found.only_before, found.only_after) == ((), (), ())
    assert all(tally.worse == tally.better == 0 for tally in found.tallies)
    assert (found.sessions.mean or 0) == 0
    assert found.rate_before == found.rate_after


@settings(max_examples=25)
@given(runs(), runs())
def test_the_other_way_round_every_flip_goes_the_other_way_by_the_same_causes(
    one: tuple[Run, ...], other: tuple[Run, ...]
) -> None:
    there, back = (compare(grading("a", *a), grading("b", *b)) for a, b in ((one, other), (other, one)))
    assert Counter((flip.before.status, flip.after.status, flip.causes) for flip in there.flips) == Counter(
        (flip.after.status, flip.before.status, flip.causes) for flip in back.flips
    )
    assert Counter(SIDES[flip.direction] for flip in there.flips) == Counter(
        flip.direction for flip in back.flips
    )
    assert (there.same, len(there.only_before), len(there.only_after)) == (
        back.same,
        len(back.only_after),
        len(back.only_before),
    )
    assert (there.sessions.mean is None) == (not there.sessions.sizes)


@settings(max_examples=25)
@given(runs(), runs())
def test_every_evaluation_of_either_side_is_in_exactly_one_pair(
    one: tuple[Run, ...], other: tuple[Run, ...]
) -> None:
    before = [check for each in one for check in evaluations_of(each)]
    after = [check for each in other for check in evaluations_of(each)]
    pairs = paired(before, after, KEYS)
    assert _ids(old for old, _ in pairs) == sorted(map(id, before))
    assert _ids(new for _, new in pairs) == sorted(map(id, after))
    found = compare(grading("a", *one), grading("b", *other))
    in_both = found.same + len(found.flips) + len(found.undecided)
    assert 2 * in_both + len(found.only_before) + len(found.only_after) == len(before) + len(after)


def _ids(checks: Iterable[Check | None]) -> list[int]:
    return sorted(id(check) for check in checks if check is not None)


@settings(max_examples=25)
@given(runs(), runs())
def test_every_pair_counts_in_one_of_both_denominators(one: tuple[Run, ...], other: tuple[Run, ...]) -> None:
    found = compare(grading("a", *one), grading("b", *other))
    for tally in found.tallies:
        assert tally.worse + tally.better <= tally.pairs
    assert sum(tally.worse for tally in found.tallies) == sum(
        flip.direction is Direction.REGRESSION for flip in found.flips
    )
    assert found.rate_before.total == len(one)
    assert found.rate_before.passed <= found.rate_before.decided <= found.rate_before.total


def test_of_several_traces_of_one_name_those_of_the_same_content_belong_together() -> None:
    kept, edited = run(verdict(P), digest="kept"), run(verdict(F), digest="edited")
    for after in ((edited, kept), (kept, edited)):
        found = compare(grading("a", kept), grading("b", *after))
        assert (found.flips, found.same) == ((), 1)
        (alone,) = found.one_sided
        assert (alone.after and alone.after.run, alone.why) == (edited, SEVERAL)


def test_where_none_is_the_same_it_is_not_guessed_which_belongs_to_which() -> None:
    one, two, three = (run(verdict(P), digest=digest) for digest in ("1", "2", "3"))
    found = compare(grading("a", one), grading("b", two, three))
    assert (found.same, [pair.why for pair in found.one_sided]) == (0, [SEVERAL] * 3)
    # As many as before belong together in their order, as when traces are derived anew.
    again = compare(grading("a", one, two), grading("b", three, run(verdict(P), digest="4")))
    assert (again.same, again.one_sided) == (2, ())


def test_gradings_that_do_not_know_their_content_pair_traces_of_one_name_by_number_alone() -> None:
    one = run(verdict(P))
    assert compare(grading("a", one, one), grading("b", one, one)).same == 2
    assert [pair.why for pair in compare(grading("a", one), grading("b", one, one)).one_sided] == [
        SEVERAL
    ] * 3


def test_a_report_says_that_several_traces_have_one_name() -> None:
    found = compare(
        grading("a", run(verdict(P), digest="1")), grading("b", *[run(verdict(P), digest="2")] * 2)
    )
    assert ": 2 pass (several traces of this name)" in flips.render(found)
