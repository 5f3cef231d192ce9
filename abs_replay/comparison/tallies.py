"""One rule over all traces that both gradings have: which way it went, and whether that says anything.

A flip of a deterministic rule is a fact and is not tested. What a judge decided is: by McNemar's test, unless
some scenario has several traces, and by how much it changed, scenarios resampled whole.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from abs_replay.comparison.flips import DECIDED, Direction, direction
from abs_replay.comparison.noise import Floor, asked_again, beyond, votes_differ
from abs_replay.comparison.pairing import Check
from abs_replay.comparison.scenarios import Scenario, Value, sampled, scenario_of
from abs_replay.comparison.statistics import (
    FEWEST_TO_TEST,
    Interval,
    Sample,
    holm,
    mcnemar_mid_p,
    rate_interval,
)
from abs_replay.verdicts import Result, Run, Status

type Place = tuple[str, str, str]  # session, at, type: of the later grading


@dataclass(frozen=True)  # without slots, since what takes long to work out is kept
class Tally:
    """One rule: pairs with a real verdict on both sides, and which way they went. `undecided` are the pairs
    that have none on one. `changes` and `scores` are of judged rules alone."""

    session: str
    at: str
    type: str
    label: str
    judged: bool
    pairs: int
    worse: int
    better: int
    undecided: int = 0
    changes: Sample = field(default_factory=Sample)  # -1, 0 or 1 a pair
    scores: Sample = field(default_factory=Sample)  # of how much the score rose
    noise: float | None = None  # how often two votes on one question differ, where there were several
    again: int = 0  # pairs in which the same judge was asked the same again: their flips are noise themselves

    @property
    def place(self) -> Place:
        return self.session, self.at, self.type

    @property
    def enough(self) -> bool:
        """Whether so many flipped that a test could find anything."""
        return self.judged and self.worse + self.better >= FEWEST_TO_TEST

    @cached_property
    def mid_p(self) -> float | None:
        """McNemar's mid-p; None where a flip is a fact (no judge), too few flipped, or trials repeat."""
        if not self.enough or self.changes.repeated:
            return None
        return mcnemar_mid_p(self.worse, self.better)

    @property
    def effect(self) -> float:
        """How much the share of passed ones rose, of those decided both times."""
        return (self.better - self.worse) / self.pairs if self.pairs else 0.0

    @cached_property
    def interval(self) -> Interval | None:
        """The 95 % interval of the effect; None where there is too little to tell."""
        return self.changes.interval if self.enough else None

    @cached_property
    def score_interval(self) -> Interval | None:
        """The 95 % interval of the mean difference of scores; None where none changed."""
        return self.scores.interval if any(self.scores.sums) else None


@dataclass(frozen=True)
class Rate:
    """How many runs passed, of those that were decided, of all; and both by independent units."""

    passed: int
    decided: int
    total: int
    of_decided: Sample = field(default_factory=Sample)
    of_all: Sample = field(default_factory=Sample)

    @cached_property
    def interval(self) -> Interval:
        """The 95 % interval of the rate among decided runs."""
        return rate_interval(self.of_decided)

    @cached_property
    def of_all_interval(self) -> Interval:
        """That of the rate among all runs; an undecided one has not passed."""
        return rate_interval(self.of_all)


def rate_of(runs: Iterable[Run]) -> Rate:
    """Count runs that passed."""
    values = [(run, Value(scenario_of(run), run.trace, run.passed)) for run in runs]
    decided = [value for run, value in values if run.result is not Result.ERROR]
    everything = sampled(value for _, value in values)
    passed = sum(run.passed for run, _ in values)
    return Rate(passed, len(decided), len(values), sampled(decided), everything)


@dataclass(slots=True)
class _Rule:
    """What is counted of one rule while pairs come by."""

    label: str = ""
    judged: bool = False
    pairs: int = 0
    worse: int = 0
    better: int = 0
    undecided: int = 0
    changes: list[Value] = field(default_factory=list)
    scores: list[Value] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)
    again: int = 0

    def add(self, old: Check, new: Check, scenario: Scenario) -> None:
        self.label = new.label or self.label
        self.judged = self.judged or old.judged or new.judged
        if old.status not in DECIDED or new.status not in DECIDED:
            self.undecided += not old.status is new.status is Status.SKIPPED
            return
        went = direction(old.status, new.status) if old.status is not new.status else None
        self.noise += [differ for check in (old, new) if (differ := votes_differ(check.verdict)) is not None]
        self.pairs += 1
        self.again += asked_again(old, new)
        self.worse += went is Direction.REGRESSION
        self.better += went is Direction.IMPROVEMENT
        if self.judged:
            step = {Direction.REGRESSION: -1, Direction.IMPROVEMENT: 1}.get(went, 0) if went else 0
            self.changes.append(Value(scenario, new.trace, step))
            if old.verdict and new.verdict and None not in (scores := (old.verdict.score, new.verdict.score)):
                self.scores.append(Value(scenario, new.trace, (scores[1] or 0) - (scores[0] or 0)))


def tallied(pairs: Iterable[tuple[Check, Check, Scenario]]) -> tuple[Tally, ...]:
    """Count pairs by their rules; a rule that nothing decided on both sides has no tally."""
    rules: defaultdict[Place, _Rule] = defaultdict(_Rule)
    for old, new, scenario in pairs:
        rules[new.session, new.at, new.type].add(old, new, scenario)
    return tuple(_tally(place, rule) for place, rule in rules.items() if rule.pairs)


def _tally(place: Place, rule: _Rule) -> Tally:
    counts = (rule.pairs, rule.worse, rule.better, rule.undecided)
    noise = sum(rule.noise) / len(rule.noise) if rule.noise else None
    samples = sampled(rule.changes), sampled(rule.scores)
    return Tally(*place, rule.label, rule.judged, *counts, *samples, noise, rule.again)


def beyond_noise(tally: Tally, floor: Floor) -> float | None:
    """Whether a judged rule flipped more often than the floor, as a p-value.

    None where there is nothing to test: flips of a rule that was asked the same again are the floor, and
    those of trials are not independent.
    """
    if not tally.judged or tally.again or tally.changes.repeated:
        return None
    return beyond(tally.worse + tally.better, tally.pairs, floor)


def adjusted(tallies: Sequence[Tally]) -> dict[Place, float]:
    """The p-values of all tested rules, adjusted for their number."""
    tested = [(tally.place, tally.mid_p) for tally in tallies if tally.mid_p is not None]
    return dict(zip((place for place, _ in tested), holm([p for _, p in tested]), strict=True))
