"""The conformance cases: `abs grade` in each folder, compared with its expected.json.

A case is compared in what its `expected.json` holds, and nothing else (FORMATS, "Conformance
case"). `EXPECTED_FAILURES` can only shrink: a case listed there that passes fails the test.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from tests.conformance_cases import case_folders, case_id

# Cases that are known to fail, each with the reason.
EXPECTED_FAILURES: Mapping[str, str] = {}
# These run as a process of their own as well, so that what is tested is what users call.
AS_PROCESSES = 5


CASES = {case_id(case): case for case in case_folders()}


def arguments(folder: Path) -> list[str]:
    traces = "trace.jsonl" if (folder / "trace.jsonl").exists() else "trace.json"
    return ["grade", "session.abs.yaml", "--traces", traces, "--format", "json", *lines(folder / "args")]


def environment(folder: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines(folder / "env"))


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def differences(expected: Mapping[str, Any], status: int, report: Mapping[str, Any]) -> Iterator[str]:
    """Every way in which a report is not what was expected."""
    steps = {step["at"]: step for graded in report.get("runs", ()) for step in graded["steps"]}
    verdicts = {
        verdict["at"]: verdict for graded in report.get("runs", ()) for verdict in all_verdicts(graded)
    }
    if "exit" in expected and status != expected["exit"]:
        yield f"exit status {status}, expected {expected['exit']}"
    if "result" in expected and report["result"] != expected["result"]:
        yield f"result {report['result']}, expected {expected['result']}"
    for at, wanted in expected.get("steps", {}).items():
        found = [steps[at]["status"], steps[at]["step"]] if at in steps else None
        if found != wanted:
            yield f"{at} is {found}, expected {wanted}"
    if (
        "extra" in expected
        and (extra := [seq for graded in report["runs"] for seq in graded["extra"]]) != expected["extra"]
    ):
        yield f"extra {extra}, expected {expected['extra']}"
    yield from verdict_differences(expected, verdicts)
    yield from problem_differences(expected, report.get("problems", ()))


def verdict_differences(expected: Mapping[str, Any], verdicts: Mapping[str, Any]) -> Iterator[str]:
    nothing = {"status": None, "score": None, "reason": ""}
    for at, wanted in expected.get("evaluations", {}).items():
        if (found := verdicts.get(at, nothing))["status"] != wanted:
            yield f"{at} is {found['status']} ({found['reason']}), expected {wanted}"
    for at, wanted in expected.get("scores", {}).items():
        score = verdicts.get(at, nothing)["score"]
        if score is None or abs(score - wanted) > 1e-9:
            yield f"{at} scored {score}, expected {wanted}"
    for at, parts in expected.get("reasons", {}).items():
        reason = verdicts.get(at, nothing)["reason"]
        yield from (f"the reason of {at} lacks {part!r}: {reason}" for part in parts if part not in reason)


def problem_differences(expected: Mapping[str, Any], problems: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for wanted in expected.get("problems", ()):
        if not any(is_problem(wanted, problem) for problem in problems):
            yield f"no problem {wanted} among {list(problems)}"


def is_problem(wanted: Mapping[str, Any], problem: Mapping[str, Any]) -> bool:
    placed = all(problem.get(key) == wanted[key] for key in ("path", "line") if key in wanted)
    return placed and all(part in problem["message"] for part in wanted.get("contains", ()))


def all_verdicts(graded: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for step in graded["steps"]:
        yield from nested(step["evaluations"])
    yield from nested(graded["chain_evaluations"])


def nested(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for verdict in verdicts:
        yield verdict
        yield from nested(verdict["children"])


def test_every_listed_failure_is_a_case() -> None:
    assert set(EXPECTED_FAILURES) <= set(CASES)


def test_there_are_cases_of_every_group() -> None:
    groups = {case.parent.name for case in CASES.values()}
    assert groups >= {
        "documents",
        "variables",
        "aligning",
        "verdicts",
        "step-evaluators",
        "session-evaluators",
    }
    assert len(CASES) >= 400


@pytest.mark.parametrize("name", CASES)
def test_a_conformance_case(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = CASES[name]
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    monkeypatch.chdir(folder)
    for variable, value in environment(folder).items():
        monkeypatch.setenv(variable, value)

    status = run(cli, arguments(folder))

    output = capsys.readouterr().out
    found = list(differences(expected, status, json.loads(output)))
    if name in EXPECTED_FAILURES:
        assert found, f"{name} passes: take it out of EXPECTED_FAILURES"
    else:
        assert not found, "\n".join([f"{expected.get('rules')}: {expected.get('why')}", *found])


@pytest.mark.processes
@pytest.mark.parametrize("name", list(CASES)[:: max(len(CASES) // AS_PROCESSES, 1)][:AS_PROCESSES])
def test_a_conformance_case_as_a_process(name: str) -> None:
    folder = CASES[name]
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))

    ended = subprocess.run(
        [sys.executable, "-c", "from abs_replay.cli import main; main()", *arguments(folder)],
        cwd=folder,
        env={**os.environ, **environment(folder), "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )

    assert list(differences(expected, ended.returncode, json.loads(ended.stdout))) == []
