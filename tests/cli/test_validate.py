"""`abs validate`: one line a problem, exit status 2; one line when all is well (SEMANTICS D7, D8)."""

import json
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run

GOOD = 'session: S\nabs_version: "0.2"\nbehaviors:\n  - { actor: user, action: says }\n'
BAD = 'session: S\nabs_version: "0.2"\nbehaviours: []\n'


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_valid_documents_are_counted_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.abs.yaml").write_text(GOOD)
    assert run(cli, ["validate", "a.abs.yaml"]) == 0
    assert capsys.readouterr() == ("1 session in 1 file, 1 behavior, 0 warnings\n", "")


def test_warnings_go_to_standard_error_and_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.abs.yaml").write_text(GOOD.replace('abs_version: "0.2"\n', ""))
    assert run(cli, ["validate", "."]) == 0
    captured = capsys.readouterr()
    assert captured.out == "1 session in 1 file, 1 behavior, 1 warning\n"
    assert captured.err.startswith("warning: a.abs.yaml:1: no abs_version")


def test_every_problem_is_one_line_with_file_line_and_path(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.abs.yaml").write_text(BAD)
    Path("b.abs.yaml").write_text(GOOD + "    actor: x\n")
    assert run(cli, ["validate", "a.abs.yaml", "b.abs.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "a.abs.yaml:3: behaviours: unknown key `behaviours`: did you mean `behaviors`?",
        "a.abs.yaml:3: behaviors: must not be empty",
        *[line for line in captured.err.splitlines() if line.startswith("b.abs.yaml:")],
    ]
    assert len(captured.err.splitlines()) == 3


def test_problems_and_warnings_are_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.abs.yaml").write_text(BAD)
    assert run(cli, ["validate", "a.abs.yaml", "--format", "json"]) == 2
    invalid = json.loads(capsys.readouterr().out)
    assert invalid["result"] == "invalid"
    assert [problem["line"] for problem in invalid["problems"]] == [3, 3]
    assert set(invalid["problems"][0]) == {"file", "line", "path", "message"}
    Path("a.abs.yaml").write_text(
        GOOD + "evaluations: [{ type: never, match: { actor: a }, threshold: 1 }]\n"
    )
    assert run(cli, ["validate", "a.abs.yaml", "--format", "json"]) == 0
    valid = json.loads(capsys.readouterr().out)
    assert (valid["result"], valid["sessions"][0]["session"]) == ("valid", "S")
    assert [warning["path"] for warning in valid["warnings"]] == ["evaluations[0].threshold"]


@pytest.mark.parametrize("path", ["nothing.abs.yaml", "empty"])
def test_a_path_that_leads_to_nothing_is_one_line(capsys: pytest.CaptureFixture[str], path: str) -> None:
    Path("empty").mkdir()
    assert run(cli, ["validate", path]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_aliases_and_adapters_of_the_configuration_count(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.abs.yaml").write_text(GOOD + "evaluations: [{ type: custom, id: x, adapter: ours }]\n")
    assert run(cli, ["validate", "a.abs.yaml"]) == 2
    Path("abs.config.yaml").write_text("adapters: { ours: { adapter: aws } }\n")
    assert run(cli, ["validate", "a.abs.yaml"]) == 0
    Path("abs.config.yaml").write_text("adapter: {}\n")
    assert run(cli, ["validate", "a.abs.yaml"]) == 2
    assert "abs.config.yaml:1: adapter: unknown key" in capsys.readouterr().err


def test_the_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(cli, ["validate", "--help"]) == 0
    assert "abs validate order.abs.yaml" in capsys.readouterr().out
