"""`abs --help` against `python -c "import click"`: whole processes, in turn. Target: at most 1.5 times."""

import subprocess
import sys
import time
from statistics import median

from benchmarks.processes import BIN


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - started


def run() -> None:
    ours, peer = [str(BIN / "abs"), "--help"], [sys.executable, "-c", "import click"]
    rounds = [(seconds(ours), seconds(peer)) for _ in range(25)][2:]
    ratio = median(mine / other for mine, other in rounds)
    of_ours, of_peer = (median(column) * 1000 for column in zip(*rounds, strict=True))
    print(
        f"abs --help {of_ours:.0f} ms, import click {of_peer:.0f} ms: {ratio:.2f} times (target at most 1.5)"
    )
