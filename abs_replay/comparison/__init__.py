"""Two gradings, verdict by verdict: what flipped, which way, and why where that can be told.

A verdict is carried over where fingerprint, status and score are the same; that of a
deterministic rule was computed anew all the same.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from abs_replay.comparison.causes import Cause, another_judge
from abs_replay.comparison.flips import (
    Direction,
    Flip,
    Incomparable,
    direction,
    flipped,
    resting,
    why_alone,
    why_undecided,
)
from abs_replay.comparison.noise import NO_FLOOR, Floor, floor_of
from abs_replay.comparison.pairing import (
    KEYS,
    MATCH_KEYS,
    Check,
    Pairs,
    evaluations_of,
    matches_of,
    paired,
    paired_runs,
    several,
)
from abs_replay.comparison.results import not_passed
from abs_replay.comparison.scenarios import Value, sampled, scenario_of
from abs_replay.comparison.statistics import Sample
from abs_replay.comparison.tallies import Rate, Tally, rate_of, tallied
from abs_replay.verdicts import Grading, Result, Run, Status, Verdict

__all__ = ["Cause", "Comparison", "Direction", "Flip", "carried", "carried_over", "compare", "direction"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two gradings have in common and what not.

    Every pair of evaluations is in one of three: `flips` (decided both times, and otherwise),
    `incomparable` (not decided on one side, or there on one side only), and the `same` ones, which are
    counted; `carried` are those of them that are carried over, `by_another` those that another judge answered
    alike, `anew` the others. `matches` are flips of
    behaviors' match checks, `results` those of whole runs; `renamed` are sessions by their names before and
    after. `sessions` has how runs went that are in both: 1 better, -1 worse, what passed and is not decided
    any more among the worse. `floor` is how much judges waver though nothing changed.
    """

    before: str
    after: str
    flips: tuple[Flip, ...]
    matches: tuple[Flip, ...]
    results: tuple[Flip, ...]
    incomparable: tuple[Incomparable, ...]
    same: int
    carried: int
    by_another: int
    tallies: tuple[Tally, ...]
    rate_before: Rate
    rate_after: Rate
    sessions: Sample
    anew: tuple[Flip, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    floor: Floor = NO_FLOOR

    @property
    def all_flips(self) -> tuple[Flip, ...]:
        return self.results + self.matches + self.flips

    @property
    def regressions(self) -> tuple[Flip, ...]:
        return tuple(flip for flip in self.all_flips if flip.direction is Direction.REGRESSION)

    @property
    def only_before(self) -> tuple[Check, ...]:
        return tuple(pair.before for pair in self.one_sided if pair.before)

    @property
    def only_after(self) -> tuple[Check, ...]:
        return tuple(pair.after for pair in self.one_sided if pair.after)

    @property
    def one_sided(self) -> tuple[Incomparable, ...]:
        """Those that only one grading has."""
        return tuple(pair for pair in self.incomparable if not (pair.before and pair.after))

    @property
    def undecided(self) -> tuple[Incomparable, ...]:
        """Those that both gradings have, and one did not decide."""
        return tuple(pair for pair in self.incomparable if pair.before and pair.after)


def compare(before: Grading, after: Grading) -> Comparison:
    """Compare two gradings, in time linear in their verdicts."""
    runs = paired_runs(before.report.runs, after.report.runs)
    both = [(old, new) for old, new in runs if old and new]
    evaluations = list(_evaluations(runs))
    names = several(before.report.runs) | several(after.report.runs)
    decided, incomparable = _sorted_out(evaluations, {id(run) for pair in both for run in pair}, names)
    same = [Flip(old, new) for old, new in decided if old.status is new.status]
    anew = tuple(pair for pair in same if not _carried(pair.before, pair.after))
    by_another = sum(_by_another(pair) for pair in same) - sum(_by_another(pair) for pair in anew)
    renamed = dict.fromkeys((old.session, new.session) for old, new in both if old.session != new.session)
    scenarios = {id(new): scenario_of(new) for _, new in both}
    flips, matches = flipped(decided), flipped(_matches(both))
    results = flipped((_result(old), _result(new)) for old, new in both if old.result is not new.result)
    return Comparison(
        before=before.id,
        after=after.id,
        flips=flips,
        matches=matches,
        results=resting(results, flips + matches, incomparable),
        incomparable=incomparable,
        same=len(same),
        carried=len(same) - len(anew) - by_another,
        by_another=by_another,
        tallies=tallied((old, new, scenarios[id(new.run)]) for old, new in evaluations if old and new),
        rate_before=rate_of(before.report.runs),
        rate_after=rate_of(after.report.runs),
        sessions=sampled(_went(both)),
        anew=anew,
        renamed=tuple(renamed),
        floor=floor_of((old, new) for old, new in evaluations if old and new),
    )


def _evaluations(runs: Pairs[Run]) -> Iterator[tuple[Check | None, Check | None]]:
    for old, new in runs:
        yield from paired(evaluations_of(old), evaluations_of(new), KEYS)


def _matches(both: Sequence[tuple[Run, Run]]) -> Iterator[tuple[Check, Check]]:
    for old, new in both:
        for one, other in paired(matches_of(old), matches_of(new), MATCH_KEYS):
            if one and other:
                yield one, other


def _sorted_out(
    pairs: Pairs[Check], beside: Collection[int], names: Collection[tuple[str, str]]
) -> tuple[list[tuple[Check, Check]], tuple[Incomparable, ...]]:
    """Tell pairs that can be compared from those that can not; `beside` are the runs that have one beside
    them, by their `id()`, `names` those that several runs of a grading have."""
    decided, incomparable = [], []
    for old, new in pairs:
        if old is None or new is None:
            for one in filter(None, (old, new)):
                namesakes = (one.session, one.trace) in names
                alone = why_alone(old is not None, id(one.run) in beside, namesakes)
                incomparable.append(Incomparable(old, new, alone))
        elif why := why_undecided(old.status, new.status):
            incomparable.append(Incomparable(old, new, why))
        else:
            decided.append((old, new))
    return decided, tuple(incomparable)


def _carried(old: Check, new: Check) -> bool:
    return old.verdict is not None and new.verdict is not None and carried_over(old.verdict, new.verdict)


def _by_another(pair: Flip) -> bool:
    old, new = pair.before.verdict, pair.after.verdict
    return old is not None and new is not None and another_judge(old, new)


def carried(before: Run, after: Run) -> Iterator[str]:
    """The places in `after` whose verdicts are carried over from `before`."""
    for old, new in paired(evaluations_of(before), evaluations_of(after), KEYS):
        if old and new and _carried(old, new):
            yield new.at


def carried_over(before: Verdict, after: Verdict) -> bool:
    """Whether rule and outcome are the same; a rule without a fingerprint is never known to be."""
    same_rule = bool(after.fingerprint) and before.fingerprint == after.fingerprint
    return same_rule and (before.status, before.score) == (after.status, after.score)


def _result(run: Run) -> Check:
    return Check(run, "", "session", Status(run.result.value), not_passed(run))


def _went(both: Sequence[tuple[Run, Run]]) -> Iterator[Value]:
    """How runs went. An undecided one that did not pass before says nothing."""
    for old, new in both:
        undecided = Result.ERROR in (old.result, new.result)
        if not undecided or old.passed:
            yield Value(scenario_of(new), new.trace, new.passed - old.passed)
