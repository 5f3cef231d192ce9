"""`abs grade` with gates: what stands in for the condition that every session passes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run

FEE = """
session: Entrance fee
abs_version: "0.2"
behaviors:
  - { actor: user, action: says, content: What does it cost? }
  - actor: assistant
    action: informs
    evaluations: [{ type: contains, value: "{{word}}" }]
"""
HOURS = FEE.replace("Entrance fee", "Opening hours").replace("{{word}}", "nine")
KEPT = ("--store", "store.duckdb")

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    """Call `abs` in a folder with two sessions and the traces of ten conversations of the one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)
    Path("fee.abs.yaml").write_text(FEE, encoding="utf-8")
    Path("hours.abs.yaml").write_text(HOURS, encoding="utf-8")
    write("fee", "Entrance fee", ["It is free."] * 8 + ["It is free, or half of it."] * 2)
    write("hours", "Opening hours", ["At ten."])

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def write(name: str, session: str, answers: list[str]) -> None:
    traces = [
        {
            "trace": f"{name}-{nth}",
            "session": session,
            "steps": [
                {"seq": 1, "actor": "user", "action": "says", "content": "What does it cost?"},
                {"seq": 2, "actor": "assistant", "action": "responds", "content": answer},
            ],
        }
        for nth, answer in enumerate(answers)
    ]
    Path(f"{name}.trace.jsonl").write_text("\n".join(map(json.dumps, traces)), encoding="utf-8")


def graded(abs_: Calls, word: str, *more: str) -> tuple[int, str, str]:
    return abs_("grade", "fee.abs.yaml", "--traces", "fee.trace.jsonl", "--var", f"word={word}", *more)


def saved(abs_: Calls, word: str) -> tuple[str, str]:
    """Grade and save the report; gives the flag that makes it the baseline."""
    graded(abs_, word, "--format", "json", "--output", f"{word}.json")
    return "--baseline", f"{word}.json"


def test_a_gate_knows_what_failed_before(abs_: Calls) -> None:
    half, free, gate = saved(abs_, "half"), saved(abs_, "free"), ("--fail-on", "regression")
    same, better, worse = (
        graded(abs_, "half", *half, *gate),
        graded(abs_, "free", *half, *gate),
        graded(abs_, "half", *free, *gate),
    )

    assert (same[0], better[0], worse[0]) == (0, 0, 1)
    assert "the gates hold: the exit status is 0, though the report is failed" in same[2]
    assert "failed: --fail-on regression: 8 checks got worse" in worse[2]


GATE = (*KEPT, "--baseline", "last", "--fail-on", "regression")


def gradings(abs_: Calls) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(abs_("gradings", *KEPT, "--format", "json")[1])
    return found


def test_a_gate_that_did_not_hold_does_not_when_it_is_tried_again(abs_: Calls) -> None:
    graded(abs_, "free", *KEPT)

    first, again = graded(abs_, "half", *GATE), graded(abs_, "half", *GATE)

    good, refused, tried_again = gradings(abs_)
    assert (first[0], again[0]) == (1, 1)
    assert f"--baseline last is {good['id']}\n" in again[2]
    accept = (
        f"{refused['id']} was refused by its gate, and is no baseline: --baseline {refused['id']} accepts it"
    )
    assert accept in again[2]
    assert accept not in first[2]
    assert good["refused"] == []
    assert refused["refused"][0].startswith("--fail-on regression: 8 checks got worse")
    assert tried_again["refused"] == refused["refused"]
    assert abs_("gradings", *KEPT)[1].count("failed, refused ") == 2
    assert "  refused by: --fail-on regression: 8 checks" in abs_("show", refused["id"], *KEPT)[1]


@pytest.mark.parametrize("accepting", ["id", "no gate"])
def test_what_a_gate_refused_is_a_baseline_once_someone_accepts_it(abs_: Calls, accepting: str) -> None:
    graded(abs_, "free", *KEPT)
    graded(abs_, "half", *GATE)
    refused = gradings(abs_)[-1]["id"]
    named = ("--baseline", refused, "--fail-on", "regression") if accepting == "id" else ()

    accepted = graded(abs_, "half", *KEPT, *named)

    assert accepted[0] == (0 if accepting == "id" else 1)
    assert graded(abs_, "half", *GATE)[0] == 0


def test_a_first_run_that_did_not_pass_is_no_baseline_of_its_gate(abs_: Calls) -> None:
    first, again = graded(abs_, "half", *GATE), graded(abs_, "half", *GATE)

    assert (first[0], again[0]) == (1, 1)
    assert "nothing to compare with" in again[2]
    assert "was refused" in again[2]
    assert gradings(abs_)[0]["refused"] == ["nothing to compare with, and not every session passed"]


def test_the_one_before_of_a_comparison_is_the_one_before_be_it_refused(abs_: Calls) -> None:
    graded(abs_, "free", *KEPT)
    for _ in range(2):
        graded(abs_, "half", *GATE)
    _, refused, last = gradings(abs_)

    for between in ((), ("last~1", "last")):
        assert abs_("diff", *between, *KEPT)[1].startswith(f"{refused['id']} → {last['id']}: nothing flipped")


def test_several_traces_of_one_name_are_warned_of(abs_: Calls) -> None:
    Path("fee-edited.trace.jsonl").write_text(Path("fee.trace.jsonl").read_text().replace("half", "a half"))
    for name in ("fee", "fee-edited"):
        abs_("import", f"{name}.trace.jsonl", *KEPT)

    _, _, err = abs_("grade", "fee.abs.yaml", "--var", "word=free", *KEPT)

    assert "warning: 2 traces are called fee-0, and several each of 9 other names: " in err
    assert "abs rm" in err


def test_a_pass_rate_needs_no_baseline(abs_: Calls) -> None:
    assert graded(abs_, "half", "--min-pass-rate", "0.2")[0] == 0
    status, out, err = graded(abs_, "half", "--min-pass-rate", "0.5", "--format", "json")
    assert (status, json.loads(out)["gates"]["passed"]) == (1, False)
    assert "2 of 10 sessions passed" in err
    assert graded(abs_, "free", "--min-pass-rate", "0.8", "--bound", "lower")[0] == 1


def test_a_margin_bears_what_it_says(abs_: Calls) -> None:
    free = saved(abs_, "free")
    status, out, err = graded(abs_, "half", *free, "--margin", "0.1", "--format", "json")
    assert (status, len(json.loads(out)["gates"]["failures"])) == (1, 1)
    assert "went by -0.8" in err
    assert graded(abs_, "free", *free, "--margin", "0.1", "--format", "junit")[0] == 0


def test_with_nothing_to_compare_with_every_session_has_to_pass(abs_: Calls) -> None:
    status, _, err = graded(abs_, "half", *KEPT, "--baseline", "last", "--fail-on", "regression")
    assert status == 1
    assert "nothing to compare with" in err


def test_the_last_grading_of_other_sessions_is_no_baseline(abs_: Calls) -> None:
    hours = ("grade", "hours.abs.yaml", "--traces", "hours.trace.jsonl", *KEPT)
    graded(abs_, "free", *KEPT)
    abs_(*hours)
    status, out, err = graded(abs_, "half", *KEPT, "--baseline", "last")
    assert "--baseline last is g-" in err
    assert ": 8 flipped" in out
    assert status == 1
    assert ": nothing flipped" in abs_(*hours, "--baseline", "last")[1]


def test_of_a_session_that_was_renamed_the_grading_of_the_same_traces_is_the_last(abs_: Calls) -> None:
    graded(abs_, "free", *KEPT)
    Path("fee.abs.yaml").write_text(FEE.replace("Entrance fee", "Fees"), encoding="utf-8")
    _, out, _ = graded(abs_, "free", *KEPT, "--session-for", "Fees", "--baseline", "last")
    assert 'Session "Entrance fee" is called "Fees" now' in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--fail-on", "any"], "--fail-on compares: say with what"),
        (["--margin", "0.1"], "--margin compares: say with what"),
        (["--bound", "lower"], "give --min-pass-rate as well"),
        (["--dry-run", "--min-pass-rate", "0.5"], "--dry-run judges nothing"),
    ],
)
def test_a_gate_that_lacks_something_is_wrong_usage(abs_: Calls, arguments: list[str], told: str) -> None:
    status, _, err = graded(abs_, "free", *arguments)
    assert status == 2
    assert told in err
