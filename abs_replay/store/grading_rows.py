"""A grading as rows, in the order of the tables' columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from abs_replay.store.rows import Row
from abs_replay.store.texts import json_or_null, json_text, plain, texts_json
from abs_replay.verdicts import Grading, Provenance, Run, Verdict

type Carried = frozenset[tuple[str, str, str]]


def grading_row(grading: Grading) -> Row:
    report = grading.report
    return (
        grading.id,
        grading.made_at,
        report.result.value,
        json_text(grading.files),
        report.grading,
        json_text(report.warnings),
        json_text(report.ungraded_sessions),
        None if report.judging is None else json_text(asdict(report.judging)),
        *_provenance_values(grading.provenance),
    )


def _provenance_values(made: Provenance) -> Row:
    return (
        plain(made.who),
        made.commit,
        made.dirty,
        made.version,
        plain(made.command),
        json_text(made.judges),
        made.votes,
        json_text(made.refused) if made.refused else None,
    )


def run_row(grading_id: str, number: int, run: Run) -> Row:
    return (
        grading_id,
        number,
        plain(run.session),
        run.file,
        run.trace,
        run.result.value,
        plain(run.agent),
        run.row,
        json_text(run.bindings) if run.bindings else "{}",
        list(run.extra),
        texts_json(run.extra_labels),
        json_text([asdict(question) for question in run.questions]) if run.questions else "[]",
        run.require_match,
        run.strict_user,
        texts_json(dict(run.lines)),
        plain(run.problem),
        run.trace_digest or None,
        list(run.said),
    )


def behavior_rows(grading_id: str, number: int, run: Run) -> Iterator[Row]:
    for position, step in enumerate(run.steps):
        yield (
            grading_id,
            number,
            position,
            step.at,
            plain(step.actor),
            plain(step.action),
            step.status.value,
            plain(step.id),
            plain(step.target),
            json_or_null(step.content),
            step.step,
            step.differs,
            plain(step.near),
        )


def verdict_rows(grading_id: str, carried: Carried, number: int, run: Run) -> Iterator[Row]:
    """The verdicts of a run, a composition before its parts."""
    waiting: list[tuple[int | None, int | None, Verdict]] = [
        *(
            (position, None, verdict)
            for position, step in enumerate(run.steps)
            for verdict in step.evaluations
        ),
        *((None, None, verdict) for verdict in run.chain_evaluations),
    ]
    waiting.reverse()
    count = 0
    while waiting:
        position, parent, verdict = waiting.pop()
        is_carried = (run.session, run.trace, verdict.at) in carried
        values = _verdict_values(run, verdict)
        yield (grading_id, number, position, count, parent, *values, is_carried, *_judged_values(verdict))
        waiting += [(position, count, part) for part in reversed(verdict.children)]
        count += 1


def _verdict_values(run: Run, verdict: Verdict) -> Row:
    return (
        run.trace,
        plain(run.session),
        verdict.at,
        verdict.type,
        verdict.fingerprint,
        verdict.status.value,
        verdict.score,
        verdict.threshold,
        verdict.blocking,
        plain(verdict.reason),
        list(verdict.evidence),
        verdict.duration_ms,
        plain(verdict.judge),
        verdict.cached,
        plain(verdict.label),
    )


_NOT_JUDGED = (None,) * 8


def _judged_values(verdict: Verdict) -> Row:
    judged = verdict.judged
    if judged is None:
        return _NOT_JUDGED
    used = judged.usage
    return (
        judged.question,
        judged.judge,
        list(judged.scores),
        judged.unstable,
        used.calls,
        used.input_tokens,
        used.output_tokens,
        used.cost,
    )
