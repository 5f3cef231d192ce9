"""`abs grade` with a judge that is asked over the wire: what it says before, meanwhile, and after."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cli import cli
from abs_replay.judges.builtin import KEYS
from abs_replay.spec import configuration
from fixtures.judges.running import running

SESSION = """
session: Cups
abs_version: "0.2"
behaviors:
  - { actor: user, action: says }
  - actor: assistant
    action: informs
    evaluations:
      - { type: llm_judge, criteria: "contains: blue cup" }
      - { type: contains, value: cup }
"""
PRICED = "judge: { price: { input: 1000, output: 1000 } }\n"  # a call is about a dollar

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running("--delay", "0.1") as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Path:
    for name in [*(key for keys in KEYS.values() for key in keys), "ABS_STORE"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ABS_JUDGE_BASE_URL", f"{url}/v1")
    monkeypatch.setenv("ABS_JUDGE_MODEL", "judge")
    monkeypatch.chdir(tmp_path)
    Path("cups.abs.yaml").write_text(SESSION, encoding="utf-8")
    return tmp_path


def conversations(count: int, start: int = 0) -> None:
    """Write that many, all different."""
    lines = [
        {
            "id": f"t-{n:04}",
            "session": "Cups",
            "steps": [
                {"seq": 1, "actor": "user", "action": "says", "content": f"Which cup, {n}?"},
                {"seq": 2, "actor": "assistant", "action": "responds", "content": f"The blue cup, {n}."},
            ],
        }
        for n in range(start, start + count)
    ]
    Path("t.trace.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def grade(*flags: str) -> Result:
    arguments = ["grade", "cups.abs.yaml", "--traces", "t.trace.jsonl", *flags]
    return CliRunner().invoke(cli, arguments, catch_exceptions=False)


def asked(url: str) -> int:
    with urllib.request.urlopen(f"{url}/count", timeout=10) as found:
        return int(json.load(found)["requests"])


def test_a_dry_run_tells_calls_tokens_and_cost_and_asks_nothing(folder: Path, url: str) -> None:
    Path(configuration.NAME).write_text(PRICED, encoding="utf-8")
    conversations(2)
    before = asked(url)
    told = json.loads(grade("--dry-run", "--judge-votes", "3", "--format", "json").stdout)

    assert asked(url) == before
    (estimate,) = told["estimates"]
    assert (told["count"], told["answered"], told["at_least"], told["not_to_be_asked"]) == (2, 0, False, [])
    assert (estimate["judge"], estimate["questions"], estimate["calls"]) == ("openai judge", 2, 6)
    spent = (estimate["input_tokens"] + estimate["output_tokens"]) / 1000
    assert estimate["cost"] == pytest.approx(spent)


def test_without_a_judge_a_dry_run_says_why_nothing_would_be_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ABS_JUDGE_BASE_URL")
    conversations(1)
    lines = grade("--dry-run").stdout.splitlines()
    assert lines[0] == "1 question would be asked"
    assert lines[1].startswith("  not to be asked: 1 question, ")


def test_a_limit_stops_asking_and_the_next_grading_goes_on(folder: Path, url: str) -> None:
    Path(configuration.NAME).write_text(PRICED, encoding="utf-8")
    conversations(6)
    flags = ("--store", "s.duckdb", "--format", "json", "--judge-concurrency", "1")
    first = json.loads(grade(*flags, "--max-cost", "3").stdout)
    count = first["judge"]["asked"]

    assert 1 <= count < 6
    assert first["judge"]["cost"] <= 3
    assert first["judge"]["unanswered"] == 6 - count
    reasons = {
        run["steps"][1]["evaluations"][0]["reason"] for run in first["runs"] if run["result"] == "error"
    }
    assert reasons == {"--max-cost reached: it was not asked"}
    second = json.loads(grade(*flags).stdout)
    assert (second["judge"]["kept"], second["judge"]["asked"]) == (count, 6 - count)
    assert (second["carried_over"], second["asked"]) == (6 + count, 6 - count)


def test_a_wrong_model_is_said_once_and_leaves_the_rest_judged(folder: Path) -> None:
    conversations(3)
    result = grade("--judge-model", "unknown", "--format", "json")
    told = json.loads(result.stdout)
    (warned,) = (each["message"] for each in told["warnings"])
    verdicts = [[each["status"] for each in run["steps"][1]["evaluations"]] for run in told["runs"]]

    assert "unknown" in warned
    assert verdicts == [["error", "passed"]] * 3


def test_ctrl_c_says_what_is_kept_and_the_same_command_goes_on(folder: Path, url: str) -> None:
    conversations(60, start=1000)
    flags = ["--store", "s.duckdb", "--judge-concurrency", "4"]
    abs_ = Path(sys.executable).parent / "abs"
    command = [str(abs_), "grade", "cups.abs.yaml", "--traces", "t.trace.jsonl", *flags]
    before = asked(url)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 30
        while asked(url) < before + 12 and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.stderr is not None
        said = process.stderr.read()
    assert (process.returncode, said.count("\n")) == (130, 1)
    kept = int(said.split()[2])
    assert kept >= 8
    assert said == f"abs: stopped; {kept} answers kept in s.duckdb: the same command goes on there\n"

    told = json.loads(grade("--store", "s.duckdb", "--dry-run", "--format", "json").stdout)
    assert (told["answered"], told["count"]) == (kept, 60 - kept)
