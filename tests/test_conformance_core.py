"""The conformance cases of judging, through load, resolve and evaluate, with no command line."""

from pathlib import Path

import pytest

from abs_replay.errors import SpecError
from abs_replay.exact_json import loads
from abs_replay.importers import trace_file
from abs_replay.scoring import Policy, evaluate, settle
from abs_replay.spec.configuration import find
from abs_replay.spec.loader import load
from abs_replay.spec.variables import Sources, parse_variables
from abs_replay.verdicts import Run, Verdict
from tests.conformance_cases import case_folders, case_id

GROUPS = ("aligning", "verdicts", "step-evaluators", "session-evaluators", "seed-refund")
CASES = [case for group in GROUPS for case in case_folders(group)]


def test_every_case_says_what_it_expects() -> None:
    assert [case.name for case in CASES if not (case / "expected.json").exists()] == []


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_case_ends_as_expected(case: Path) -> None:
    expected = loads((case / "expected.json").read_bytes())
    if expected["exit"] == 2:
        with pytest.raises(SpecError):
            run_case(case)
        return
    run = run_case(case)
    verdicts = {verdict.at: verdict for verdict in everywhere(run.verdicts)}
    steps = {step.at: [step.status.value, step.step] for step in run.steps}
    assert run.result.value == expected["result"]
    assert {at: steps[at] for at in expected.get("steps", {})} == expected.get("steps", {})
    wanted = expected.get("evaluations", {})
    assert {at: verdicts[at].status.value for at in wanted} == wanted
    assert list(run.extra) == expected.get("extra", list(run.extra))
    for at, score in expected.get("scores", {}).items():
        assert verdicts[at].score == pytest.approx(float(score))
    for at, parts in expected.get("reasons", {}).items():
        assert [part for part in parts if part not in verdicts[at].reason] == []


def run_case(case: Path) -> Run:
    arguments = (case / "args").read_text().splitlines() if (case / "args").exists() else []
    variables = [arguments[n + 1] for n, argument in enumerate(arguments) if argument == "--var"]
    policy = Policy("--no-require-match" not in arguments, "--strict-user" in arguments)
    (trace,) = trace_file.read(case / "trace.json")
    documents = load([case / "session.abs.yaml"], find(case))
    (template,) = documents.sessions
    sources = Sources(
        row=trace.bindings, variables=parse_variables(variables), environment={}, recorded=trace.vars
    )
    return settle(evaluate(trace, template.resolve(sources), {}, policy))


def everywhere(verdicts: tuple[Verdict, ...]) -> list[Verdict]:
    return [one for verdict in verdicts for one in (verdict, *everywhere(verdict.children))]
