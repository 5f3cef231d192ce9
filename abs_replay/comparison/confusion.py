"""A judge's verdicts in a table with people's: how far they agree, beyond chance too, and what follows.

kappa is Cohen's (1960), AC1 Gwet's (2008): kappa alone misleads where nearly everything passes. Both are
one line of arithmetic over four counts; statsmodels and scikit-learn have the first, not the second, and
bring pandas along. Intervals of rates are Wilson's, those of kappa, AC1 and the corrected rate bootstrapped:
to draw the pairs of a 2x2 table again is to draw its four counts from a multinomial distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from abs_replay.comparison.statistics import RESAMPLES, SEED, Interval, wilson

USABLE = 0.95  # of the draws a statistic has to be defined in for an interval to mean something


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of what both said: `missed` passed for people alone, `waved_through` for the judge alone."""

    passed: int = 0
    waved_through: int = 0
    missed: int = 0
    failed: int = 0

    @property
    def counts(self) -> tuple[int, int, int, int]:
        return self.passed, self.waved_through, self.missed, self.failed

    @property
    def total(self) -> int:
        return sum(self.counts)

    @property
    def agreement(self) -> float | None:
        return (self.passed + self.failed) / self.total if self.total else None

    @property
    def prevalence(self) -> float | None:
        """How much of it passes, for people."""
        return (self.passed + self.missed) / self.total if self.total else None

    @property
    def judge_rate(self) -> float | None:
        """And how much for the judge."""
        return (self.passed + self.waved_through) / self.total if self.total else None

    @property
    def kappa(self) -> float | None:
        return _only(_kappa, self)

    @property
    def ac1(self) -> float | None:
        return _only(_ac1, self)

    @property
    def tpr(self) -> float | None:
        """How much of what passes for people the judge passes."""
        positives = self.passed + self.missed
        return self.passed / positives if positives else None

    @property
    def tnr(self) -> float | None:
        """How much of what fails for people the judge fails."""
        negatives = self.waved_through + self.failed
        return self.failed / negatives if negatives else None

    @property
    def tpr_interval(self) -> Interval:
        return wilson(self.passed, self.passed + self.missed)

    @property
    def tnr_interval(self) -> Interval:
        return wilson(self.failed, self.waved_through + self.failed)

    @property
    def agreement_interval(self) -> Interval:
        return wilson(self.passed + self.failed, self.total)

    @property
    def kappa_interval(self) -> Interval | None:
        return _interval(_kappa, self)

    @property
    def ac1_interval(self) -> Interval | None:
        return _interval(_ac1, self)


@dataclass(frozen=True, slots=True)
class Corrected:
    """A pass rate with what is known of the judge's errors taken out (Rogan and Gladen 1978).

    `clipped` is whether it had to be brought back to 0 to 1; the interval has the uncertainty of the labels
    and of the verdicts.
    """

    observed: float
    rate: float
    interval: Interval | None
    clipped: bool


def corrected(table: Confusion, passed: int, decided: int) -> Corrected:
    """The pass rate (p + TNR - 1) / (TPR + TNR - 1); needs labels of both kinds, and a judge above chance."""
    import numpy

    (raw,) = _rogan_gladen(_as_draws(table.counts), numpy.asarray([passed / decided]))
    rate = min(max(float(raw), 0.0), 1.0)
    random = numpy.random.default_rng(SEED)
    draws = _drawn(table, random)
    rates = random.binomial(decided, passed / decided, RESAMPLES) / decided
    return Corrected(
        passed / decided,
        rate,
        _percentiles(numpy.clip(_rogan_gladen(draws, rates), 0, 1)),
        rate != float(raw),
    )


# -- over many tables at once: a column each of passed, waved_through, missed, failed; NaN is undefined --


def _kappa(draws: Any) -> Any:
    passed, waved, missed, failed = draws
    total = draws.sum(axis=0)
    human, judge = (passed + missed) / total, (passed + waved) / total
    chance = human * judge + (1 - human) * (1 - judge)
    return _beyond((passed + failed) / total, chance)


def _ac1(draws: Any) -> Any:
    passed, waved, missed, failed = draws
    total = draws.sum(axis=0)
    share = (2 * passed + waved + missed) / (2 * total)
    return _beyond((passed + failed) / total, 2 * share * (1 - share))


def _beyond(agreement: Any, chance: Any) -> Any:
    import numpy

    room = 1 - chance
    return numpy.divide(agreement - chance, room, out=numpy.full(room.shape, numpy.nan), where=room > 1e-12)


def _rogan_gladen(draws: Any, rates: Any) -> Any:
    import numpy

    passed, waved, missed, failed = draws
    nothing = numpy.full(passed.shape, numpy.nan)
    tpr = numpy.divide(passed, passed + missed, out=nothing.copy(), where=passed + missed > 0)
    tnr = numpy.divide(failed, waved + failed, out=nothing.copy(), where=waved + failed > 0)
    better = tpr + tnr - 1
    return numpy.divide(rates + tnr - 1, better, out=nothing.copy(), where=better > 0)


def _as_draws(counts: Sequence[int]) -> Any:
    import numpy

    return numpy.asarray(counts, float).reshape(4, 1)


def _drawn(table: Confusion, random: Any) -> Any:
    import numpy

    shares = numpy.asarray(table.counts, float) / table.total
    return random.multinomial(table.total, shares, RESAMPLES).T.astype(float)


def _only(statistic: Callable[[Any], Any], table: Confusion) -> float | None:
    if not table.total:
        return None
    (found,) = statistic(_as_draws(table.counts))
    return None if found != found else float(found)  # NaN alone differs from itself


def _interval(statistic: Callable[[Any], Any], table: Confusion) -> Interval | None:
    """The 95 % percentile interval; None where the statistic is undefined in too many draws, or the same in
    nearly all: labels that are all alike show no spread, however few they are."""
    import numpy

    if not table.total:
        return None
    found = _percentiles(statistic(_drawn(table, numpy.random.default_rng(SEED))))
    return None if found is None or found[0] == found[1] else found


def _percentiles(values: Any) -> Interval | None:
    import numpy

    usable = values[~numpy.isnan(values)]
    if len(usable) < USABLE * len(values):
        return None
    low, high = numpy.percentile(usable, (2.5, 97.5))
    return float(low), float(high)
