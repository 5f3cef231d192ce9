"""The report as GitHub workflow commands: each failure is shown at its line of the session's file.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands. GitHub shows ten
errors and ten warnings of a step, so that what failed alike in many traces is one of them.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from abs_replay.reports import totals
from abs_replay.reports.cells import escaped
from abs_replay.reports.checks import Check, told
from abs_replay.reports.totals import plural
from abs_replay.verdicts import Report, Result, Run, Status

MOST_TRACES = 5  # of one annotation
LONGEST_TITLE = 120  # characters
LONGEST_REASON = 1000

# The runner's own words: actions/runner, src/Runner.Common/ActionCommand.cs
DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
PROPERTY = DATA | {":": "%3A", ",": "%2C"}

type Found = list[tuple[Run, Check]]


def render(report: Report, environment: Mapping[str, str] = os.environ) -> str:
    """Write an error for all that failed, a warning for what could not be decided (R1), and a summary."""
    errors, warnings = (_grouped(report.runs, failed) for failed in (True, False))
    lines = [_annotation("error", found, environment) for found in errors]
    lines += [_annotation("warning", found, environment) for found in warnings]
    return "".join(f"{line}\n" for line in [*lines, _summary(report)])


def _grouped(runs: Sequence[Run], failed: bool) -> list[Found]:
    groups: dict[tuple[str | None, str, str], Found] = {}
    for run in runs:
        for check in told(run):
            if (check.status is Status.FAILED) is failed:
                groups.setdefault((run.file, run.session, check.at), []).append((run, check))
    return list(groups.values())


def _annotation(command: str, found: Found, environment: Mapping[str, str]) -> str:
    run, check = found[0]
    line = run.lines.get(check.at)
    title = _cut(escaped(f"{run.session}: {check.label}"), LONGEST_TITLE)
    return annotation(command, run.file, line, title, "\n".join(_message(found)), environment)


def annotation(
    command: str,
    file: str | None,
    line: int | None,
    title: str,
    message: str,
    environment: Mapping[str, str] = os.environ,
) -> str:
    """One workflow command, `error` or `warning`; title and message are fit to be printed."""
    properties = {
        "file": _from_root(file, environment) if file else "",
        "line": str(line) if file and line else "",
        "title": title,
    }
    given = ",".join(f"{name}={_replaced(value, PROPERTY)}" for name, value in properties.items() if value)
    return f"::{command} {given}::{_replaced(message, DATA)}"


def _message(found: Found) -> Iterator[str]:
    for run, check in found[:MOST_TRACES]:
        undecided = "" if check.status is Status.FAILED else f"{check.status.value.replace('_', ' ')}: "
        row = "" if run.row is None else f", row {run.row}"
        yield f"{undecided}{_cut(escaped(check.reason), LONGEST_REASON)} ({escaped(run.trace)}{row})"
        if check.followers:
            yield f"{plural(check.followers, 'evaluation')} of it failed with that."
    if len(found) > MOST_TRACES:
        yield f"and in {plural(len(found) - MOST_TRACES, 'more trace')}"


def _summary(report: Report) -> str:
    """Numbers alone: a text out of a trace could be taken for a command."""
    counts = totals.session_counts(report.runs)
    listed = [check for run in report.runs for check in told(run)]
    failed = sum(check.status is Status.FAILED for check in listed)
    followers = sum(check.followers for check in listed)
    parts = [
        f"{counts[Result.PASSED]} of {plural(len(report.runs), 'session')} passed",
        f"{plural(failed + followers, 'check')} failed",
        f"{len(listed) - failed} undecided",
    ]
    return f"abs: {report.result.value}: {', '.join(parts)}"


def _from_root(file: str, environment: Mapping[str, str]) -> str:
    """GitHub takes paths from the repository's root, also where the step works in a folder below."""
    root = environment.get("GITHUB_WORKSPACE")
    path = Path(file).absolute()
    inside = root is not None and path.is_relative_to(root)
    return escaped(path.relative_to(root).as_posix() if root and inside else file)


def _replaced(text: str, table: Mapping[str, str]) -> str:
    return "".join(table.get(character, character) for character in text)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
