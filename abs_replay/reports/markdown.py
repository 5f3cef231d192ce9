"""The report as Markdown for a comment on a pull request: the verdict, the counts, what failed and why.

Whatever comes from a trace or a document stands in a code span. There GitHub makes nothing a link, a
mention, an emoji or HTML (https://github.github.com/gfm/#code-spans). A comment holds 65,536
characters: what does not fit is left out from the end, and the last line says how much that was.
"""

import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from abs_replay.reports import PAPER, Screen, spending, totals
from abs_replay.reports.cells import escaped
from abs_replay.reports.checks import Check, checks, told
from abs_replay.reports.table import EVALUATIONS, RESULTS
from abs_replay.reports.totals import plural, trials_line
from abs_replay.verdicts import Report, Run, Status

LARGEST = 65_536  # characters, as JavaScript counts them
LONGEST_NAME = 200
LONGEST_REASON = 1000
TICKS = re.compile("`+")
COLUMNS = tuple(status for status in Status if status is not Status.PENDING)


@dataclass(slots=True)
class Room:
    """What is written so far, and how much more fits."""

    left: int
    lines: list[str] = field(default_factory=list)

    def add(self, *lines: str) -> bool:
        """Add lines that belong together; where there is no room for all of them, nothing comes behind."""
        size = sum(length(line) + 1 for line in lines)
        if size > self.left:
            self.left = 0
            return False
        self.left -= size
        self.lines += lines
        return True


def length(text: str) -> int:
    """The length in UTF-16 units, which is what GitHub's pages and clients count."""
    return len(text.encode("utf-16-le")) // 2


def render(report: Report) -> str:
    """Write the report for a comment; 65,536 characters at most."""
    return display(report, PAPER)


def display(report: Report, screen: Screen) -> str:
    """Write it with `screen.detail`: 0 the counts, 1 what is not fine, 2 (or None) folded details, too."""
    room = Room(LARGEST - 500)  # the last line has its place
    room.add(*_head(report))
    unfinished = [run for run in report.runs if not run.passed] if screen.detail != 0 else []
    left_out = sum(_failures(run, room) for run in unfinished)
    if screen.detail in (2, None) and not screen.failed:
        left_out += sum(_details(run, room) for run in unfinished)
    if not screen.failed and screen.detail != 0:
        left_out += _folded_list([run for run in report.runs if run.passed], room)
    closing = [f"\n{name}: {code(fact)}" for name, fact in spending.facts(report)]
    if line := trials_line(report.runs):
        closing.append(f"\nTrials: {code(line, LONGEST_REASON)}")
    closing += [f"\nGrading {code(report.grading)}"] if report.grading else []
    if left_out:
        closing.append(f"\n{plural(left_out, 'more line')} had no room here; `--format json` has all.")
    return "\n".join([*room.lines, *closing]) + "\n"


def with_fence(report: str, text: str) -> str:
    """The report with text of several lines below it, as much of that as a comment has room for."""
    longest = max(map(len, TICKS.findall(text)), default=0)
    fence = "`" * max(longest + 1, 3)
    room = Room(LARGEST - length(report) - 2 * len(fence) - 100)
    lines = text.splitlines()
    left_out = _add_each(lines, room)
    note = [f"({plural(left_out, 'more line')} had no room here)"] if left_out else []
    return "\n".join([report, f"{fence}text", *room.lines, fence, *note]) + "\n"


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """Text as a code span of one line, fenced by more backticks than it has in a row."""
    shown = escaped(text[:longest])
    shown = shown if len(text) <= longest else f"{shown}…"
    if not shown.strip():
        return "(empty)"
    fence = "`" * (max(map(len, TICKS.findall(shown)), default=0) + 1)
    # One blank on each side is taken away again, where both are there.
    blank = " " if shown[0] in " `" or shown[-1] in " `" else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def _head(report: Report) -> Iterator[str]:
    symbol, word, _ = RESULTS[report.result]
    passed = sum(run.passed for run in report.runs)
    yield f"**{symbol} {word}** · {passed} of {plural(len(report.runs), 'session')} passed"
    yield ""
    yield from _counts(report)
    for name in report.ungraded_sessions[:5]:
        yield f"\nNot graded: {code(name)}, no trace names it"
    if len(report.ungraded_sessions) > 5:
        yield f"\nNot graded, either: {len(report.ungraded_sessions) - 5} more sessions"


def _counts(report: Report) -> Iterator[str]:
    yield f"| | {' | '.join(status.value.replace('_', ' ') for status in COLUMNS)} |"
    yield f"|---{'|---:' * len(COLUMNS)}|"
    sessions = totals.session_counts(report.runs)
    yield _row("sessions", sessions)
    listed = [check for run in report.runs for check in checks(run)]
    yield _row("matches", Counter(check.status for check in listed if not check.verdict))
    yield _row("evaluations", totals.evaluation_counts(report.runs))


def _row(name: str, counts: dict[str, int] | Counter[Status]) -> str:
    shown = {str(status): count for status, count in counts.items()}
    return f"| {name} | {' | '.join(str(shown.get(status) or '–') for status in COLUMNS)} |"


def _failures(run: Run, room: Room) -> int:
    """Add what is not fine in a run, and give how many lines had no room."""
    symbol = RESULTS[run.result][0]
    lines = [f"- {_line(run, check)}" for check in told(run)]
    if not room.add("", f"### {symbol} {_named(run)}", "", *lines[:1]):
        return len(lines) + 1
    return _add_each(lines[1:], room)


def _add_each(lines: Sequence[str], room: Room) -> int:
    for nth, line in enumerate(lines):
        if not room.add(line):
            return len(lines) - nth
    return 0


def _named(run: Run) -> str:
    row = "" if run.row is None else f", row {run.row}"
    return f"{code(run.session)} · {code(run.trace)}{row}"


def _line(run: Run, check: Check) -> str:
    """One check: what was expected, where that is written, and what came of it."""
    line = run.lines.get(check.at)
    place = f"{run.file}:{line}" if run.file and line else check.at or run.file or run.session
    followers = f" (and {plural(check.followers, 'evaluation')} of it)" if check.followers else ""
    what = f"{_status(check)} {code(check.label)}{followers} at {code(place)}"
    return f"{what}<br>{code(check.reason, LONGEST_REASON)}"


def _status(check: Check) -> str:
    symbol, word, _ = EVALUATIONS[check.status]
    return symbol if check.status in (Status.FAILED, Status.PASSED) else f"{symbol} {word}:"


def _details(run: Run, room: Room) -> int:
    lines = [f"{_margin(check)}- {_status(check)} {code(check.label)}" for check in checks(run)]
    extra = zip(run.extra, run.extra_labels, strict=False)
    lines += [f"- · extra: {code(label)} (step {seq})" for seq, label in extra]
    return folded(f"All of <code>{html.escape(escaped(run.session[:LONGEST_NAME]))}</code>", lines, room)


def _margin(check: Check) -> str:
    return "  " if check.verdict and "." in check.at else ""


def _folded_list(runs: Sequence[Run], room: Room) -> int:
    if not runs:
        return 0
    lines = [f"- {_named(run)}: {_score(run)}" for run in runs]
    return folded(f"✅ {plural(len(runs), 'session')} passed", lines, room)


def _score(run: Run) -> str:
    score = totals.score(run)
    matched = f"{score.steps_matched}/{score.steps_total} matched"
    return f"{matched}, {score.evaluations_passed}/{score.evaluations_total} evaluations passed"


def folded(summary: str, lines: Sequence[str], room: Room) -> int:
    """Add a list folded under `summary` (HTML), as much as has room; give how many lines had none."""
    end = ("", "</details>")
    inner = Room(room.left - sum(length(line) + 1 for line in end))
    if not inner.add("", f"<details><summary>{summary}</summary>", "", *lines[:1]):
        room.left = 0
        return len(lines)
    left_out = _add_each(lines[1:], inner)
    room.add(*inner.lines, *end)
    room.left = 0 if left_out else room.left
    return left_out
