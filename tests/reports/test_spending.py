"""People read what a judge was asked and what that took, in every format that is for them."""

from dataclasses import replace

import pytest

from abs_replay.judgement import Judging, Usage
from abs_replay.reports import render
from abs_replay.reports.json_report import as_json
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


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_what_nobody_decided_has_a_word_and_a_count_of_its_own(format_: str) -> None:
    silent = Verdict("evaluations[3]", "llm_judge", Status.ERROR, "no judge configured", judged=Judged("e"))
    broken = Verdict("evaluations[5]", "regex", Status.ERROR, "no such group")
    (run,) = REPORT.runs
    all_ = (*run.verdicts, broken, silent, replace(silent, at="evaluations[4]"))
    report = replace(REPORT, runs=(replace(run, chain_evaluations=all_),))

    text = render(format_, report)

    assert "1 of 6 verdicts as last time, 1 decided anew, 1 asked of a judge" in text
    assert "3 of 6 verdicts, 2 of them: no judge configured" in text
    assert as_json(report).items() >= {"not_decided": 3, "decided_anew": 1, "carried_over": 1}.items()


def test_an_error_that_a_judge_was_asked_for_counts_as_asked() -> None:
    failed = replace(ASKED, status=Status.ERROR, reason="nothing readable")
    report = replace(
        REPORT, runs=(replace(REPORT.runs[0], chain_evaluations=(failed,)),), carried=frozenset()
    )

    assert as_json(report).items() >= {"not_decided": 0, "asked": 1, "decided_anew": 0}.items()


def test_an_error_that_an_earlier_version_called_carried_over_counts_once() -> None:
    failed = replace(SAME, status=Status.ERROR)
    report = replace(REPORT, runs=(replace(REPORT.runs[0], chain_evaluations=(failed, NEW)),))

    assert as_json(report).items() >= {"carried_over": 0, "not_decided": 1, "decided_anew": 1}.items()


def test_a_report_without_questions_says_nothing_of_judges() -> None:
    quiet = Report(REPORT.runs, judging=Judging())
    assert "judge" not in render("table", quiet).lower().replace("llm_judge", "")


@pytest.mark.parametrize(
    ("cost", "text"), [(None, "price not known"), (0.0, "$0.0000"), (1234.5, "$1,234.50")]
)
def test_amounts_are_told_to_what_matters(cost: float | None, text: str) -> None:
    assert dollars(cost) == text
