"""Trials: several traces of one scenario in one grading, and how reliably they pass.

Traces are trials of one scenario where the session was played with one row, and else where the user says the
same in all of them, as far as each goes: one that ended early is a trial, too. A session over what anybody
said is no scenario, and how often all of those pass is no reliability.

pass@k (Chen et al. 2021, arXiv:2107.03374) is the chance that one of k trials passes, pass^k (tau-bench,
arXiv:2406.12045) that all k do. Both are undefined where a scenario has fewer than k trials. A trial that
came to no verdict is left out, or taken for failed: the two conventions in use, told side by side.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import comb, prod

from abs_replay.comparison.scenarios import Scenario, scenario_of, was_played
from abs_replay.comparison.statistics import Interval, Sample, bootstrapped, rate_interval
from abs_replay.verdicts import Result, Run, Status

USUAL = (1, 2, 4, 8, 16)
DECIDED = (Status.PASSED, Status.FAILED)


class Errors(StrEnum):
    """What becomes of trials that could not be decided."""

    EXCLUDED = "excluded"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Trials:
    """The trials of one scenario. `wavering` has place and name of evaluations that passed in some of them
    and failed in others."""

    scenario: Scenario
    traces: tuple[str, ...]
    passed: int
    failed: int
    wavering: tuple[tuple[str, str], ...] = ()

    @property
    def undecided(self) -> int:
        return len(self.traces) - self.passed - self.failed

    @property
    def flaky(self) -> bool:
        return self.passed > 0 and self.failed > 0

    def counted(self, errors: Errors) -> int:
        """How many trials count."""
        return len(self.traces) - (self.undecided if errors is Errors.EXCLUDED else 0)


@dataclass(frozen=True)  # without slots, since an interval takes long and is kept
class AtK:
    """One measure over the scenarios that have at least k trials, each its own value in `values`."""

    k: int
    values: tuple[float, ...]

    @property
    def mean(self) -> float | None:
        return sum(self.values) / len(self.values) if self.values else None

    @cached_property
    def interval(self) -> Interval | None:
        """The 95 % interval of the mean, scenarios resampled; None for less than two."""
        return bootstrapped(self.values, [1] * len(self.values)) if len(self.values) > 1 else None


@dataclass(frozen=True)
class Measured:
    """All trials by one convention: the pass rate, and both measures at each k."""

    errors: Errors
    passed: int
    counted: int
    sample: Sample
    pass_at: tuple[AtK, ...]
    pass_all: tuple[AtK, ...]

    @cached_property
    def interval(self) -> Interval:
        """The 95 % interval of the pass rate."""
        return rate_interval(self.sample)


def trials_of(runs: Iterable[Run], whatever_is_said: bool = False) -> tuple[Trials, ...]:
    """Put the runs of each scenario together, in the order in which they come; one run alone is a trial.

    With `whatever_is_said` all traces of a session and row are taken for trials.
    """
    kept = tuple(runs)
    whole = {} if whatever_is_said else _whole(kept)
    groups: defaultdict[Scenario, list[Run]] = defaultdict(list)
    for run in kept:
        scenario = replace(scenario_of(run), user=None)
        if not (whatever_is_said or was_played(run)):
            scenario = replace(scenario, user=whole[run.said[-1]] if run.said else f"of {run.trace}")
        groups[scenario].append(run)
    return tuple(_trials(scenario, found) for scenario, found in groups.items())


def _whole(runs: Sequence[Run]) -> dict[str, str]:
    """By what is said until a turn, all that is said there in the end; itself where several go on from it."""
    begun = {name for run in runs for name in run.said[:-1]}
    ends: defaultdict[str, set[str]] = defaultdict(set)
    for said in {run.said for run in runs if run.said and run.said[-1] not in begun}:
        for name in said:
            ends[name].add(said[-1])
    return {name: min(found) if len(found) == 1 else name for name, found in ends.items()}


def kept_apart(trials: Iterable[Trials]) -> dict[Scenario, int]:
    """The sessions (and rows) of which several scenarios are there, since their users say different things:
    each with the number of its traces."""
    groups: defaultdict[Scenario, list[Trials]] = defaultdict(list)
    for each in trials:
        groups[replace(each.scenario, user=None)].append(each)
    return {one: sum(len(each.traces) for each in of) for one, of in groups.items() if len(of) > 1}


def _trials(scenario: Scenario, runs: Sequence[Run]) -> Trials:
    results = [run.result for run in runs]
    traces = tuple(run.trace for run in runs)
    wavering = _wavering(runs) if len(runs) > 1 else ()
    return Trials(scenario, traces, results.count(Result.PASSED), results.count(Result.FAILED), wavering)


def _wavering(runs: Sequence[Run]) -> tuple[tuple[str, str], ...]:
    seen: defaultdict[tuple[str, str], set[Status]] = defaultdict(set)
    for run in runs:
        for verdict in run.verdicts:
            seen[verdict.at, verdict.label or verdict.type].add(verdict.status)
    return tuple(place for place, statuses in seen.items() if statuses.issuperset(DECIDED))


def are_trials(trials: Sequence[Trials]) -> bool:
    """Whether any scenario was tried more than once."""
    return any(len(each.traces) > 1 for each in trials)


def usual_ks(trials: Sequence[Trials]) -> tuple[int, ...]:
    """1, 2, 4, 8 and 16, as far as some scenario has so many trials."""
    most = max((len(each.traces) for each in trials), default=0)
    return tuple(k for k in USUAL if k <= most)


def measured(trials: Sequence[Trials], ks: Sequence[int], errors: Errors) -> Measured:
    """Measure trials by one convention."""
    kept = [each for each in trials if each.counted(errors)]
    sums, sizes = tuple(each.passed for each in kept), tuple(each.counted(errors) for each in kept)
    several = len(kept) > 1
    alone = (1,) * sum(sums) + (0,) * (sum(sizes) - sum(sums))
    sample = Sample(sums, sizes, "scenario") if several else Sample(alone, (1,) * len(alone))
    return Measured(
        errors,
        sum(sums),
        sum(sizes),
        sample,
        tuple(_at(k, kept, errors, pass_at) for k in ks),
        tuple(_at(k, kept, errors, pass_all) for k in ks),
    )


type Estimator = Callable[[int, int, int], float]


def _at(k: int, trials: Sequence[Trials], errors: Errors, estimate: Estimator) -> AtK:
    counted = [(each.counted(errors), each.passed) for each in trials]
    return AtK(k, tuple(estimate(trial, passed, k) for trial, passed in counted if trial >= k))


def pass_at(trials: int, passed: int, k: int) -> float:
    """The chance that one of k trials passes, without bias: 1 - C(n-c, k) / C(n, k)."""
    failed = trials - passed
    if failed < k:
        return 1.0
    return 1.0 - prod((failed - nth) / (trials - nth) for nth in range(k))


def pass_all(trials: int, passed: int, k: int) -> float:
    """The chance that all of k trials pass, without bias: C(c, k) / C(n, k)."""
    return comb(passed, k) / comb(trials, k)
