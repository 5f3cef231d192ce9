"""The history of a store: every grading with who made it, with what, and what its judges took."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from abs_replay.cli import cli
from abs_replay.judgement import Judging, Usage
from abs_replay.store import Store
from abs_replay.verdicts import Grading, Provenance, Report, Run, Status, Verdict
from abs_replay.verdicts import Result as Came

VERDICT = Verdict("evaluations[0]", "llm_judge", Status.PASSED, "Kind.", 0.8)
RUN = Run("Refund", None, "t-1", Came.PASSED, (), (VERDICT, replace(VERDICT, at="evaluations[1]")))
JUDGING = Judging(1, 1, 0, {"openai m-1": Usage(3, 900, 40, 0.0125)})
MADE_BY = Provenance(
    "ann", "12ab" * 10, True, "0.1", "abs grade refund.abs.yaml", {"openai m-1": "openai m-1 12ab"}, 3
)
GRADING = Grading(
    "g-1",
    30.0,
    Report((RUN,), "g-1", carried=frozenset({("Refund", "t-1", "evaluations[0]")}), judging=JUDGING),
    {"docs/refund.abs.yaml": "ab" * 32},
    MADE_BY,
)


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    made = Store(tmp_path_factory.mktemp("gradings") / "store.duckdb")
    made.save_grading(GRADING)
    made.save_grading(Grading("g-2", 40.0, Report(())))
    return made


def test_a_line_says_who_with_what_and_what_it_took(store: Store) -> None:
    lines = invoke("gradings", "--store", str(store.path)).stdout.splitlines()

    assert lines[0].split() == [
        *("ID", "MADE", "WHO", "RESULT", "RUNS", "EVALUATIONS"),
        *("CARRIED", "ASKED", "COST", "COMMIT", "FILES"),
    ]
    first = lines[1].split()
    assert (first[0], first[-11:]) == (
        "g-1",
        [
            "ann",
            "passed",
            "1",
            "passed",
            "2",
            "passed",
            "1",
            "1",
            "$0.0125",
            "12ab12ab12ab+",
            "refund.abs.yaml@abababab",
        ],
    )
    assert lines[2].split()[-4:] == ["passed", "none", "none", "0"]


def test_programs_get_all_of_it(store: Store) -> None:
    (last,) = json.loads(
        invoke("gradings", "--format", "json", "--last", "1", "--store", str(store.path)).stdout
    )
    first, _ = json.loads(invoke("gradings", "--format", "json", "--store", str(store.path)).stdout)

    assert (last["id"], last["judge"], last["who"]) == ("g-2", None, None)
    assert first["judge"]["cost"] == 0.0125
    assert (first["carried_over"], first["evaluations"]) == (1, {"passed": 2})
    told = {key: first[key] for key in ("who", "files", "git_commit", "git_dirty", "version", "command")}
    assert told == {
        "who": "ann",
        "files": {"docs/refund.abs.yaml": "ab" * 32},
        "git_commit": "12ab" * 10,
        "git_dirty": True,
        "version": "0.1",
        "command": "abs grade refund.abs.yaml",
    }


def test_a_store_without_gradings_says_so(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    with Store(path).writing():
        pass

    assert invoke("gradings", "--store", str(path)).stderr == f"no gradings in {path}: abs grade makes one\n"


def test_a_grading_is_shown_with_where_it_comes_from_and_its_report(store: Store) -> None:
    shown = invoke("show", "g-1", "--store", str(store.path)).stdout

    for line in (
        "  graded with: docs/refund.abs.yaml (sha256 abababababab)\n",
        "  commit: 12ab12ab12ab, from which the files differed\n",
        "  command: abs grade refund.abs.yaml\n",
        "  judge: openai m-1 (openai m-1 12ab, 3 votes)\n",
        "1 of 2 verdicts as last time",
        "openai m-1: 3 calls, 900 tokens in, 40 out, $0.0125",
    ):
        assert line in shown
    told = json.loads(invoke("show", "g-1", "--format", "json", "--store", str(store.path)).stdout)
    assert (told["provenance"]["who"], told["provenance"]["made_at"], told["judge"]["asked"]) == (
        "ann",
        30.0,
        1,
    )


SESSION = """
session: Fee
abs_version: "0.2"
behaviors:
  - { actor: user, action: says }
  - { actor: assistant, action: informs, evaluations: [{ type: contains, value: free }] }
"""
TRACE = {
    "session": "Fee",
    "steps": [
        {"seq": 1, "actor": "user", "action": "says", "content": "?"},
        {"seq": 2, "actor": "assistant", "action": "responds", "content": "It is free."},
    ],
}


@pytest.mark.processes
def test_a_grading_keeps_the_commit_and_the_command_without_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fee.abs.yaml").write_text(SESSION, encoding="utf-8")
    Path("t.json").write_text(json.dumps(TRACE), encoding="utf-8")
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.test"]
        subprocess.run(["git", *who, *arguments], check=True)
    command = [
        "grade",
        "fee.abs.yaml",
        "--traces",
        "t.json",
        "--store",
        "s.duckdb",
        "--judge-api-key",
        "hunter2",
    ]

    monkeypatch.setattr("sys.argv", ["/usr/bin/abs", *command])
    invoke(*command)
    Path("fee.abs.yaml").write_text(SESSION.replace("free", "ee"), encoding="utf-8")
    invoke(*command)

    found = json.loads(invoke("gradings", "--format", "json", "--store", "s.duckdb").stdout)
    assert [(len(each["git_commit"]), each["git_dirty"]) for each in found] == [(40, False), (40, True)]
    assert found[0]["command"] == (
        "abs grade fee.abs.yaml --traces t.json --store s.duckdb --judge-api-key '***'"
    )
    assert found[0]["files"].keys() == {"fee.abs.yaml"}
    assert found[0]["files"] != found[1]["files"]
