"""`abs diff`, as it is called: gradings of a store, saved reports, and the gate."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.reports import render
from abs_replay.store import Store
from abs_replay.verdicts import BehaviorResult, Grading, Report, Result, Run, Status, StepStatus, Verdict

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    """Call `abs` in an empty folder; gives exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ABS_STORE", raising=False)

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


def report(status: Status, fingerprint: str, others: int = 9) -> Report:
    verdicts = [
        Verdict(
            "behaviors[0].evaluations[0]", "contains", status, f"it {status}", 1.0, fingerprint=fingerprint
        )
    ]
    verdicts += [
        Verdict(f"behaviors[0].evaluations[{nth}]", "regex", Status.PASSED, "", 1.0, fingerprint=f"f{nth}")
        for nth in range(1, others + 1)
    ]
    step = BehaviorResult(
        "behaviors[0]", "assistant", "informs", StepStatus.MATCHED, evaluations=tuple(verdicts)
    )
    result = Result.PASSED if status is Status.PASSED else Result.FAILED
    return Report((Run("Order status", None, "t-1", result, (step,)),))


def keep(id_: str, made_at: float, kept: Report) -> None:
    Store(Path(".abs/store.duckdb")).save_grading(Grading(id_, made_at, kept))


def keep_three() -> None:
    keep("g-a", 1, report(Status.PASSED, "old"))
    keep("g-b", 2, report(Status.FAILED, "new"))
    keep("g-c", 3, report(Status.PASSED, "newest"))


def test_without_arguments_the_last_but_one_is_compared_with_the_last(abs_: Calls) -> None:
    keep_three()

    status, out, _ = abs_("diff")

    assert status == 0
    assert out.startswith("g-b → g-c: 1 flipped, 9 the same (carried over)\n")
    assert "❌ fail → ✅ pass · the rule was edited" in out
    assert "before: it failed" in out
    assert "after:  it passed" in out


def test_gradings_are_named_by_id_beginning_or_position(abs_: Calls) -> None:
    keep_three()

    assert abs_("diff", "g-a", "g-b")[1].startswith("g-a → g-b: ")
    assert abs_("diff", "last~2", "last")[1].startswith("g-a → g-c: nothing")
    assert abs_("diff", "g-", "g-b")[0] == 2
    assert abs_("diff", "g-x", "g-b")[2].startswith("abs: no grading 'g-x'")


def test_fail_on_regression_heeds_the_direction_and_any_does_not(abs_: Calls) -> None:
    keep_three()

    worse, better, same = ("g-a", "g-b"), ("g-b", "g-c"), ("g-a", "g-c")

    assert [abs_("diff", *pair)[0] for pair in (worse, better, same)] == [0, 0, 0]
    assert [abs_("diff", *pair, "--fail-on", "regression")[0] for pair in (worse, better, same)] == [1, 0, 0]
    assert [abs_("diff", *pair, "--fail-on", "any")[0] for pair in (worse, better, same)] == [1, 1, 0]


def test_saved_reports_are_compared_without_any_store(abs_: Calls, tmp_path: Path) -> None:
    Path("old.json").write_text(render("json", report(Status.PASSED, "old")), encoding="utf-8")
    Path("new.json").write_text(render("json", report(Status.FAILED, "new")), encoding="utf-8")

    status, out, _ = abs_("diff", "old.json", "new.json", "--format", "json")

    assert status == 0
    found = json.loads(out)
    assert (found["before"], found["after"]) == ("old.json", "new.json")
    assert (found["flipped"], found["same"], found["carried_over"], found["regressions"]) == (1, 9, 9, 1)
    assert (found["sessions"]["flipped"], found["sessions"]["regressions"]) == (1, 1)
    assert found["matches"] == {"flipped": 0, "regressions": 0}
    (session, flip) = found["flips"]
    assert (session["type"], session["direction"]) == ("session", "regression")
    assert (flip["before"], flip["after"], flip["causes"]) == ("passed", "failed", ["rule"])
    assert not (tmp_path / ".abs").exists()


def test_a_saved_report_is_compared_with_a_kept_grading(abs_: Calls) -> None:
    keep_three()
    Path("old.json").write_text(render("json", report(Status.PASSED, "old")), encoding="utf-8")

    assert abs_("diff", "old.json")[1].startswith("old.json → g-c: nothing flipped")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"runs": [{}]}', '{"runs": [', "\ud83d", "[" * 100_000])
def test_a_file_that_is_no_report_is_refused_in_one_line(abs_: Calls, content: str) -> None:
    Path("bad.json").write_bytes(content.encode("utf-8", "surrogatepass"))

    status, out, err = abs_("diff", "bad.json", "bad.json")

    assert (status, out) == (2, "")
    assert err.startswith("abs: bad.json: ")
    assert err.count("\n") == 1


def test_facts_are_compared_without_loading_what_tests_them_where_no_interval_is_shown(abs_: Calls) -> None:
    for name, status in (("old", Status.PASSED), ("new", Status.FAILED)):
        Path(f"{name}.json").write_text(render("json", report(status, name)))
    code = """
import sys
from abs_replay.cli import cli
from abs_replay.cli.failure import run
assert run(cli, ["diff", "old.json", "new.json", "--format", "github", "--fail-on", "regression"]) == 1
assert not {"scipy", "numpy", "duckdb"} & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_file_that_is_not_there_is_told_so(abs_: Calls) -> None:
    assert abs_("diff", "nothing.json", "last")[2].startswith("abs: nothing.json: no such file")


def test_a_store_with_one_grading_has_nothing_to_compare(abs_: Calls) -> None:
    keep("g-a", 1, report(Status.PASSED, "old"))

    status, _, err = abs_("diff")

    assert status == 2
    assert err.startswith("abs: no grading before g-a judged 'Order status': name two")


def test_without_arguments_the_last_two_of_one_session_are_compared(abs_: Calls) -> None:
    keep("g-a", 1, report(Status.PASSED, "old"))
    other = Run("Opening hours", None, "t-9", Result.PASSED, ())
    keep("g-b", 2, Report((other,)))
    keep("g-c", 3, report(Status.FAILED, "new"))

    _, out, err = abs_("diff", "--ci")
    adjacent = abs_("diff", "g-b", "g-c")

    assert out.startswith("g-a → g-c: ")
    assert err == "g-a is the one before of the same sessions (1 of others between are left out)\n"
    assert adjacent[1].startswith("g-b → g-c: ")


def test_gates_say_what_does_not_hold_and_exit_with_1(abs_: Calls) -> None:
    keep_three()

    rate = abs_("diff", "g-a", "g-b", "--min-pass-rate", "0.9")
    lower = abs_("diff", "g-a", "g-c", "--min-pass-rate", "0.9", "--bound", "lower")
    margin = abs_("diff", "g-a", "g-b", "--margin", "0.1")

    assert (rate[0], lower[0], margin[0]) == (1, 1, 1)
    assert rate[2] == "failed: --min-pass-rate 0.9: 0 of 1 sessions passed: 0\n"
    assert "lower bound is 0.207" in lower[2]
    assert margin[2].startswith("failed: --margin 0.1: the share of sessions that pass went by -1")
    assert [
        abs_("diff", "g-a", "g-c", *gate)[0] for gate in (("--margin", "0"), ("--min-pass-rate", "1"))
    ] == [0, 0]


def test_json_says_which_gates_hold(abs_: Calls) -> None:
    keep_three()

    def gates(*arguments: str) -> object:
        return json.loads(abs_("diff", "g-a", "g-b", "--format", "json", *arguments)[1])["gates"]

    assert gates() is None
    assert gates("--min-pass-rate", "0") == {"passed": True, "failures": []}
    assert gates("--fail-on", "any") == {
        "passed": False,
        "failures": [
            "--fail-on any: 1 check changed: t-1 behaviors[0].evaluations[0]",
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--bound", "lower"], "--bound says what --min-pass-rate is measured by"),
        (["--min-pass-rate", "90"], "90"),
        (["--margin", "-1"], "-1"),
        (["--fail-on", "all"], "all"),
    ],
)
def test_a_gate_that_makes_no_sense_is_wrong_usage(abs_: Calls, arguments: list[str], told: str) -> None:
    keep_three()

    status, out, err = abs_("diff", *arguments)

    assert (status, out) == (2, "")
    assert told in err


def test_markdown_for_a_pull_request_folds_what_flipped(abs_: Calls) -> None:
    keep_three()

    _, out, _ = abs_("diff", "g-a", "g-b", "--format", "markdown", "--fail-on", "regression")
    abs_("diff", "g-a", "g-b", "--format", "markdown", "--output", "flips.md")

    assert out.startswith("**❌ FAILED** · 1 of 10 evaluations flipped, 1 to the worse · `g-a` → `g-b`\n")
    assert "- `--fail-on regression: 1 check got worse" in out
    assert "| evaluations | 1 | – | – | 9 | 0 |" in out
    assert (
        "<details><summary>❌ <code>Order status · behaviors[0].evaluations[0] · contains</code>: 1 worse"
        in out
    )
    assert "- `t-1`: ✅ pass → ❌ fail · the rule was edited" in out
    assert "<br>before: `it passed`<br>after: `it failed`" in out
    assert Path("flips.md").read_text(encoding="utf-8").startswith("**❌ 1 of 10 evaluations flipped**")


def test_trials_of_a_grading_are_measured_at_the_k_that_was_asked_for(abs_: Calls) -> None:
    runs = [
        Run("Order status", None, f"t-{nth}", result, (), row=nth // 3)
        for nth, result in enumerate([Result.PASSED] * 5 + [Result.FAILED])
    ]
    keep("g-a", 1, Report(tuple(runs)))

    status, out, _ = abs_("trials")
    found = json.loads(abs_("trials", "g-a", "--k", "3,1", "--format", "json")[1])

    assert status == 0
    assert out.startswith("6 trials of 2 scenarios\n")
    assert "  pass^2    0.667 (0.333–1.000)  over 2 scenarios\n" in out
    assert "Flaky: 1 scenario\n  Order status · row 1: 2 passed, 1 failed\n" in out
    assert [measure["k"] for measure in found["measures"][0]["pass_hat_k"]] == [1, 3]
    for wrong in ("0", "1,x", "", "1,,2", "1.5", "99999999"):
        assert abs_("trials", "--k", wrong)[0] == 2
