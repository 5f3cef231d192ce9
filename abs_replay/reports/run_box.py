"""One run as a box: what is known of it, its behaviors, and under each its evaluations."""

from collections.abc import Iterator

from abs_replay.reports import Screen
from abs_replay.reports.boxes import Box, Fact, Row, draw
from abs_replay.reports.cells import cut, escaped
from abs_replay.reports.checks import FINE
from abs_replay.reports.labels import entry, quoted
from abs_replay.reports.table import EVALUATIONS, RESULTS, counted
from abs_replay.verdicts import BehaviorResult, Run, StepStatus, Verdict

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


def drawn(run: Run, screen: Screen) -> str:
    """Draw a run for a screen."""
    return draw(_box(run, screen), screen.width, screen.colour)


def _box(run: Run, screen: Screen) -> Box:
    symbol, word, mood = RESULTS[run.result]
    facts = [
        Fact("Session", _text(run.session)),
        Fact("Agent", _text(run.agent or "not run, this trace was stored")),
        Fact("Trace", _text(run.trace)),
        *([Fact("Data", _text(_bindings(run)))] if run.bindings else []),
        Fact("Result", f"{symbol} {word}", mood),
        *([Fact("Broke off", _text(run.problem), "unsure")] if run.problem is not None else []),
        Fact("Steps", counted(run)),
    ]
    return Box("ABS — Results", tuple(facts), tuple(_rows(run, screen)))


def _bindings(run: Run) -> str:
    row = f"row {run.row}: " if run.row is not None else ""
    return row + ", ".join(f"{name}={quoted(value)}" for name, value in run.bindings.items())


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
