"""The report for people: a box a run, then the totals.

Every text that came from a trace or a document is shown with its control characters escaped.
"""

from collections.abc import Iterator

from abs_replay.reports import PAPER, Screen, totals
from abs_replay.reports.boxes import Box, Fact, Row, draw, painted
from abs_replay.reports.cells import cut, escaped
from abs_replay.reports.checks import FINE
from abs_replay.reports.labels import entry, quoted
from abs_replay.verdicts import BehaviorResult, Report, Result, Run, Status, StepStatus, Verdict

FOLD_ABOVE = 10  # with more runs than this, those that passed take one line each
MOST_OF_A_TEXT = 1000  # cells; a document pasted into a message is not shown whole

STEPS = {
    StepStatus.SENT: ("→", "sent", ""),
    StepStatus.MISSING: ("❌", "missing", "bad"),
    StepStatus.MATCHED: ("✅", "match", "good"),
    StepStatus.UNMATCHED: ("❌", "unmatched", "bad"),
    StepStatus.SKIPPED: ("–", "skipped", "quiet"),
    StepStatus.ERROR: ("❗", "error", "unsure"),
}
OTHER_WORDS = ("❌", "differs", "bad")  # sent, and counted as failed (SEMANTICS A2)
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
        _line(run, screen)
        if _is_folded(run, report, screen)
        else draw(_box(run, screen), screen.width, screen.colour)
        for run in report.runs
        if not (screen.failed and run.passed)
    ]
    return "".join([*shown, *_closing(report, screen)])


def _is_folded(run: Run, report: Report, screen: Screen) -> bool:
    if screen.detail is None:
        return run.passed and len(report.runs) > FOLD_ABOVE
    return screen.detail == 0 or (screen.detail == 1 and run.passed)


def _line(run: Run, screen: Screen) -> str:
    symbol, word, mood = RESULTS[run.result]
    what = escaped(f"{run.session} · {run.trace} · {_counted(run)}")
    return f"{painted(f'{symbol} {word}', mood, screen.colour)}  {cut(what, screen.width - len(word) - 5)}\n"


def _box(run: Run, screen: Screen) -> Box:
    symbol, word, mood = RESULTS[run.result]
    facts = [
        Fact("Session", _text(run.session)),
        Fact("Agent", _text(run.agent or "not run, this trace was stored")),
        Fact("Trace", _text(run.trace)),
        *([Fact("Data", _text(_bindings(run)))] if run.bindings else []),
        Fact("Result", f"{symbol} {word}", mood),
        *([Fact("Broke off", _text(run.problem), "unsure")] if run.problem is not None else []),
        Fact("Steps", _counted(run)),
    ]
    return Box("ABS — Results", tuple(facts), tuple(_rows(run, screen)))


def _bindings(run: Run) -> str:
    row = f"row {run.row}: " if run.row is not None else ""
    return row + ", ".join(f"{name}={quoted(value)}" for name, value in run.bindings.items())


def _counted(run: Run) -> str:
    score, counts = totals.run_counts(run)
    undecided = _named(counts, (Status.INCONCLUSIVE, Status.ERROR, Status.NOT_EVALUABLE))
    evaluations = f"{score.evaluations_passed}/{score.evaluations_total} evaluations passed"
    return " · ".join([f"{score.steps_matched}/{score.steps_total} matched", evaluations, *undecided])


def _named(counts: dict[str, int], wanted: tuple[str, ...]) -> list[str]:
    return [f"{counts[name]} {name.replace('_', ' ')}" for name in wanted if counts[name]]


def _rows(run: Run, screen: Screen) -> Iterator[Row]:
    for nth, step in enumerate(run.steps, 1):
        shown = _shown(step.evaluations, screen)
        if shown or _is_whole(screen) or run.fails(step) or step.status is StepStatus.ERROR:
            yield _step(str(nth), step, run)
            yield from _evaluations(shown, 1)
    for verdict in _shown(run.chain_evaluations, screen):
        yield from _evaluations((verdict,), 0)
    for nth, seq in enumerate(run.extra if _is_whole(screen) else ()):
        seen = f"{run.extra_labels[nth]}" if nth < len(run.extra_labels) else "a step that no behavior took"
        yield Row("+", _text(f"{seen} (step {seq})"), "·", "extra", "quiet")


def _shown(verdicts: tuple[Verdict, ...], screen: Screen) -> tuple[Verdict, ...]:
    whole = _is_whole(screen)
    return tuple(verdict for verdict in verdicts if whole or verdict.status not in FINE)


def _is_whole(screen: Screen) -> bool:
    return not screen.failed and screen.detail != 1


def _step(mark: str, step: BehaviorResult, run: Run) -> Row:
    other_words = step.differs and run.fails(step) and step.status is StepStatus.SENT
    symbol, word, mood = OTHER_WORDS if other_words else STEPS[step.status]
    notes = [step.near] if step.near else []
    if step.differs:
        strict = " (--strict-user)" if other_words else ""
        notes.append(f"the words differ from the session's{strict}")
    text = entry(step.actor, step.action, step.target, step.content)
    return Row(mark, _text(text), symbol, word, mood, below=tuple(map(_text, notes)))


def _evaluations(verdicts: tuple[Verdict, ...], indent: int) -> Iterator[Row]:
    for verdict in verdicts:
        symbol, word, mood = EVALUATIONS[verdict.status]
        fine = verdict.status in FINE
        below = () if fine else (_text(verdict.reason),)
        mark = "" if indent else "C"
        yield Row(mark, _text(verdict.label or verdict.type), symbol, word, mood, indent, below)
        yield from () if fine else _evaluations(verdict.children, indent + 1)


def _text(text: str) -> str:
    return cut(escaped(text[: MOST_OF_A_TEXT * 2]), MOST_OF_A_TEXT)


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


def _provenance(report: Report) -> Iterator[tuple[str, str]]:
    if report.carried:
        total, carried = sum(len(run.verdicts) for run in report.runs), len(report.carried)
        yield "Carried over", f"{carried} of {total} verdicts as last time, {total - carried} decided anew"
    for name in report.ungraded_sessions:
        yield "Not graded", f"{quoted(name)}: no trace names it"
    if report.grading:
        yield "Grading", report.grading
