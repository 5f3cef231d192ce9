"""`abs grade --traces FILE` against `inspect score`, as whole processes; and its time by number of traces.

Both grade the same 1,000 answers for the same words: ours one `contains`, Inspect AI's one `includes`. Its
log is made with its mock model, outside of what is timed. Net figures leave out what one sample takes.
"""

import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.evaluating import CHAIN_RULES, STEP_RULES, observed
from benchmarks.peers import BIN as PEERS
from benchmarks.peers import peer, version
from benchmarks.processes import BIN
from benchmarks.upstream import text

SAMPLES = 1000
TARGET = "on its way"


def answer(number: int) -> str:
    return f"{text(number, 1900)} order {number} is {TARGET} {text(number + 1, 100)}"


def cpu_of(command: Sequence[str | Path], folder: Path) -> float:
    """Give the CPU seconds of a process, which must succeed; bytecode is kept, as where it is installed."""
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "INSPECT_DISPLAY": "none"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# -- ours --


def session(folder: Path, step_rules: list[dict[str, Any]], chain_rules: list[dict[str, Any]]) -> str:
    """Write a session of two behaviors; gives its name. JSON is YAML."""
    informs = {"actor": "assistant", "action": "informs", "evaluations": step_rules}
    behaviors = [{"actor": "user", "action": "says"}, informs]
    document = {"session": "S", "abs_version": "0.2", "behaviors": behaviors, "evaluations": chain_rules}
    path = folder / f"{len(step_rules) + len(chain_rules)}.abs.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path.name


def traces(folder: Path, conversations: Sequence[list[dict[str, Any]]]) -> str:
    """Write one trace a line; gives the file's name."""
    path = folder / f"{len(conversations)}x{len(conversations[0])}.trace.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for steps in conversations:
            numbered = [{"seq": seq, **step} for seq, step in enumerate(steps, 1)]
            file.write(json.dumps({"session": "S", "steps": numbered}) + "\n")
    return path.name


def question_and_answer(number: int) -> list[dict[str, Any]]:
    user = {"actor": "user", "action": "says", "content": f"Where is order {number}?"}
    return [user, {"actor": "assistant", "action": "responds", "content": answer(number)}]


def graded(folder: Path, name: str, file: str) -> float:
    return cpu_of([BIN / "abs", "grade", name, "--traces", file], folder)


# -- Inspect AI --

TASK = """
import json, sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model

samples, outputs = [], []
for number, (question, answer) in enumerate(json.load(open(sys.argv[1]))):
    samples.append(Sample(input=question, target=sys.argv[2]))
    output = ModelOutput.from_content("mockllm/model", answer)
    # Without a usage of its own the mock counts tokens, and fetches a vocabulary for it.
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    outputs.append(output)
model = get_model("mockllm/model", custom_outputs=outputs)
(log,) = eval(Task(dataset=samples), model=model, log_dir=sys.argv[3], display="none", score=False)
assert log.status == "success", log.error
print(log.location)
"""


def inspect_log(python: Path, folder: Path, count: int) -> str:
    """Make a log of `count` samples that are not scored yet."""
    pairs = folder / f"{count}.json"
    pairs.write_text(
        json.dumps([[f"Where is order {n}?", answer(n)] for n in range(count)]), encoding="utf-8"
    )
    command: list[str | Path] = [python, "-c", TASK, pairs, TARGET, folder / f"logs{count}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"inspect_ai made no log: {done.stderr[-2000:]}")
    return done.stdout.strip().splitlines()[-1]


def scored(log: str, folder: Path) -> float:
    """Score a log anew, as `inspect score` does by default but for the question where to write."""
    flags = ["--scorer", "inspect_ai/includes", "--action", "overwrite", "--overwrite"]
    return cpu_of([PEERS / "inspect", "score", log, *flags], folder)


# -- the two figures --


def against_inspect(rounds: int = 3) -> None:
    python = peer("inspect_ai")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = session(folder, [{"type": "contains", "value": TARGET}], [])
        files = {
            count: traces(folder, [question_and_answer(n) for n in range(count)]) for count in (1, SAMPLES)
        }
        logs = {count: inspect_log(python, folder, count) for count in (1, SAMPLES)}
        graded(folder, rules, files[1])
        pairs = [
            [(graded(folder, rules, files[count]), scored(logs[count], folder)) for count in (1, SAMPLES)]
            for _ in range(rounds)
        ]
    gross = [peers / mine for _, (mine, peers) in pairs]
    net = [(peers - peers_start) / (mine - start) for (start, peers_start), (mine, peers) in pairs]
    print(f"inspect score {version('inspect_ai')} / abs grade, {SAMPLES} samples (target at least 50 times)")
    for what, ratios in (("as whole processes", gross), ("net of start-up", net)):
        print(f"  {what}: {median(ratios):.0f} times, rounds {' '.join(f'{ratio:.0f}' for ratio in ratios)}")
    for what, column in (("ours", 0), ("theirs", 1)):
        whole = median(many[column] for _, many in pairs)
        per_second = median((SAMPLES - 1) / (many[column] - one[column]) for one, many in pairs)
        print(f"  {what}: {whole:.2f} s of CPU, {SAMPLES / whole:.0f} samples/s, net {per_second:.0f}")


def linear(rounds: int = 3) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rules = session(folder, STEP_RULES, CHAIN_RULES)
        files = {count: traces(folder, [observed(20)] * count) for count in (1, 1000, 4000)}
        graded(folder, rules, files[1])
        seconds = [[graded(folder, rules, file) for file in files.values()] for _ in range(rounds)]
    ratios = [(many - start) / (few - start) for start, few, many in seconds]
    few, many = median(row[1] for row in seconds), median(row[2] for row in seconds)
    print(
        f"4,000 traces / 1,000 traces of 20 steps with 10 evaluations: {median(ratios):.2f} times (target 4)"
    )
    print(f"  net of start-up, rounds {' '.join(f'{ratio:.2f}' for ratio in ratios)}")
    print(f"  {few:.2f} and {many:.2f} s of CPU as whole processes")
