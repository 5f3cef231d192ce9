"""What two gradings of the same traces say beyond these traces: tests and intervals, all of them SciPy's.

SciPy takes a second or two to load, and is loaded by what is asked of it only: where nothing is tested and no
interval is shown, not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

FEWEST_TO_TEST = 5  # with fewer one-way flips, mid-p can not come below 0.05
SEED = 20_260_822  # the same gradings give the same interval
RESAMPLES = 9999
DRAWS = 10_000_000  # of a bootstrap in all, so that ten thousand units take a tenth of a second
DRAWS_AT_ONCE = 1_000_000  # which bounds its memory

type Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sample:
    """One quantity by independent units: in each the sum of its values, and how many they were."""

    sums: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    unit: str = "trace"

    @property
    def count(self) -> int:
        return sum(self.sizes)

    @property
    def mean(self) -> float | None:
        """The mean of all values; None where there is none."""
        return sum(self.sums) / self.count if self.count else None

    @property
    def repeated(self) -> bool:
        """Whether some unit has several values, which are not independent of each other."""
        return any(size > 1 for size in self.sizes)

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the mean, units resampled whole; None for less than two units."""
        return bootstrapped(self.sums, self.sizes) if len(self.sizes) > 1 else None


def mcnemar_mid_p(worse: int, better: int) -> float:
    """McNemar's mid-p, two-sided (Fagerland, Lydersen, Laake 2013, doi:10.1186/1471-2288-13-91)."""
    from scipy.stats import binom  # type: ignore[import-untyped]

    if worse == better:
        return 1.0
    fewer, flips = min(worse, better), worse + better
    return float(2 * binom.cdf(fewer, flips, 0.5) - binom.pmf(fewer, flips, 0.5))


def wilson(passed: int, total: int) -> Interval:
    """Wilson's 95 % interval of a rate; all of 0 to 1 where there is nothing."""
    if total == 0:
        return 0.0, 1.0
    from scipy.stats import binomtest

    found = binomtest(passed, total).proportion_ci(0.95, method="wilson")
    return float(found.low), float(found.high)


def bootstrapped(sums: Sequence[float], sizes: Sequence[int]) -> Interval:
    """The 95 % percentile interval of `sum(sums) / sum(sizes)`, pairs resampled together."""
    import numpy
    from scipy.stats import bootstrap

    def ratio(sums: Any, sizes: Any, axis: int) -> Any:
        return sums.sum(axis=axis) / sizes.sum(axis=axis)

    units = len(sizes)
    found = bootstrap(
        (numpy.asarray(sums, float), numpy.asarray(sizes, float)),
        ratio,
        paired=True,
        vectorized=True,
        n_resamples=max(min(RESAMPLES, DRAWS // units), RESAMPLES // 10),
        batch=max(DRAWS_AT_ONCE // units, 1),
        method="percentile",
        rng=numpy.random.default_rng(SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def rate_interval(sample: Sample) -> Interval:
    """The 95 % interval of a rate of passed ones: Wilson's, or units resampled whole where they are repeated.

    Where every unit came to the same, resampling shows no spread at all: Wilson's over the units then.
    """
    if not sample.repeated:
        return wilson(round(sum(sample.sums)), sample.count)
    rates = {total / size for total, size in zip(sample.sums, sample.sizes, strict=True)}
    if len(rates) > 1:
        return bootstrapped(sample.sums, sample.sizes)
    return wilson(int(rates.pop() * len(sample.sizes)), len(sample.sizes))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Adjust p-values of tests that are read together (Holm 1979), in their order."""
    adjusted, highest = [0.0] * len(p_values), 0.0
    by_size = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(by_size):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = highest
    return tuple(adjusted)
