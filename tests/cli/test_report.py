"""`abs report`, as it is called: any format of a saved report, part of it, and files that are none."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from abs_replay.cli import cli
from abs_replay.cli.failure import run
from abs_replay.reports import REPORTS, Screen

FIXTURES = Path(__file__).parent.parent.parent / "fixtures/reports"

type Calls = Callable[..., tuple[int, str, str]]


@pytest.fixture
def abs_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Calls:
    """Call `abs` in a folder with a saved report; gives exit status, standard output and error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_WORKSPACE", raising=False)
    shutil.copy(FIXTURES / "mixed.json", "r.json")

    def call(*arguments: str) -> tuple[int, str, str]:
        status = run(cli, arguments)
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return call


@pytest.mark.parametrize("name", REPORTS)
def test_a_saved_report_is_shown_in_every_format_with_status_0(abs_: Calls, name: str) -> None:
    endings = {
        "json": "mixed.json",
        "junit": "mixed.xml",
        "markdown": "mixed.md",
        "github": "mixed.github.txt",
    }

    status, out, err = abs_("report", "r.json", "--format", name)

    assert (status, err) == (0, "")
    if name in endings:
        assert out == (FIXTURES / endings[name]).read_text(encoding="utf-8")


def test_failed_leaves_out_what_passed_and_keeps_the_totals(abs_: Calls) -> None:
    _, whole, _ = abs_("report", "r.json", "--format", "json")
    _, failed, _ = abs_("report", "r.json", "--format", "json", "--failed")
    _, table, _ = abs_("report", "r.json", "--failed")

    report = json.loads(failed)
    verdicts = [
        verdict
        for found in report["runs"]
        for verdict in (
            *found["chain_evaluations"],
            *(v for step in found["steps"] for v in step["evaluations"]),
        )
    ]
    assert report["totals"] == json.loads(whole)["totals"]
    assert len(report["runs"]) == 5
    assert {verdict["status"] for verdict in verdicts} == {"failed", "error", "inconclusive", "not_evaluable"}
    assert "PASSED" not in table
    assert "sent │" not in table
    assert "skipped │" not in table
    assert "│  4 │ assistant informs" in table, "the step that a failed check is of stays, with its number"
    assert all(step["failed"] or step["evaluations"] for run in report["runs"] for step in run["steps"])
    assert "<details>" not in abs_("report", "r.json", "--failed", "--format", "markdown")[1]
    assert "10 graded · 5 passed · 4 failed · 1 error" in table


def test_detail_says_how_much_of_each_run_the_table_shows(abs_: Calls) -> None:
    lines, problems, whole = (abs_("report", "r.json", "--detail", str(n))[1] for n in range(3))

    assert "│" not in lines
    assert lines.count("✅ PASSED") == 5
    assert problems.count("✅ PASSED  ") == 5
    assert "no judge is configured" in problems
    assert "variable_consistency" not in problems
    assert "Anything else?" not in problems
    assert whole.count("variable_consistency") == 3
    assert "│  2 │ assistant calls Order MCP" in problems, "steps keep their numbers"


def test_ci_is_plain_and_100_columns_wide_also_on_a_terminal(
    abs_: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, piped, _ = abs_("report", "r.json")
    monkeypatch.setattr(Screen, "of", lambda stream: Screen(60, colour=True))

    assert abs_("report", "r.json", "--ci") == (0, piped, "")
    assert abs_("report", "r.json")[1] != piped


def test_junit_of_the_failed_alone_parses(abs_: Calls) -> None:
    _, out, _ = abs_("report", "r.json", "--format", "junit", "--failed")

    assert ElementTree.fromstring(out).attrib["failures"] == "6"


def test_formats_that_are_whole_refuse_a_detail(abs_: Calls) -> None:
    status, out, err = abs_("report", "r.json", "--format", "junit", "--detail", "1")

    assert (status, out) == (2, "")
    assert "--detail is for table and markdown" in err


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[",
        "[]",
        "{}",
        '{"runs": [{}]}',
        '{"runs": [], "warnings": 5}',
        '{"runs": [], "grading": {}}',
        "\xff",
        "[" * 9999,
    ],
)
def test_a_file_that_is_no_report_is_refused_in_one_line(abs_: Calls, text: str) -> None:
    Path("bad.json").write_bytes(text.encode("latin-1"))

    status, out, err = abs_("report", "bad.json")

    assert (status, out) == (2, "")
    assert err.startswith("abs: bad.json: ")
    assert err.count("\n") == 1


def test_a_file_that_is_not_there_is_said_in_one_line(abs_: Calls) -> None:
    assert abs_("report", "none.json") == (
        2,
        "",
        "abs: none.json: can not be read (No such file or directory)\n",
    )
