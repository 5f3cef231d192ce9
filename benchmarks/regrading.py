"""Grading stored traces again: against only reading them, against `inspect score`, and with a slow judge.

Ours reads every trace from the store, runs ten evaluations, tells what is carried over from the grading
before, and writes all verdicts. Inspect AI scores a log of single answers with one scorer, so the comparison
is in its favour. Net figures leave out what one sample takes. CPU seconds; the judge by the clock.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from math import ceil
from pathlib import Path
from statistics import median

from abs_replay.exchange import Recording
from abs_replay.store import Store, Whole
from abs_replay.trace import Step, Trace
from benchmarks.evaluating import CHAIN_RULES, STEP_RULES, observed
from benchmarks.grading import SAMPLES, cpu_of, inspect_log, scored, session, traces
from benchmarks.peers import peer, version
from benchmarks.processes import BIN
from fixtures.judges.running import running

TRACES, FEW, STEPS = 10_000, 2_000, 20
READ = """
import sys
from pathlib import Path
from abs_replay.derivation import traces_of
from abs_replay.store import Store
assert len(traces_of(Store(Path(sys.argv[1])))) == int(sys.argv[2])
"""
QUESTIONS, AT_ONCE, DELAY = 1000, 32, 0.3


def stored(folder: Path, count: int) -> Path:
    """A store of `count` conversations, as after an import."""
    path = folder / f"{count}.duckdb"
    steps = tuple(Step(seq, **one) for seq, one in enumerate(observed(STEPS), 1))
    found = tuple(Trace(f"t-{n:05}", steps, "S", "r", float(n)) for n in range(count))
    Store(path).add([Whole(Recording("r", "r", 1.0, 2.0), (), found)])
    return path


def graded(folder: Path, rules: str, store: Path) -> float:
    return cpu_of([BIN / "abs", "grade", rules, "--store", store], folder)


def read(folder: Path, store: Path, count: int) -> float:
    return cpu_of([sys.executable, "-c", READ, store, str(count)], folder)


def against_reading(rounds: int = 3) -> None:
    """Ours alone: how much longer than only to read the traces, and whether time is linear."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = session(folder, STEP_RULES, CHAIN_RULES)
        stores = {count: stored(folder, count) for count in (1, FEW, TRACES)}
        for path in stores.values():  # what is carried over needs a grading before
            graded(folder, rules, path)
        taken = [
            {
                count: (graded(folder, rules, path), read(folder, path, count))
                for count, path in stores.items()
            }
            for _ in range(rounds)
        ]
    ratios = [each[TRACES][0] / each[TRACES][1] for each in taken]
    growth = [(each[TRACES][0] - each[1][0]) / (each[FEW][0] - each[1][0]) for each in taken]
    seconds = median(each[TRACES][0] for each in taken)
    print(
        f"grading {TRACES} stored traces of {STEPS} steps again / only reading them (target at most 4 times)"
    )
    print(f"  {median(ratios):.2f} times, rounds {' '.join(f'{ratio:.2f}' for ratio in ratios)}")
    print(f"  {seconds:.1f} s of CPU, {TRACES / seconds:.0f} traces/s")
    print(f"  {TRACES} traces / {FEW} traces: {median(growth):.2f} times, net (target {TRACES // FEW})")


def against_inspect(rounds: int = 3) -> None:
    python = peer("inspect_ai")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = session(folder, STEP_RULES, CHAIN_RULES)
        stores = {count: stored(folder, count) for count in (1, FEW)}
        for path in stores.values():
            graded(folder, rules, path)
        logs = {count: inspect_log(python, folder, count) for count in (1, SAMPLES)}
        taken = [
            (
                [graded(folder, rules, path) for path in stores.values()],
                [scored(log, folder) for log in logs.values()],
            )
            for _ in range(rounds)
        ]
    net = [
        ((theirs[1] - theirs[0]) / (SAMPLES - 1)) / ((ours[1] - ours[0]) / (FEW - 1))
        for ours, theirs in taken
    ]
    print(
        f"abs grade from the store, ten evaluations of {STEPS} steps / inspect score "
        f"{version('inspect_ai')}, one of an answer (target at least 50 times)"
    )
    print(f"  {median(net):.0f} times the samples/s, net, rounds {' '.join(f'{ratio:.0f}' for ratio in net)}")


# -- with a judge --


def judged(rounds: int = 3) -> None:
    question = {"type": "llm_judge", "criteria": "The answer says that the order is on its way"}
    with tempfile.TemporaryDirectory() as name, running("--delay", str(DELAY)) as address:
        folder = Path(name)
        rules = session(folder, [question], [])
        told = [
            [{**step, "content": f"{step['content']} ({n})"} for step in observed(4)[:2]]
            for n in range(QUESTIONS)
        ]
        command: list[str | Path] = [BIN / "abs", "grade", rules, "--traces", traces(folder, told), "--no-cache"]
        command += ["--judge-concurrency", str(AT_ONCE), "--judge-model", "judge-1"]
        own = {"ABS_JUDGE_BASE_URL": f"{address}/v1", "ABS_JUDGE_API_KEY": "k"}
        seconds = [_timed(command, folder, own) for _ in range(rounds)]
    ideal = ceil(QUESTIONS / AT_ONCE) * DELAY
    ratios = sorted(each / ideal for each in seconds)
    print(f"{QUESTIONS} questions, {AT_ONCE} at once, of a judge that takes {DELAY:g} s (target 1.3 times)")
    print(f"  {median(ratios):.2f} times the ideal of {ideal:.1f} s, rounds {json.dumps(_rounded(ratios))}")


def _timed(command: list[str | Path], folder: Path, own: dict[str, str]) -> float:
    begun = time.monotonic()
    subprocess.run(command, cwd=folder, env={**os.environ, **own}, check=True, capture_output=True)
    return time.monotonic() - begun


def _rounded(numbers: list[float]) -> list[float]:
    return [round(number, 2) for number in numbers]


def run() -> None:
    against_reading()
    judged()
    against_inspect()
