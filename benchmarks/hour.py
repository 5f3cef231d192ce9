"""An hour of a team's traffic, in minutes: does the memory of a recorder stay flat?

A request a second and streams beside it for an hour are as many exchanges as 30 a second for two minutes. The
slope is that of the last two thirds; what mitmdump alone comes to under the same load stands beside it.
`python -m benchmarks.hour [SECONDS]`
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression

from benchmarks.under_load import Found, passed, recorded, upstream

HOUR, STREAMS = 3600, 20


def slope(memory: Sequence[float]) -> float:
    """MiB a sample, of the last two thirds of the samples."""
    rest = memory[len(memory) // 3 :]
    return linear_regression(range(len(rest)), rest).slope


def _say(label: str, found: Found, seconds: float) -> None:
    memory = found.steady.memory
    grown = slope(memory) * seconds
    print(
        f"  {label}: {memory[0]:.0f} MiB at first, {memory[len(memory) // 3]:.0f} after a third, "
        f"{memory[-1]:.0f} at last, {max(memory):.0f} at most; slope {grown:+.1f} MiB an hour of such traffic"
    )


def run(seconds: float = 120) -> None:
    rate = HOUR / seconds
    with tempfile.TemporaryDirectory() as name, upstream() as target:
        ours = recorded(target, Path(name), rate, seconds, STREAMS)
        plain = passed(target, Path(name), rate, seconds, STREAMS)
    print(f"{HOUR} exchanges in {seconds:.0f} s beside {STREAMS} streams: {ours.lost} lost (target 0)")
    _say("abs record", ours, seconds)
    _say("mitmdump", plain, seconds)


if __name__ == "__main__":
    run(float(sys.argv[1]) if sys.argv[1:] else 120)
