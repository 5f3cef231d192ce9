"""`--judge-answers` and `--dry-run`, as they are called: from open questions to verdicts by hand."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run as call
from tests.scripted_agent import listening, says

SESSION = """session: Number
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: Where is it? }
  - id: ask
    actor: assistant
    action: asks
    optional: true
    matches_when: { type: llm_judge, criteria: Asks for a number }
  - { actor: assistant, action: informs, evaluations: [{ type: llm_judge, criteria: Kind, threshold: 0.7 }] }
evaluations: [{ type: llm_judge, criteria: Short }]
"""
STEPS = [
    {"seq": 1, "actor": "user", "action": "says", "content": "Where is it?"},
    {"seq": 2, "actor": "assistant", "action": "responds", "content": "Your number?"},
    {"seq": 3, "actor": "assistant", "action": "responds", "content": "On its way."},
]

VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY")

type Abs = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Abs:
    monkeypatch.chdir(tmp_path)
    for name in os.environ.keys() & {"ABS_STORE", *VARIABLES}:
        monkeypatch.delenv(name)
    Path("number.abs.yaml").write_text(SESSION, encoding="utf-8")
    Path("t.trace.json").write_text(json.dumps({"trace": "t-1", "steps": STEPS}), encoding="utf-8")

    def abs_(*arguments: str) -> tuple[int, str, str]:
        status = call(cli, arguments)
        return status, *capsys.readouterr()

    return abs_


NONE = "no judge configured: set OPENAI_API_KEY,"
GRADE = ("grade", "number.abs.yaml", "--traces", "t.trace.json")
SCORES = {"Kind": 0.8, "Short": 0.2}


def fill_in(name: str) -> None:
    """Answer every question of a dry run, as a person would with an editor."""
    dry_run = json.loads(Path(name).read_text(encoding="utf-8"))
    for question in dry_run["questions"]:
        words = question["evidence"]["steps"][-1]["content"]
        asks = question["criteria"] == "Asks for a number"
        question["score"] = float(words == "Your number?") if asks else SCORES[question["criteria"]]
    Path(name).write_text(json.dumps(dry_run, indent=2), encoding="utf-8")


def test_questions_are_answered_by_hand_round_by_round(abs_: Abs) -> None:
    assert abs_(*GRADE, "--dry-run", "--format", "json", "--output", "first.json") == (0, "", "")
    assert json.loads(Path("first.json").read_text())["at_least"] is True
    fill_in("first.json")
    second = ("--dry-run", "--judge-answers", "first.json", "--format", "json", "--output", "second.json")
    abs_(*GRADE, *second)
    answered: dict[str, Any] = json.loads(Path("second.json").read_text())
    assert (answered["count"], answered["at_least"]) == (2, False)
    places = [question["places"] for question in answered["questions"]]
    assert places[0] == [{"session": "Number", "trace": "t-1", "at": "behaviors[2].evaluations[0]"}]
    fill_in("second.json")
    both = ("--judge-answers", "first.json", "--judge-answers", "second.json")
    status, out, err = abs_(*GRADE, *both, "--format", "json")
    (run,) = json.loads(out)["runs"]
    assert [(step["status"], step["step"]) for step in run["steps"]] == [
        ("sent", 1),
        ("matched", 2),
        ("matched", 2),
    ]
    assert [run["steps"][2]["evaluations"][0][key] for key in ("status", "score", "judge")] == [
        "passed",
        0.8,
        "recorded",
    ]
    assert (status, err, run["chain_evaluations"][0]["status"]) == (1, "", "failed")


def test_a_dry_run_says_how_many_and_that_more_may_follow(abs_: Abs) -> None:
    status, out, _ = abs_(*GRADE, "--dry-run")
    assert status == 0
    first, second = out.splitlines()
    assert first == (
        "at least 2 questions would be asked: more follow from the answers to those of matches_when"
    )
    assert second.strip().startswith(f"not to be asked: 2 questions, {NONE}")
    Path("number.abs.yaml").write_text(
        SESSION.replace("llm_judge, criteria: Asks for a n", "contains, value: N")
    )
    assert abs_(*GRADE, "--dry-run")[1].startswith("2 questions would be asked\n")


def test_a_dry_run_keeps_nothing_and_compares_with_nothing(abs_: Abs) -> None:
    abs_(*GRADE, "--dry-run", "--store", "s.duckdb")
    assert not Path("s.duckdb").exists()
    status, _, err = abs_(*GRADE, "--dry-run", "--baseline", "x.json")
    assert (status, err.count("\n")) == (2, 1)


def test_without_a_judge_a_verdict_says_so_and_with_answers_what_is_missing(abs_: Abs) -> None:
    _, out, _ = abs_(*GRADE, "--format", "json")
    assert json.loads(out)["runs"][0]["chain_evaluations"][0]["reason"].startswith(NONE)
    Path("a.json").write_text("[]")
    status, out, _ = abs_(*GRADE, "--judge-answers", "a.json", "--format", "json")
    assert status == 1
    assert "no answer to question" in json.loads(out)["runs"][0]["chain_evaluations"][0]["reason"]


def test_a_broken_file_of_answers_is_one_line_with_its_place(abs_: Abs) -> None:
    Path("a.jsonl").write_text('{"digest": "d", "score": 1}\n{"digest": "e", "score": 2}\n')
    for command in (GRADE, ("run", "number.abs.yaml", "--agent", "http://127.0.0.1:9")):
        status, _, err = abs_(*command, "--judge-answers", "a.jsonl")
        assert (status, err) == (2, "abs: a.jsonl:2: `score` must be a number from 0 to 1, not 2\n")


def test_a_run_is_judged_by_recorded_answers_too(abs_: Abs) -> None:
    Path("kind.abs.yaml").write_text(
        'session: Kind\nabs_version: "0.2"\nbehaviors:\n'
        "  - { actor: user, action: says, content: Hi }\n"
        "  - { actor: assistant, action: greets, evaluations: [{ type: llm_judge, criteria: Kind }] }\n"
    )
    Path("a.json").write_text(
        json.dumps({"session": "Kind", "at": "behaviors[1].evaluations[0]", "score": 1, "reason": "Very."})
    )
    with listening(lambda _: says("Hello!")) as (url, _):
        status, out, err = abs_(
            "run",
            "kind.abs.yaml",
            "--agent",
            url,
            "--judge-answers",
            "a.json",
            "--no-store",
            "--format",
            "json",
        )
    assert (status, err) == (0, "")
    assert (
        json.loads(out)["runs"][0]["steps"][1]["evaluations"][0]["reason"] == "scored 1, threshold 0.5: Very."
    )


def test_answers_to_no_question_are_a_warning_and_change_nothing(abs_: Abs) -> None:
    stray = {"session": "Number", "at": "behaviors[7].evaluations[0]", "score": 1}
    Path("a.json").write_text(json.dumps([stray, {**stray, "at": "evaluations[3]"}]), encoding="utf-8")
    said = "answers no question that was asked, nor does 1 more of the file"
    status, _, err = abs_(*GRADE, "--judge-answers", "a.json")
    assert (status, err.strip()) == (1, f"warning: a.json:1: {said}")
    _, out, _ = abs_(*GRADE, "--judge-answers", "a.json", "--dry-run", "--format", "json")
    assert [warning["message"] for warning in json.loads(out)["warnings"]] == [said]
