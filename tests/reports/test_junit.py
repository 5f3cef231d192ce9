"""JUnit XML: what Jenkins' junit-10.xsd allows, counts that add up, names that last."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from abs_replay import exact_json
from abs_replay.reports import PAPER, render
from abs_replay.reports.json_report import from_json
from abs_replay.verdicts import Report, Result, Run, Status, Verdict

FIXTURES = Path(__file__).parent.parent.parent / "fixtures/reports"

# The rules of jenkinsci/xunit-plugin, src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/
# junit-10.xsd, for the elements that are written: required attributes, others, children.
SCHEMA: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": (
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "skipped": (set(), {"type", "message"}, set()),
    "error": (set(), {"type", "message"}, set()),
    "failure": (set(), {"type", "message"}, set()),
}
MAY_HOLD_TEXT = ("skipped", "error", "failure")
SUREFIRE_TIME = re.compile(r"[0-9]{1,12}\.[0-9]{3}")


def saved(name: str) -> Report:
    return from_json(exact_json.loads((FIXTURES / f"{name}.json").read_bytes()))


def parsed(report: Report) -> Element:
    return ElementTree.fromstring(render("junit", report))


def problems(element: Element) -> list[str]:
    required, optional, children = SCHEMA[element.tag]
    found = [f"{element.tag} lacks {name}" for name in required - set(element.attrib)]
    found += [f"{element.tag} has {name}" for name in set(element.attrib) - required - optional]
    found += [f"{element.tag} holds {child.tag}" for child in element if child.tag not in children]
    if element.tag not in MAY_HOLD_TEXT and (element.text or "").strip():
        found.append(f"{element.tag} holds text")
    if "time" in element.attrib and not SUREFIRE_TIME.fullmatch(element.attrib["time"]):
        found.append(f"{element.tag} took {element.attrib['time']}")
    return found + [problem for child in element for problem in problems(child)]


@pytest.mark.parametrize("name", ["passed", "mixed"])
def test_a_saved_report_as_junit(name: str, golden: Callable[[str, str], None]) -> None:
    golden(f"reports/{name}.xml", render("junit", saved(name)))


@pytest.mark.parametrize("name", ["passed", "mixed"])
def test_every_element_and_attribute_is_one_of_the_schema_of_jenkins(name: str) -> None:
    assert problems(parsed(saved(name))) == []
    assert problems(parsed(Report(()))) == []


def test_the_counts_are_those_of_the_cases_at_every_level() -> None:
    root = parsed(saved("mixed"))
    total: Counter[str] = Counter()

    for suite in root:
        cases = suite.findall("testcase")
        outcomes = Counter(child.tag for case in cases for child in case)
        counted = {"tests": len(cases), "failures": outcomes["failure"], "errors": outcomes["error"]}
        assert {name: int(suite.attrib[name]) for name in counted} == counted
        assert int(suite.attrib["skipped"]) == outcomes["skipped"]
        assert all(len(case) <= 1 for case in cases)
        total.update(counted)

    assert {name: int(root.attrib[name]) for name in total} == dict(total)
    assert float(root.attrib["time"]) == pytest.approx(sum(float(suite.attrib["time"]) for suite in root))


@pytest.mark.parametrize(
    ("status", "tag"),
    [
        (Status.PASSED, None),
        (Status.FAILED, "failure"),
        (Status.ERROR, "error"),
        (Status.NOT_EVALUABLE, "error"),
        (Status.INCONCLUSIVE, "skipped"),
        (Status.SKIPPED, "skipped"),
    ],
)
def test_only_what_failed_is_a_failure_and_only_what_passed_is_bare(status: Status, tag: str | None) -> None:
    verdict = Verdict("evaluations[0]", "never", status, "why", label="never: hands_off", duration_ms=1500)
    run = Run("S", "s.abs.yaml", "t", Result.ERROR, (), (verdict,), lines={"evaluations[0]": 7})

    case = parsed(Report((run,))).findall("testsuite/testcase")[0]

    assert [child.tag for child in case] == ([tag] if tag else [])
    assert case.attrib == {"name": "evaluations[0] never", "classname": "S", "time": "1.500"}
    if tag:
        assert case[0].attrib == {"type": status.value, "message": "never: hands_off: why"}
        assert "s.abs.yaml:7" in (case[0].text or "")


def test_what_did_not_count_is_no_failure() -> None:
    suites = {suite.attrib["name"]: suite for suite in parsed(saved("mixed"))}

    assert suites["Lenient · t-l"].attrib["failures"] == "0"
    assert suites["Strict · t-s"].attrib["failures"] == "1"


def test_names_are_unique_and_know_no_trace() -> None:
    report = saved("mixed")
    again = replace(report, runs=tuple(replace(run, trace=f"{run.trace}-new") for run in report.runs))

    def names(of: Report) -> list[tuple[str, str]]:
        return [(case.attrib["classname"], case.attrib["name"]) for case in parsed(of).iter("testcase")]

    assert len(set(names(report))) == len(names(report))
    assert names(again) == names(report)


def test_characters_that_xml_forbids_are_shown_by_their_code() -> None:
    run = Run(
        "a\x00b\ud800", None, "t\x1b", Result.FAILED, (), (Verdict("e\x08", "t", Status.FAILED, "\ufffe"),)
    )

    text = render("junit", Report((run,)))

    assert text.isascii()
    assert parsed(Report((run,)))[0].attrib["name"] == r"a\u0000b\ud800 · t\u001b"


def test_with_failed_alone_the_counts_are_of_what_is_listed() -> None:
    root = ElementTree.fromstring(render("junit", saved("mixed"), replace(PAPER, failed=True)))

    cases = list(root.iter("testcase"))
    assert root.attrib["tests"] == str(len(cases))
    assert all(len(case) == 1 for case in cases)
    assert "skipped" not in {child.attrib["type"] for case in cases for child in case}


def test_no_printed_line_is_a_command_of_githubs() -> None:
    said = "cut off\n::error::x\r\n  ::set-output name=x::y"
    part = Verdict("evaluations[0].any_of[0]", "contains", Status.FAILED, said)
    verdict = Verdict("evaluations[0]", "any_of", Status.FAILED, said, label=said, children=(part,))

    text = render("junit", Report((Run("S", None, "t", Result.FAILED, (), (verdict,)),)))

    assert not [line for line in text.splitlines() if line.strip().startswith("::")]
    assert "\n| ::error::x" in text
