"""GitHub's workflow commands: at the line, escaped, few; and nothing else that could be one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay import exact_json
from abs_replay.reports.github import render
from abs_replay.reports.json_report import from_json
from abs_replay.verdicts import BehaviorResult, Report, Result, Run, Status, StepStatus, Verdict

FIXTURES = Path(__file__).parent.parent.parent / "fixtures/reports"
FAILED = Verdict("evaluations[0]", "never", Status.FAILED, "step 3 is one", label="never: hands_off")
RUN = Run("S", "s.abs.yaml", "t-1", Result.FAILED, (), (FAILED,), lines={"evaluations[0]": 7})


def saved(name: str) -> Report:
    return from_json(exact_json.loads((FIXTURES / f"{name}.json").read_bytes()))


def command(line: str) -> tuple[str, dict[str, str], str]:
    """Read a line as the runner does: actions/runner, src/Runner.Common/ActionCommand.cs."""
    _, head, data = line.split("::", 2)
    name, _, properties = head.partition(" ")
    pairs = dict(pair.split("=", 1) for pair in properties.split(","))
    return name, {key: unescaped(value) for key, value in pairs.items()}, unescaped(data)


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, character)
    return text


@pytest.mark.parametrize("name", ["passed", "mixed"])
def test_a_saved_report_as_annotations(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"reports/{name}.github.txt", render(saved(name), {}))


def test_a_failed_evaluation_is_an_error_at_its_line() -> None:
    annotation, summary = render(Report((RUN,)), {}).splitlines()

    assert annotation == "::error file=s.abs.yaml,line=7,title=S%3A never%3A hands_off::step 3 is one (t-1)"
    assert summary == "abs: failed: 0 of 1 session passed, 1 check failed, 0 undecided"


def test_what_could_not_be_decided_is_a_warning_behind_the_errors() -> None:
    unsure = replace(RUN, result=Result.ERROR, chain_evaluations=(replace(FAILED, status=Status.ERROR),))

    lines = render(Report((unsure, RUN)), {}).splitlines()

    assert [line.split(" ")[0] for line in lines] == ["::error", "::warning", "abs:"]


def test_properties_and_message_come_back_as_they_were() -> None:
    verdict = replace(FAILED, label="50%: a, b %2C\n::x", reason="100%, %0A: c")
    run = replace(RUN, session="a,b:c", file="odd, 5%: name.abs.yaml", chain_evaluations=(verdict,))

    name, properties, message = command(render(Report((run,)), {}).splitlines()[0])

    assert name == "error"
    assert properties == {
        "file": "odd, 5%: name.abs.yaml",
        "line": "7",
        "title": r"a,b:c: 50%: a, b %2C\n::x",
    }
    assert message == "100%, %0A: c (t-1)"


def test_no_text_of_a_trace_begins_a_command_of_its_own() -> None:
    nasty = "x\n::add-mask::y\r\n::error::z"
    verdict = replace(FAILED, label=nasty, reason=nasty)
    run = replace(RUN, session=nasty, trace=nasty, file=nasty, chain_evaluations=(verdict,))

    lines = render(Report((run,), grading=nasty, ungraded_sessions=(nasty,)), {}).splitlines()

    assert [line.partition(" ")[0] for line in lines] == ["::error", "abs:"]
    assert "##[" not in lines[-1]


def test_what_failed_alike_in_many_traces_is_one_annotation() -> None:
    runs = tuple(replace(RUN, trace=f"t-{n}", row=n) for n in range(8))

    lines = render(Report(runs), {}).splitlines()

    assert len(lines) == 2
    assert command(lines[0])[2].splitlines()[::4] == [
        "step 3 is one (t-0, row 0)",
        "step 3 is one (t-4, row 4)",
    ]
    assert command(lines[0])[2].endswith("and in 3 more traces")


def test_an_unmatched_behavior_is_one_annotation_with_its_evaluations() -> None:
    evaluation = replace(FAILED, at="behaviors[1].evaluations[0]")
    step = BehaviorResult("behaviors[1]", "assistant", "asks", StepStatus.UNMATCHED, near="no step is left")
    run = replace(RUN, steps=(replace(step, evaluations=(evaluation, evaluation)),), chain_evaluations=())

    annotation, summary = render(Report((run,)), {}).splitlines()

    assert command(annotation)[2] == "no step is left (t-1)\n2 evaluations of it failed with that."
    assert "3 checks failed" in summary


def test_without_a_file_or_line_the_annotation_has_none() -> None:
    assert "file=" not in render(Report((replace(RUN, file=None),)), {})
    assert "line=" not in render(Report((replace(RUN, lines={}),)), {})


def test_paths_count_from_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "agents").mkdir()
    monkeypatch.chdir(tmp_path / "agents")

    inside = render(Report((RUN,)), {"GITHUB_WORKSPACE": str(tmp_path)})
    outside = render(Report((RUN,)), {"GITHUB_WORKSPACE": "/elsewhere"})

    assert "file=agents/s.abs.yaml," in inside
    assert "file=s.abs.yaml," in outside
