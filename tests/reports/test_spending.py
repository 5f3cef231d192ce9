"""People read what a judge was asked and what that took, in every format that is for them."""

import pytest

from abs_replay.judgement import Judging, Usage
from abs_replay.reports import render
from abs_replay.reports.spending import dollars
from abs_replay.verdicts import Judged, Report, Result, Run, Status, Verdict

ASKED = Verdict("evaluations[0]", "llm_judge", Status.PASSED, "", judged=Judged("d", usage=Usage(1)))
SAME = Verdict("evaluations[1]", "contains", Status.PASSED, "")
NEW = Verdict("evaluations[2]", "contains", Status.PASSED, "")
REPORT = Report(
    (Run("S", None, "t", Result.PASSED, (), (ASKED, SAME, NEW)),),
    carried=frozenset({("S", "t", "evaluations[1]")}),
    judging=Judging(1, 30, 2, {"openai m": Usage(1, 10_400, 900, 0.0123), "aws": Usage(2, 5, 6, None)}),
)


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_reports_for_people_end_with_it(format_: str) -> None:
    text = render(format_, REPORT)

    assert "1 of 3 verdicts as last time, 1 decided anew, 1 asked of a judge" in text
    assert "1 question asked, 30 answered by kept answers, 2 not asked" in text
    assert "openai m: 1 call, 10,400 tokens in, 900 out, $0.0123" in text
    assert "aws: 2 calls, 5 tokens in, 6 out, price not known" in text


def test_a_report_without_questions_says_nothing_of_judges() -> None:
    quiet = Report(REPORT.runs, judging=Judging())
    assert "judge" not in render("table", quiet).lower().replace("llm_judge", "")


@pytest.mark.parametrize(
    ("cost", "text"), [(None, "price not known"), (0.0, "$0.0000"), (1234.5, "$1,234.50")]
)
def test_amounts_are_told_to_what_matters(cost: float | None, text: str) -> None:
    assert dollars(cost) == text
