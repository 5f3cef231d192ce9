"""`abs diff`, as it is called: gradings of a store, saved reports, and the gate."""

import json
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


def test_a_file_that_is_not_there_is_told_so(abs_: Calls) -> None:
    assert abs_("diff", "nothing.json", "last")[2].startswith("abs: nothing.json: no such file")


def test_a_store_with_one_grading_has_nothing_to_compare(abs_: Calls) -> None:
    keep("g-a", 1, report(Status.PASSED, "old"))

    status, _, err = abs_("diff")

    assert status == 2
    assert err.startswith("abs: no grading 'last~1'")
