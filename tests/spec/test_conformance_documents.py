"""The conformance cases that end at load or at resolving, and that all others get through both."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from abs_replay.errors import Problem, SpecError
from abs_replay.exact_json import loads
from abs_replay.spec.configuration import find
from abs_replay.spec.loader import load
from abs_replay.spec.session import Session
from abs_replay.spec.variables import Sources, parse_variables
from tests.conformance_cases import case_folders, case_id

CASES = case_folders()


def _expected(case: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((case / "expected.json").read_text())
    return read


def _traces(case: Path) -> list[dict[str, Any]]:
    whole = case / "trace.json"
    lines = [whole.read_text()] if whole.exists() else (case / "trace.jsonl").read_text().splitlines()
    return [loads(line) for line in lines]


def _sources(case: Path, trace: dict[str, Any]) -> Sources:
    arguments = (case / "args").read_text().splitlines() if (case / "args").exists() else []
    texts = [after for flag, after in pairwise(arguments) if flag == "--var"]
    lines = (case / "env").read_text().splitlines() if (case / "env").exists() else []
    environment = dict(line.split("=", 1) for line in lines)
    return Sources(
        trace.get("bindings", {}), parse_variables(texts), environment, recorded=trace.get("vars", {})
    )


def _resolved(case: Path) -> list[Session]:
    documents = load([case / "session.abs.yaml"], find(case))
    return [
        session.resolve(_sources(case, trace)) for session in documents.sessions for trace in _traces(case)
    ]


def _fits(problem: Problem, wanted: dict[str, Any]) -> bool:
    return (
        wanted.get("path", problem.path) == problem.path
        and wanted.get("line", problem.line) == problem.line
        and all(part in problem.message for part in wanted.get("contains", []))
    )


@pytest.mark.parametrize("case", [c for c in CASES if _expected(c)["result"] == "invalid"], ids=case_id)
def test_an_invalid_case_has_the_problems_it_names(case: Path) -> None:
    with pytest.raises(SpecError) as raised:
        _resolved(case)
    for wanted in _expected(case).get("problems", []):
        assert any(_fits(problem, wanted) for problem in raised.value.problems), (wanted, str(raised.value))


@pytest.mark.parametrize(
    "case", [c for c in CASES if _expected(c)["result"] not in ("invalid", "usage")], ids=case_id
)
def test_every_other_case_loads_and_resolves(case: Path) -> None:
    for session in _resolved(case):
        for behavior in session.behaviors:
            assert all(evaluation.fingerprint for evaluation in behavior.evaluations)
