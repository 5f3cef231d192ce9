"""Two gradings, verdict by verdict: what flipped, which way, and why where that can be told.

A verdict is carried over where fingerprint, status and score are the same; that of a
deterministic rule was computed anew all the same.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from abs_replay.comparison.pairing import (
    KEYS,
    MATCH_KEYS,
    Check,
    evaluations_of,
    matches_of,
    paired,
    paired_runs,
)
from abs_replay.comparison.results import not_passed
from abs_replay.comparison.statistics import Rate, Tally
from abs_replay.verdicts import Grading, Run, Status, Verdict


class Direction(StrEnum):
    """Which way a check went. Neither is, for instance, failed to error, or passed to skipped."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    CHANGE = "change"


class Cause(StrEnum):
    """Why a verdict flipped, as far as two gradings can tell."""

    RULE = "the rule was edited"
    JUDGE = "another judge answered"
    ANSWER = "the same judge answered otherwise"
    STEPS = "it looked at other steps"
    OTHER = "same rule, same steps: the trace, or what the rule depends on, changed"


@dataclass(frozen=True, slots=True)
class Flip:
    """One check that came out otherwise; the place is the later one."""

    before: Check
    after: Check

    @property
    def direction(self) -> Direction:
        return direction(self.before.status, self.after.status)

    @property
    def cause(self) -> Cause | None:
        return _cause(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two gradings have in common and what not. `same` counts evaluations whose status did
    not change, `carried` those of them that are carried over. `matches` are flips of behaviors'
    match checks, `results` those of whole runs. `anew` are the evaluations that came out the same
    and are not carried over, `renamed` the sessions by their names before and after."""

    before: str
    after: str
    flips: tuple[Flip, ...]
    matches: tuple[Flip, ...]
    results: tuple[Flip, ...]
    same: int
    carried: int
    only_before: tuple[Check, ...]
    only_after: tuple[Check, ...]
    tallies: tuple[Tally, ...]
    rate_before: Rate
    rate_after: Rate
    anew: tuple[Flip, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def all_flips(self) -> tuple[Flip, ...]:
        return self.results + self.matches + self.flips

    @property
    def regressions(self) -> tuple[Flip, ...]:
        return tuple(flip for flip in self.all_flips if flip.direction is Direction.REGRESSION)


def compare(before: Grading, after: Grading) -> Comparison:
    """Compare two gradings, in time linear in their verdicts."""
    runs = paired_runs(before.report.runs, after.report.runs)
    evaluations = [
        pair for old, new in runs for pair in paired(evaluations_of(old), evaluations_of(new), KEYS)
    ]
    matches = [
        pair
        for old, new in runs
        if old and new
        for pair in paired(matches_of(old), matches_of(new), MATCH_KEYS)
    ]
    both = [(old, new) for old, new in evaluations if old and new]
    flips = _flips(both)
    names = ((old.session, new.session) for old, new in runs if old and new)
    return Comparison(
        before=before.id,
        after=after.id,
        flips=flips,
        matches=_flips((old, new) for old, new in matches if old and new),
        results=_flips((_result(old), _result(new)) for old, new in runs if old and new),
        same=len(both) - len(flips),
        carried=sum(_carried(old, new) for old, new in both),
        only_before=tuple(old for old, new in evaluations if old and not new),
        only_after=tuple(new for old, new in evaluations if new and not old),
        tallies=_tallies(both),
        rate_before=_rate(before.report.runs),
        rate_after=_rate(after.report.runs),
        anew=tuple(
            Flip(old, new) for old, new in both if old.status is new.status and not _carried(old, new)
        ),
        renamed=tuple(dict.fromkeys((old, new) for old, new in names if old != new)),
    )


def _carried(old: Check, new: Check) -> bool:
    return old.verdict is not None and new.verdict is not None and carried_over(old.verdict, new.verdict)


def carried(before: Run, after: Run) -> Iterator[str]:
    """The places in `after` whose verdicts are carried over from `before`."""
    for old, new in paired(evaluations_of(before), evaluations_of(after), KEYS):
        if old and new and _carried(old, new):
            yield new.at


def carried_over(before: Verdict, after: Verdict) -> bool:
    """Whether rule and outcome are the same; a rule without a fingerprint is never known to be."""
    same_rule = bool(after.fingerprint) and before.fingerprint == after.fingerprint
    return same_rule and (before.status, before.score) == (after.status, after.score)


def direction(before: Status, after: Status) -> Direction:
    """Which way a check went; skipped is neither better nor worse."""
    if before is Status.PASSED and after is not Status.SKIPPED:
        return Direction.REGRESSION
    if after is Status.PASSED and before is not Status.SKIPPED:
        return Direction.IMPROVEMENT
    return Direction.CHANGE


def _result(run: Run) -> Check:
    return Check(run.session, run.trace, "", "session", Status(run.result.value), not_passed(run))


def _flips(pairs: Iterable[tuple[Check, Check]]) -> tuple[Flip, ...]:
    return tuple(Flip(old, new) for old, new in pairs if old.status is not new.status)


def _cause(before: Check, after: Check) -> Cause | None:
    if before.verdict is None or after.verdict is None:
        return None
    if before.fingerprint != after.fingerprint:
        return Cause.RULE if before.fingerprint and after.fingerprint else None
    if before.judge and after.judge and before.judge != after.judge:
        return Cause.JUDGE
    if (before.step, before.verdict.evidence) != (after.step, after.verdict.evidence):
        return Cause.STEPS
    return Cause.ANSWER if after.judge else Cause.OTHER


def _tallies(pairs: Iterable[tuple[Check, Check]]) -> tuple[Tally, ...]:
    counts: dict[tuple[str, str, str], Counter[Direction | None]] = defaultdict(Counter)
    shown: dict[tuple[str, str, str], tuple[str, bool]] = {}
    for old, new in pairs:
        key = new.session, new.at, new.type
        label, judged = shown.get(key, ("", False))
        shown[key] = new.label or label, judged or bool(old.judge or new.judge)
        if {old.status, new.status} <= {Status.PASSED, Status.FAILED}:
            counts[key][direction(old.status, new.status) if old.status is not new.status else None] += 1
    return tuple(
        Tally(*key, *shown[key], count.total(), count[Direction.REGRESSION], count[Direction.IMPROVEMENT])
        for key, count in counts.items()
    )


def _rate(runs: Sequence[Run]) -> Rate:
    counts = Counter(run.result.value for run in runs)
    return Rate(counts["passed"], counts["passed"] + counts["failed"], len(runs))
