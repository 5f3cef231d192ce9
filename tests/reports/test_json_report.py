"""The JSON report: the fields of FORMATS, exact numbers, and back."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay import exact_json
from abs_replay.exact_json import Json, Number
from abs_replay.judgement import Judging, Usage
from abs_replay.reports import render
from abs_replay.reports.json_report import from_json, write
from abs_replay.verdicts import BehaviorResult, Judged, Report, Result, Run, Status, StepStatus, Verdict

CALL = Verdict(
    "behaviors[1].evaluations[0]",
    "tool_call",
    Status.PASSED,
    "the call has the arguments",
    score=1.0,
    evidence=(2,),
    fingerprint="sha256:1",
    label="tool_call",
)
MIXED = Verdict(
    "behaviors[2].evaluations[0]",
    "all_of",
    Status.INCONCLUSIVE,
    "depends on behaviors[1].evaluations[0]",
    threshold=0.7,
    blocking=True,
    children=(Verdict("behaviors[2].evaluations[0].evaluations[0]", "contains", Status.FAILED, "no"),),
    judge="sha256:j",
    cached=True,
    duration_ms=1.5,
    judged=Judged("d1", "f1", (0.2, 0.8), True, Usage(2, 300, 20, 0.01)),
)
RUN = Run(
    session="Refund",
    file="refund.abs.yaml",
    trace="t-0001",
    result=Result.FAILED,
    steps=(
        BehaviorResult("behaviors[0]", "user", "says", StepStatus.SENT, content="Hi", step=1, differs=True),
        BehaviorResult(
            "behaviors[1]",
            "assistant",
            "calls",
            StepStatus.MATCHED,
            "c",
            "Order MCP",
            step=2,
            evaluations=(CALL,),
        ),
        BehaviorResult(
            "behaviors[2]", "assistant", "informs", StepStatus.UNMATCHED, near="step 4", evaluations=(MIXED,)
        ),
        BehaviorResult("behaviors[3]", "assistant", "asks", StepStatus.SKIPPED),
    ),
    chain_evaluations=(
        Verdict("evaluations[0]", "sequence", Status.SKIPPED, "when is false"),
        Verdict("evaluations[1]", "never", Status.ERROR, "time limit"),
    ),
    extra=(5,),
    row=3,
    bindings={"cases.price": Number("1.10"), "n": 12345678901234567890},
    extra_labels=("assistant calls Refund MCP",),
    trace_digest="12ab",
    said=("34cd",),
)
REPORT = Report(
    runs=(RUN, Run("Other", None, "t-2", Result.PASSED, ())),
    grading="g-1",
    warnings=({"file": "refund.abs.yaml", "line": 1, "path": "", "message": "old"},),
    ungraded_sessions=("Nobody's",),
    carried=frozenset({("Refund", "t-0001", "behaviors[1].evaluations[0]")}),
    judging=Judging(1, 2, 3, {"openai m": Usage(2, 300, 20, 0.01), "aws": Usage(1, 5, 6, None)}),
)


def test_the_report_has_the_fields_of_the_format() -> None:
    report = json.loads(render("json", REPORT))

    assert (report["result"], report["passed"], report["grading"]) == ("failed", False, "g-1")
    assert report["totals"] == {
        "sessions": {"passed": 1, "failed": 1, "error": 0},
        "steps": {"sent": 1, "missing": 0, "matched": 1, "unmatched": 1, "skipped": 1, "error": 0},
        "evaluations": {
            "passed": 1,
            "failed": 0,
            "inconclusive": 1,
            "error": 1,
            "not_evaluable": 0,
            "skipped": 1,
        },
    }
    run = report["runs"][0]
    assert (run["steps_total"], run["steps_matched"]) == (3, 2)
    assert (run["evaluations_total"], run["evaluations_passed"]) == (3, 1)
    assert run["extra"] == [5]
    assert run["steps"][1] == {
        "at": "behaviors[1]",
        "id": "c",
        "actor": "assistant",
        "action": "calls",
        "target": "Order MCP",
        "content": None,
        "status": "matched",
        "step": 2,
        "differs": False,
        "near": None,
        "failed": False,
        "evaluations": [
            {
                "at": "behaviors[1].evaluations[0]",
                "type": "tool_call",
                "label": "tool_call",
                "status": "passed",
                "score": 1.0,
                "threshold": None,
                "blocking": False,
                "reason": "the call has the arguments",
                "evidence": [2],
                "children": [],
                "judge": None,
                "judged": None,
                "cached": False,
                "carried": True,
                "duration_ms": 0.0,
                "fingerprint": "sha256:1",
            }
        ],
    }
    assert report["warnings"] == [{"file": "refund.abs.yaml", "line": 1, "path": "", "message": "old"}]
    assert report["ungraded_sessions"] == ["Nobody's"]


def test_the_report_says_what_was_carried_over_decided_and_asked_and_what_that_took() -> None:
    report = json.loads(render("json", REPORT))

    counts = {"carried_over": 1, "decided_anew": 1, "asked": 1, "not_decided": 1}
    assert report.items() >= counts.items()
    unknown = {"calls": 3, "input_tokens": 305, "output_tokens": 26, "cost": None}
    assert report["judge"] == {
        "questions": 6,
        "asked": 1,
        "kept": 2,
        "unanswered": 3,
        **unknown,
        "models": [
            {"judge": "openai m", "calls": 2, "input_tokens": 300, "output_tokens": 20, "cost": 0.01},
            {"judge": "aws", "calls": 1, "input_tokens": 5, "output_tokens": 6, "cost": None},
        ],
    }
    assert json.loads(render("json", Report(())))["judge"] is None


def test_numbers_stand_as_they_were_written() -> None:
    text = render("json", REPORT)

    assert '"cases.price": 1.10' in text
    assert '"n": 12345678901234567890' in text


def test_a_report_reads_back_as_what_was_written() -> None:
    assert from_json(exact_json.loads(render("json", REPORT))) == REPORT


def test_a_report_with_the_fields_of_the_format_alone_reads_back() -> None:
    value = json.loads(render("json", REPORT))
    for run in value["runs"]:
        del run["extra_labels"]

    assert from_json({"runs": value["runs"]}).runs[1] == REPORT.runs[1]


@pytest.mark.parametrize(
    "value", [None, [], {}, {"runs": {}}, {"runs": [{}]}, {"runs": ["x"]}, {"runs": [None]}]
)
def test_what_is_no_report_is_refused_in_words(value: Json) -> None:
    with pytest.raises(ValueError, match="report of `abs grade --format json`"):
        from_json(value)


def test_half_of_a_surrogate_pair_can_be_written_to_a_file() -> None:
    text = write({"content": "\ud83d and \U0001f600"})

    assert json.loads(text.encode("utf-8")) == {"content": "\ud83d and \U0001f600"}


SCALARS = (
    st.none() | st.booleans() | st.integers() | st.text() | st.decimals(-9, 9, places=3).map(str).map(Number)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_reads_back_equal(value: Json) -> None:
    assert exact_json.equal(exact_json.loads(write(value).encode("utf-8")), value)


def test_a_plain_decimal_is_written_as_a_number() -> None:
    assert write([Decimal("2.50")]) == "[\n  2.50\n]\n"


def test_lines_and_what_counted_read_back() -> None:
    run = replace(RUN, lines={"behaviors[1]": 7}, require_match=False, strict_user=True)

    (read,) = from_json(exact_json.loads(render("json", Report((run,))))).runs

    assert (read.lines, read.require_match, read.strict_user) == ({"behaviors[1]": 7}, False, True)
