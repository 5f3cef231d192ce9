"""The report as Markdown for a comment on a pull request: the verdict, the counts, what failed and why.

A few runs are told one by one. Of many it is told which checks are not fine, each once with its traces, those
that failed first; what passed is counted. What does not fit into a comment is left out from the end, and the
last line says how much that was.
"""

import html
from collections import Counter
from collections.abc import Iterator, Sequence

from abs_replay.reports import PAPER, Screen, spending, totals
from abs_replay.reports.cells import escaped
from abs_replay.reports.checks import Check, checks, told
from abs_replay.reports.markdown_text import (
    LARGEST,
    LONGEST_NAME,
    LONGEST_REASON,
    Room,
    add_each,
    code,
    folded,
    length,
)
from abs_replay.reports.table import EVALUATIONS, FOLD_ABOVE, RESULTS
from abs_replay.reports.totals import plural, trials_line
from abs_replay.verdicts import Report, Run, Status

MOST_CHECKS = 40  # that are not fine, of many runs
MOST_NAMED = 5  # traces of one of them
MOST_LISTED = 100  # traces that did not pass
COLUMNS = tuple(status for status in Status if status is not Status.PENDING)
WORST_FIRST = (Status.FAILED, Status.ERROR, Status.NOT_EVALUABLE, Status.INCONCLUSIVE)


def render(report: Report) -> str:
    """Write the report for a comment; `LARGEST` characters at most."""
    return display(report, PAPER)


def display(report: Report, screen: Screen, most: int = LARGEST) -> str:
    """Write it with `screen.detail`: 0 the counts, 1 what is not fine, 2 folded details of each run, too;
    None does that for a few runs, and groups many by what is not fine in them."""
    closing = list(_closing(report))
    room = Room(most - sum(length(line) + 1 for line in closing) - 100)  # the last line has its place
    room.add(*_head(report))
    unfinished = [run for run in report.runs if not run.passed] if screen.detail != 0 else []
    passed = [run for run in report.runs if run.passed]
    if screen.detail is None and len(report.runs) > FOLD_ABOVE:
        left_out = _grouped(unfinished, report, room)
        left_out += 0 if screen.failed or not passed else not room.add("", _passed(passed))
    else:
        left_out = sum(_failures(run, room) for run in unfinished)
        if screen.detail in (2, None) and not screen.failed:
            left_out += sum(_details(run, room) for run in unfinished)
        if not screen.failed and screen.detail != 0:
            left_out += _folded_list(passed, room)
    if left_out:
        closing.append(f"\n{plural(left_out, 'more line')} had no room here; `--format json` has all.")
    return "\n".join([*room.lines, *closing]) + "\n"


def _closing(report: Report) -> Iterator[str]:
    facts = list(spending.facts(report))
    yield from (f"\n{name}: {code(fact)}" for name, fact in facts[:MOST_CLOSING])
    if len(facts) > MOST_CLOSING:
        yield f"\nand {len(facts) - MOST_CLOSING} more lines on what judges took"
    if line := trials_line(report.runs):
        yield f"\nTrials: {code(line, LONGEST_REASON)}"
    if report.grading:
        yield f"\nGrading {code(report.grading)}"


MOST_CLOSING = 10


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


def _grouped(unfinished: Sequence[Run], report: Report, room: Room) -> int:
    """Add what is not fine in many runs, each check once, and the runs; give how many lines had no room."""
    groups: dict[tuple[str, str, Status], list[tuple[Run, Check]]] = {}
    for run in unfinished:
        for check in told(run):
            groups.setdefault((run.session, check.name, check.status), []).append((run, check))
    if not groups:
        return 0
    totals_of = Counter(run.session for run in report.runs)
    ordered = sorted(groups.values(), key=lambda group: (_rank(group[0][1]), -len(group)))
    lines = [_group(group, totals_of[group[0][0].session]) for group in ordered[:MOST_CHECKS]]
    lines += _and_more(len(ordered) - MOST_CHECKS, "check")
    if not room.add("", f"### {plural(len(ordered), 'check')} not fine", "", lines[0]):
        return len(lines) + 1
    left_out = add_each(lines[1:], room)
    listed = [f"- {RESULTS[run.result][0]} {_named(run)}: {_score(run)}" for run in unfinished[:MOST_LISTED]]
    listed += _and_more(len(unfinished) - MOST_LISTED, "session")
    return left_out + folded(f"{plural(len(unfinished), 'session')} did not pass", listed, room)


def _rank(check: Check) -> int:
    return WORST_FIRST.index(check.status)


def _group(group: Sequence[tuple[Run, Check]], of: int) -> str:
    """One check that is not fine in several runs, with the reason that is given most often."""
    run, check = group[0]
    named = ", ".join(code(one.trace) for one, _ in group[:MOST_NAMED])
    more = f" and {len(group) - MOST_NAMED} more" if len(group) > MOST_NAMED else ""
    reasons = Counter(one.reason for _, one in group)
    (reason, count), *others = reasons.most_common()
    often = f" ({count} times, and {plural(len(others), 'other reason')})" if others else ""
    where = f"{_what(run, check)} of {code(run.session)}"
    return f"- {where}: {len(group)} of {of}: {named}{more}<br>{code(reason, LONGEST_REASON)}{often}"


def _and_more(count: int, noun: str) -> list[str]:
    return [f"- and {count} more {noun}{'s' * (count != 1)}"] if count > 0 else []


def _passed(runs: Sequence[Run]) -> str:
    return f"✅ {plural(len(runs), 'session')} passed"


def _failures(run: Run, room: Room) -> int:
    """Add what is not fine in a run, and give how many lines had no room."""
    symbol = RESULTS[run.result][0]
    lines = [f"- {_line(run, check)}" for check in told(run)]
    if not room.add("", f"### {symbol} {_named(run)}", "", *lines[:1]):
        return len(lines) + 1
    return add_each(lines[1:], room)


def _named(run: Run) -> str:
    row = "" if run.row is None else f", row {run.row}"
    return f"{code(run.session)} · {code(run.trace)}{row}"


def _line(run: Run, check: Check) -> str:
    """One check: what was expected, where that is written, and what came of it."""
    return f"{_what(run, check)}<br>{code(check.reason, LONGEST_REASON)}"


def _what(run: Run, check: Check) -> str:
    line = run.lines.get(check.at)
    place = f"{run.file}:{line}" if run.file and line else check.at or run.file or run.session
    followers = f" (and {plural(check.followers, 'evaluation')} of it)" if check.followers else ""
    return f"{_status(check)} {code(check.label)}{followers} at {code(place)}"


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
    return folded(_passed(runs), lines, room)


def _score(run: Run) -> str:
    score = totals.score(run)
    matched = f"{score.steps_matched}/{score.steps_total} matched"
    return f"{matched}, {score.evaluations_passed}/{score.evaluations_total} evaluations passed"
