"""The report for people: a box a run, then the totals.

Every text that came from a trace or a document is shown with its control characters escaped.
"""

from collections.abc import Iterator

from abs_replay.reports import PAPER, Screen, spending, totals
from abs_replay.reports.cells import cut, escaped, painted
from abs_replay.reports.labels import quoted
from abs_replay.verdicts import Report, Result, Run, Status

FOLD_ABOVE = 10  # with more runs than this, those that passed take one line each

EVALUATIONS = {
    Status.PASSED: ("✅", "pass", "good"),
    Status.FAILED: ("❌", "fail", "bad"),
    Status.INCONCLUSIVE: ("❔", "inconclusive", "unsure"),
    Status.ERROR: ("❗", "error", "unsure"),
    Status.NOT_EVALUABLE: ("❔", "not evaluable", "unsure"),
    Status.SKIPPED: ("–", "skipped", "quiet"),
    Status.PENDING: ("❔", "pending", "unsure"),
}
RESULTS = {
    Result.PASSED: ("✅", "PASSED", "good"),
    Result.FAILED: ("❌", "FAILED", "bad"),
    Result.ERROR: ("❗", "ERROR", "unsure"),
}


def render(report: Report) -> str:
    """Write the report for a file or a pipe: 100 cells at most, no colours."""
    return display(report, PAPER)


def display(report: Report, screen: Screen) -> str:
    """Write the report for a terminal."""
    shown = [
        _line(run, screen) if _is_folded(run, report, screen) else _drawn(run, screen)
        for run in report.runs
        if not (screen.failed and run.passed)
    ]
    return "".join([*shown, *_closing(report, screen)])


def _is_folded(run: Run, report: Report, screen: Screen) -> bool:
    if screen.detail is None:
        return run.passed and len(report.runs) > FOLD_ABOVE
    return screen.detail == 0 or (screen.detail == 1 and run.passed)


def _drawn(run: Run, screen: Screen) -> str:
    from abs_replay.reports.run_box import drawn  # nothing of it is needed where all runs are folded

    return drawn(run, screen)


def _line(run: Run, screen: Screen) -> str:
    symbol, word, mood = RESULTS[run.result]
    what = escaped(f"{run.session} · {run.trace} · {counted(run)}")
    return f"{painted(f'{symbol} {word}', mood, screen.colour)}  {cut(what, screen.width - len(word) - 5)}\n"


def counted(run: Run) -> str:
    """Give a run's numbers in words."""
    score, counts = totals.run_counts(run)
    undecided = _named(counts, (Status.INCONCLUSIVE, Status.ERROR, Status.NOT_EVALUABLE))
    evaluations = f"{score.evaluations_passed}/{score.evaluations_total} evaluations passed"
    return " · ".join([f"{score.steps_matched}/{score.steps_total} matched", evaluations, *undecided])


def _named(counts: dict[str, int], wanted: tuple[str, ...]) -> list[str]:
    return [f"{counts[name]} {name.replace('_', ' ')}" for name in wanted if counts[name]]


def _closing(report: Report, screen: Screen) -> Iterator[str]:
    """What stands below the boxes, one fact a line."""
    facts = [*(_totals(report) if len(report.runs) != 1 else ()), *_provenance(report)]
    names = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        yield f"{name:<{names}}  {cut(escaped(value), screen.width - names - 2)}\n"


def _totals(report: Report) -> Iterator[tuple[str, str]]:
    score = totals.score_all(report.runs)
    sessions = totals.session_counts(report.runs)
    evaluations = totals.evaluation_counts(report.runs)
    others = _named(evaluations, tuple(name for name in evaluations if name != Status.PASSED))
    yield "Result", RESULTS[report.result][1]
    yield "Sessions", " · ".join([f"{len(report.runs)} graded", *_named(sessions, tuple(sessions))])
    yield "Steps", f"{score.steps_matched}/{score.steps_total} matched"
    passed = f"{score.evaluations_passed}/{score.evaluations_total} passed"
    yield "Evaluations", " · ".join([passed, *others])
    if line := totals.trials_line(report.runs):
        yield "Trials", line


def _provenance(report: Report) -> Iterator[tuple[str, str]]:
    yield from spending.facts(report)
    for name in report.ungraded_sessions:
        yield "Not graded", f"{quoted(name)}: no trace names it"
    if report.grading:
        yield "Grading", report.grading
