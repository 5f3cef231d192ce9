"""Grading stored traces again: against only reading them, against `inspect score`, and with a slow judge.

Ours reads every trace from the store, runs ten evaluations, tells what is carried over from the grading
before, and writes all verdicts. Inspect AI scores a log of the same conversations by ten scorers, and writes
it. Net figures leave out what one sample takes. CPU seconds; the judge by the clock.
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
from benchmarks.grading import cpu_of, session, traces
from benchmarks.peers import peer, version
from benchmarks.processes import BIN
from fixtures.judges.running import running

TRACES, FEW, SAMPLES, STEPS = 10_000, 2_000, 200, 20
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


# -- Inspect AI: the same conversations, ten scorers that look for the same --

MAKE = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ChatMessageUser
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolCall

def message(number, step):
    if step["actor"] == "user":
        return ChatMessageUser(content=step["content"])
    if step["actor"] == "tool":
        return ChatMessageTool(content=step["content"], function="Order", tool_call_id=str(number - 1))
    if "target" not in step:
        return ChatMessageAssistant(content=step["content"])
    call = ToolCall(id=str(number), function=step["target"], arguments=step["arguments"])
    return ChatMessageAssistant(content="", tool_calls=[call])

steps, count = json.loads(sys.argv[1]), int(sys.argv[2])
samples = [Sample(input=[message(n, step) for n, step in enumerate(steps)], target="x") for _ in range(count)]
outputs = []
for _ in samples:
    output = ModelOutput.from_content("mockllm/model", "Done.")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    outputs.append(output)
model = get_model("mockllm/model", custom_outputs=outputs)
(log,) = eval(Task(dataset=samples), model=model, log_dir=sys.argv[3], display="none", score=False)
assert log.status == "success", log.error
print(log.location)
"""
SCORE = """
import sys
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.scorer import Score, accuracy, scorer

def calls(state):
    return [call.function for each in state.messages for call in getattr(each, "tool_calls", None) or []]

def holds(state, text):
    return any(text in str(each.content) for each in state.messages)

CHECKS = [
    lambda state: holds(state, "on its way"),
    lambda state: holds(state, "order 12345"),
    lambda state: holds(state, "Your order"),
    lambda state: holds(state, "12345"),
    lambda state: calls(state)[-1:] == ["Last"],
    lambda state: "Last" in calls(state),
    lambda state: "transfer" not in calls(state),
    lambda state: len(calls(state)) >= 1,
    lambda state: bool(calls(state)[:3]),
    lambda state: "Last" in calls(state) and not holds(state, "rejected"),
]

def made(number):
    @scorer(metrics=[accuracy()], name=f"check{number}")
    def check():
        async def scored(state, target):
            found = CHECKS[number](state)
            return Score(value="C" if found else "I", explanation="found" if found else "not found")
        return scored
    return check()

log = score(read_eval_log(sys.argv[1]), [made(n) for n in range(10)], action="overwrite", display="none")
write_eval_log(log, sys.argv[1])
"""


def inspect_log_of(python: Path, folder: Path, count: int) -> str:
    """Make a log of `count` conversations of `STEPS` messages that are not scored yet."""
    steps = json.dumps(observed(STEPS - 1))
    command: list[str | Path] = [python, "-c", MAKE, steps, str(count), folder / f"logs{count}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"inspect_ai made no log: {done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def against_inspect(rounds: int = 3) -> None:
    """Samples a second, net, of the same conversations by ten checks each."""
    python = peer("inspect_ai")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = session(folder, STEP_RULES, CHAIN_RULES)
        stores = {count: stored(folder, count) for count in (1, FEW)}
        for path in stores.values():
            graded(folder, rules, path)
        logs = [inspect_log_of(python, folder, count) for count in (1, SAMPLES)]
        taken = [
            (
                [graded(folder, rules, path) for path in stores.values()],
                [cpu_of([python, "-c", SCORE, log], folder) for log in logs],
            )
            for _ in range(rounds)
        ]
    ours = [(many - one) / (FEW - 1) * 1000 for (one, many), _ in taken]
    theirs = [(many - one) / (SAMPLES - 1) * 1000 for _, (one, many) in taken]
    net = [other / own for own, other in zip(ours, theirs, strict=True)]
    print(
        f"abs grade from the store / Inspect AI {version('inspect_ai')}, ten checks of {STEPS} steps each "
        "(target 50)"
    )
    print(f"  {median(net):.1f} times the samples/s, net, rounds {json.dumps(_rounded(net))}")
    print(f"  {median(ours):.2f} and {median(theirs):.2f} ms of CPU a sample")


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
        command: list[str | Path] = [
            BIN / "abs",
            "grade",
            rules,
            "--traces",
            traces(folder, told),
            "--no-cache",
        ]
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
