"""What two gradings of the same traces say beyond these traces: a test, and intervals.

A flip of a deterministic rule is a fact and is not tested.
"""

import math
from dataclasses import dataclass

Z_95 = 1.959963984540054
FEWEST_TO_TEST = 5  # with fewer one-way flips, mid-p can not come below 0.05


@dataclass(frozen=True, slots=True)
class Tally:
    """One rule over all traces: pairs with a real verdict on both sides, and which way they went."""

    session: str
    at: str
    type: str
    label: str
    judged: bool
    pairs: int
    worse: int
    better: int

    @property
    def mid_p(self) -> float | None:
        """McNemar's mid-p; None where a flip is a fact (no judge), or too few flipped to test."""
        enough = self.worse + self.better >= FEWEST_TO_TEST
        return mcnemar_mid_p(self.worse, self.better) if self.judged and enough else None


@dataclass(frozen=True, slots=True)
class Rate:
    """How many runs passed, of those that were decided, of all."""

    passed: int
    decided: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        return wilson(self.passed, self.decided)


def mcnemar_mid_p(worse: int, better: int) -> float:
    """McNemar's mid-p, two-sided (Fagerland, Lydersen, Laake 2013, doi:10.1186/1471-2288-13-91)."""
    flips, fewer = worse + better, min(worse, better)
    up_to = sum(math.comb(flips, k) for k in range(fewer + 1))
    return (2 * up_to - math.comb(flips, fewer)) / (1 << flips)


def wilson(passed: int, total: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a rate (Wilson 1927); all of 0 to 1 where there is nothing."""
    if total == 0:
        return 0.0, 1.0
    rate, spread = passed / total, Z_95**2 / total
    half = Z_95 * math.sqrt(rate * (1 - rate) / total + spread / (4 * total))
    middle = rate + spread / 2
    return max(0.0, (middle - half) / (1 + spread)), min(1.0, (middle + half) / (1 + spread))
