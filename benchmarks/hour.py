"""An hour of a team's traffic, in minutes: does the memory of a recorder stay flat?

A request a second, and streams beside it, are in an hour as many exchanges as 20 a second in three minutes.
What mitmdump alone comes to under the same load stands beside it.
`python -m benchmarks.hour [SECONDS]`
"""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.under_load import Found, passed, recorded, upstream

HOUR, STREAMS = 3600, 20


def grown(memory: Sequence[float]) -> float:
    """MiB by which the last third lies above the second, by medians: checkpoints of the store are peaks."""
    third = len(memory) // 3
    return median(memory[-third:]) - median(memory[third : 2 * third])


def _say(label: str, found: Found) -> None:
    memory = found.steady.memory
    third = len(memory) // 3
    thirds = (median(memory[start : start + third]) for start in (0, third, 2 * third))
    print(
        f"  {label}: medians of the thirds {' '.join(f'{each:.0f}' for each in thirds)} MiB, "
        f"{max(memory):.0f} at most; {3 * grown(memory):+.1f} MiB an hour of such traffic"
    )


def run(seconds: float = 180) -> None:
    rate = HOUR / seconds
    with tempfile.TemporaryDirectory() as name, upstream() as target:
        ours = recorded(target, Path(name), rate, seconds, STREAMS)
        plain = passed(target, Path(name), rate, seconds, STREAMS)
    print(f"{HOUR} exchanges in {seconds:.0f} s beside {STREAMS} streams: {ours.lost} lost (target 0)")
    _say("abs record", ours)
    _say("mitmdump", plain)


if __name__ == "__main__":
    run(float(sys.argv[1]) if sys.argv[1:] else 180)
