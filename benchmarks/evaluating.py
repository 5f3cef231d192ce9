"""Ten evaluations of one trace against the same ten by the functions of the reference runner, `abslang`.

Target: no slower, reasons included, alignment counted apart. Each round is a process of its own that
times itself: `python -m benchmarks.evaluating ours|reference STEPS` prints microseconds a trace.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import ROOT, peer, version

SIZES = (10, 100, 1000)
ANSWER = "Your order 12345 is on its way."
# `all_of` holds chain evaluations: the reference gives step evaluations inside a composition no step.
STEP_RULES: list[dict[str, Any]] = [
    {"type": "contains", "value": "on its way"},
    {"type": "contains", "value": "ORDER 12345"},
    {"type": "regex", "pattern": r"order \d{5}"},
    {"type": "exact_match", "value": ANSWER},
]
CHAIN_RULES: list[dict[str, Any]] = [
    {"type": "sequence", "order": [{"actor": "user"}, {"action": "calls"}, {"target": "Last"}]},
    {"type": "eventually", "match": {"target": "Last"}},
    {"type": "never", "match": {"action": "hands_off"}},
    {"type": "count", "match": {"actor": "assistant", "action": "calls"}, "min": 1},
    {"type": "within", "after": {"actor": "user"}, "match": {"action": "calls"}, "max_steps": 3},
    {
        "type": "all_of",
        "evaluations": [
            {"type": "eventually", "match": {"target": "Last"}},
            {"type": "never", "match": {"action": "rejects"}},
        ],
    },
]


def observed(count: int) -> list[dict[str, Any]]:
    """Give a conversation: a question, its answer, and then calls and their responses."""
    steps: list[dict[str, Any]] = [
        {"actor": "user", "action": "says", "content": "Where is my order 12345?"},
        {"actor": "assistant", "action": "responds", "content": ANSWER},
    ]
    for number in range(count - 3):
        call = {"actor": "assistant", "action": "calls", "target": "Order", "arguments": {"id": number}}
        steps.append({"actor": "tool", "action": "responds", "content": "{}"} if number % 2 else call)
    return [*steps, {"actor": "assistant", "action": "calls", "target": "Last", "arguments": {}}]


def ours(count: int) -> Callable[[], object]:
    """Prepare our ten evaluations; what is prepared is what a session is when it is loaded and aligned."""
    from abs_replay.alignment import align
    from abs_replay.evaluators import EVALUATORS, Context
    from abs_replay.spec.loader import load
    from abs_replay.spec.variables import Sources
    from abs_replay.testing import step, trace
    from abs_replay.verdicts import Status

    session = load([session_file()]).sessions[0].resolve(Sources({}, {}, {}))
    conversation = trace(*(step(**one) for one in observed(count)))
    alignment = align(conversation, session)

    def evaluate() -> list[Any]:
        context = Context(session, alignment, {}, EVALUATORS)
        context.behavior = 1
        verdicts = [context.run(evaluation) for evaluation in session.behaviors[1].evaluations]
        context.behavior = None
        return verdicts + [context.run(evaluation) for evaluation in session.evaluations]

    assert [verdict.status for verdict in evaluate()] == [Status.PASSED] * 10
    return evaluate


def session_file() -> Path:
    """Write the session once a process; JSON is YAML."""
    import tempfile

    behaviors = [
        {"actor": "user", "action": "says"},
        {"actor": "assistant", "action": "responds", "evaluations": STEP_RULES},
    ]
    session = {
        "session": "Benchmark",
        "abs_version": "0.2",
        "behaviors": behaviors,
        "evaluations": CHAIN_RULES,
    }
    path = Path(tempfile.mkdtemp()) / "session.abs.yaml"
    path.write_text(json.dumps(session), encoding="utf-8")
    return path


def reference(count: int) -> Callable[[], object]:
    """Prepare the same ten evaluations as the reference runner's own functions decide them."""
    from importlib import import_module

    abslang = import_module("abslang.evaluators")
    conversation = [
        abslang.ObservedStep(
            one["actor"], one["action"], one.get("target"), one.get("content"), one.get("arguments")
        )
        for one in observed(count)
    ]
    pairs = [(conversation[1], rule) for rule in STEP_RULES] + [(None, rule) for rule in CHAIN_RULES]

    def evaluate() -> list[Any]:
        return [
            abslang.apply_threshold(abslang.evaluate_step(step, rule, [], conversation), rule)
            for step, rule in pairs
        ]

    assert all(result.passed for result in evaluate())
    return evaluate


def microseconds(evaluate: Callable[[], object], seconds: float = 0.3) -> float:
    """Time a call: the CPU time of as many as fit, after as many uncounted."""
    times = 1
    while True:
        started = time.process_time()
        for _ in range(times):
            evaluate()
        spent = time.process_time() - started
        if spent > seconds:
            return spent / times * 1e6
        times *= 2


def one_round(python: str | Path, what: str, steps: int) -> float:
    command = [python, "-m", "benchmarks.evaluating", what, str(steps)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def run(rounds: int = 5) -> None:
    python = peer("abslang")
    print(f"ten evaluations / the same by abslang {version('abslang')} (target at most 1)")
    for steps in SIZES:
        pairs = [
            (one_round(sys.executable, "ours", steps), one_round(python, "reference", steps))
            for _ in range(rounds)
        ]
        ratios = [mine / other for mine, other in pairs]
        mine, other = (median(column) for column in zip(*pairs, strict=True))
        listed = " ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"  {steps} steps: {median(ratios):.2f}, {mine:.0f} and {other:.0f} µs, rounds {listed}")


if __name__ == "__main__":
    print(microseconds({"ours": ours, "reference": reference}[sys.argv[1]](int(sys.argv[2]))))
