"""The report as JUnit XML, for the CI systems that read it: a suite a run, a case a check.

The elements and attributes are those of Jenkins' junit-10.xsd, which GitLab and GitHub's actions read
too. It is written in ASCII with character references, so that it is the same XML in whatever
encoding it travels.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from abs_replay.reports import PAPER, Screen
from abs_replay.reports.checks import Check, checks
from abs_replay.reports.labels import quoted
from abs_replay.verdicts import Report, Run, Status, Verdict

# SEMANTICS R1: neither `error` nor `not_evaluable` is ever counted as failed or as passed. Both are
# errors here: a skipped case leaves a build green, while a session with either has not passed and
# ends with exit status 1 (R3). What is inconclusive is skipped: it hangs on a blocking evaluation
# that failed (R5), which is a failure in the same suite.
OUTCOMES = {
    Status.FAILED: "failure",
    Status.ERROR: "error",
    Status.NOT_EVALUABLE: "error",
    Status.PENDING: "error",
    Status.INCONCLUSIVE: "skipped",
    Status.SKIPPED: "skipped",
}
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}
OF_ALL = ("tests", "failures", "errors", "time")  # what `testsuites` may have
LONGEST_MESSAGE = 500  # characters; the whole reason is the element's text
LONGEST_TIME_MS = 1e12

# https://www.w3.org/TR/xml/#charsets; a carriage return is allowed, but read as a line's end.
FORBIDDEN = re.compile("[^\t\n\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Write every check of every run."""
    return display(report, PAPER)


def display(report: Report, screen: Screen) -> str:
    """Write the checks; where only failed ones are asked for, the counts are of these."""
    shown = [nth for nth, run in enumerate(report.runs) if not (screen.failed and run.passed)]
    names = _classnames(report.runs)
    root = Element("testsuites", name="abs")
    for nth in shown:
        root.append(_suite(report, nth, names[nth], screen.failed))
    for name in OF_ALL:
        root.set(name, _total(name, [suite.get(name, "0") for suite in root]))
    indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="us-ascii").decode()}\n'


def _total(name: str, counts: Iterable[str]) -> str:
    return f"{sum(map(float, counts)):.3f}" if name == "time" else str(sum(map(int, counts)))


def _classnames(runs: Sequence[Run]) -> list[str]:
    """Name the runs so that a CI system finds them again: by session and row, else by their order.

    A trace's id is new with each recording, and would begin a new history each time.
    """
    rows = ("" if run.row is None else f" row {run.row}" for run in runs)
    return _unique(f"{run.session}{row}" for run, row in zip(runs, rows, strict=True))


def _unique(names: Iterable[str]) -> list[str]:
    given: dict[str, None] = {}
    counts: Counter[str] = Counter()
    for name in map(_clean, names):
        counts[name] += 1
        unique = name if counts[name] == 1 else f"{name} #{counts[name]}"
        while unique in given:
            counts[name] += 1
            unique = f"{name} #{counts[name]}"
        given[unique] = None
    return list(given)


def _suite(report: Report, nth: int, classname: str, failed_only: bool) -> Element:
    run = report.runs[nth]
    listed = checks(run)
    cases = [
        _case(run, check, name, classname)
        for check, name in zip(listed, _unique(check.name for check in listed), strict=True)
        if not (failed_only and check.is_fine)
    ]
    suite = _element("testsuite", name=f"{run.session} · {run.trace}", id=str(nth), tests=str(len(cases)))
    for name, outcome in COUNTED.items():
        suite.set(name, str(sum(case.find(outcome) is not None for case in cases)))
    suite.set("time", _total("time", [case.get("time", "0") for case in cases]))
    if run.file is not None:
        suite.set("file", _clean(run.file))
    suite.append(_properties(report, run))
    suite.extend(cases)
    return suite


def _properties(report: Report, run: Run) -> Element:
    known = {"trace": run.trace, "result": run.result.value, "agent": run.agent, "grading": report.grading}
    data = {f"data.{name}": quoted(value) for name, value in run.bindings.items()}
    properties = Element("properties")
    for name, value in {**known, **data}.items():
        if value is not None:
            properties.append(_element("property", name=name, value=value))
    return properties


def _case(run: Run, check: Check, name: str, classname: str) -> Element:
    time = _seconds(check.verdict.duration_ms if check.verdict else 0)
    case = _element("testcase", name=name, classname=classname, time=time)
    if outcome := OUTCOMES.get(check.status):
        message = f"{check.label}: {check.reason}"
        cut = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"
        told = SubElement(case, outcome, type=check.status.value, message=_clean(cut))
        told.text = _clean("\n".join(_body(run, check)))
    return case


def _body(run: Run, check: Check) -> list[str]:
    line = run.lines.get(check.at)
    place = f"{run.file}:{line}" if run.file and line else run.file
    at = " ".join(part for part in (check.at, f"({place})" if place else "") if part)
    lines = [_barred(check.label), _barred(check.reason), *([f"at {at}"] if at else [])]
    if check.verdict:
        if check.verdict.evidence:
            lines.append(f"steps {', '.join(map(str, check.verdict.evidence))} of {run.trace}")
        lines += [part for child in check.verdict.children for part in _part(child, "  ")]
    return lines


def _part(verdict: Verdict, margin: str) -> list[str]:
    own = f"{margin}{verdict.status.value}: {verdict.label or verdict.type}: {verdict.reason}"
    return [_barred(own), *(part for child in verdict.children for part in _part(child, f"{margin}  "))]


def _barred(text: str) -> str:
    """Text whose further lines begin with a bar: GitHub takes a printed line for a command that begins with
    `::error::`."""
    return text.replace("\n", "\n| ")


def _element(tag: str, **attributes: str) -> Element:
    return Element(tag, {name: _clean(value) for name, value in attributes.items()})


def _clean(text: str) -> str:
    return FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _seconds(milliseconds: float) -> str:
    """Seconds as the schema writes them; a saved report may hold any number."""
    return f"{milliseconds / 1000:.3f}" if 0 <= milliseconds < LONGEST_TIME_MS else "0.000"
