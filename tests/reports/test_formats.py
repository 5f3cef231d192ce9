"""Every format shows every report: saved ones as the golden files have them, and any that can be."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from abs_replay import exact_json
from abs_replay.reports import PAPER, REPORTS, Screen, render
from abs_replay.reports.json_report import from_json
from abs_replay.reports.markdown_text import LARGEST, length
from abs_replay.reports.saved import checked
from abs_replay.verdicts import BehaviorResult, Report, Result, Run, Status, StepStatus, Verdict

SAVED = sorted((Path(__file__).parent.parent.parent / "fixtures/reports").glob("*.json"))
ANY_SCREEN = [
    Screen(80, failed=failed, detail=detail) for failed in (False, True) for detail in (None, 0, 1, 2)
]

TEXT = st.text(max_size=20) | st.sampled_from(
    ["`", "|", "\x00\ud800\ufffe", "::error::", "</x>", "\r\n", "@a #1"]
)
VERDICTS: st.SearchStrategy[Verdict] = st.deferred(
    lambda: st.builds(
        Verdict,
        at=TEXT,
        type=TEXT,
        status=st.sampled_from(Status),
        reason=TEXT,
        label=TEXT,
        children=st.lists(VERDICTS, max_size=1).map(tuple),
        evidence=st.lists(st.integers(0, 9), max_size=2).map(tuple),
        duration_ms=st.floats(),
    )
)
SOME_VERDICTS = st.lists(VERDICTS, max_size=2).map(tuple)
STEPS = st.builds(
    BehaviorResult,
    at=TEXT,
    actor=TEXT,
    action=TEXT,
    status=st.sampled_from(StepStatus),
    content=st.none() | TEXT | st.dictionaries(TEXT, TEXT, max_size=2),
    differs=st.booleans(),
    near=st.none() | TEXT,
    evaluations=SOME_VERDICTS,
)
RUNS = st.builds(
    Run,
    session=TEXT,
    file=st.none() | TEXT,
    trace=TEXT,
    result=st.sampled_from(Result),
    steps=st.lists(STEPS, max_size=3).map(tuple),
    chain_evaluations=SOME_VERDICTS,
    extra=st.just((1, 2)),
    extra_labels=st.lists(TEXT, max_size=2).map(tuple),
    agent=st.none() | TEXT,
    row=st.none() | st.integers(0, 9),
    bindings=st.dictionaries(TEXT, TEXT, max_size=2),
    require_match=st.booleans(),
    strict_user=st.booleans(),
    lines=st.dictionaries(TEXT, st.integers(1, 99), max_size=2),
)
REPORTED = st.builds(
    Report,
    runs=st.lists(RUNS, max_size=3).map(tuple),
    grading=st.none() | TEXT,
    ungraded_sessions=st.lists(TEXT, max_size=7).map(tuple),
)


def read(path: Path) -> Report:
    return checked(from_json(exact_json.loads(path.read_bytes())))


@pytest.mark.parametrize("name", REPORTS)
@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_every_format_shows_every_saved_report_to_any_depth(path: Path, name: str) -> None:
    for screen in ANY_SCREEN:
        assert render(name, read(path), screen)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(REPORTED, st.sampled_from(ANY_SCREEN))
def test_every_format_shows_any_report_and_what_machines_read_parses(report: Report, screen: Screen) -> None:
    for name in ("table", "markdown", "github"):
        render(name, report, screen).encode("utf-8")
    numbered = replace(
        report, runs=tuple(replace(run, steps=(), chain_evaluations=()) for run in report.runs)
    )

    assert from_json(exact_json.loads(render("json", numbered))) == numbered
    assert ElementTree.fromstring(render("junit", report, screen)).tag == "testsuites"
    assert length(render("markdown", report, screen)) <= LARGEST


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(RUNS)
def test_junit_agrees_with_the_result_of_any_run(run: Run) -> None:
    suite = ElementTree.fromstring(render("junit", Report((run,))))[0]

    bad = (
        int(suite.get("failures", ""))
        + int(suite.get("errors", ""))
        + len(suite.findall(".//*[@type='inconclusive']"))
    )
    if run.result is not Result.PASSED:
        assert bad > 0


def test_a_saved_report_that_only_looks_like_one_is_refused_with_the_field() -> None:
    value = json.loads(SAVED[0].read_text(encoding="utf-8"))

    for field, wrong in (
        ("session", 1),
        ("trace", None),
        ("row", "x"),
        ("lines", {"a": "b"}),
        ("file", True),
    ):
        damaged = {**value, "runs": [{**value["runs"][0], field: wrong}]}
        with pytest.raises(ValueError, match=rf"runs\[0\]\.{field}.* must be "):
            checked(from_json(damaged))


def test_no_format_but_the_table_changes_with_the_screen() -> None:
    report = read(SAVED[0])

    for name in ("json", "junit", "markdown", "github"):
        assert render(name, report, Screen(40, colour=True)) == render(name, report, PAPER)
        assert not re.search("\x1b", render(name, report, Screen(40, colour=True)))


@pytest.mark.parametrize(
    ("name", "sign"),
    [
        ("table", "❌   │ differs │"),
        ("json", '"failed": true'),
        ("junit", '<failure type="failed"'),
        ("markdown", "- ❌ `user says"),
        ("github", "::error "),
    ],
)
def test_other_words_of_the_user_are_a_failed_row_in_every_format_where_they_count(
    name: str, sign: str
) -> None:
    said = BehaviorResult("behaviors[0]", "user", "says", StepStatus.SENT, content="hi", step=1, differs=True)
    strict = Run("A", "a.yaml", "t", Result.FAILED, (said,), strict_user=True)
    lenient = replace(strict, strict_user=False, result=Result.PASSED)

    shown, fine = (re.sub(" +", " ", render(name, Report((run,)))) for run in (strict, lenient))

    assert re.sub(" +", " ", sign) in shown
    assert re.sub(" +", " ", sign) not in fine
