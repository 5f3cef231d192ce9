"""Gradings: every verdict a row with its provenance, and all that is needed to read them back equal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from abs_replay.errors import StoreError
from abs_replay.judgement import AskedAt, Question
from abs_replay.store.opening import transaction
from abs_replay.store.rows import Row
from abs_replay.store.schema import BEHAVIOR_COLUMNS, RUN_COLUMNS, VERDICT_COLUMNS
from abs_replay.store.summaries import GradingSummary
from abs_replay.store.texts import json_or_null, json_text, json_value, plain
from abs_replay.store.writing import insert
from abs_replay.verdicts import BehaviorResult, Grading, Report, Result, Run, Status, StepStatus, Verdict

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

type Values = dict[str, Any]
type Carried = frozenset[tuple[str, str, str]]


def save(connection: DuckDBPyConnection, grading: Grading, path: Path) -> None:
    """Add a grading; raises `StoreError` where its id is taken, since nothing is overwritten."""
    if connection.execute("SELECT id FROM gradings WHERE id = ?", [grading.id]).fetchall():
        raise StoreError(f"grading {grading.id} is already in {path}: give it another id")
    runs = list(enumerate(grading.report.runs))
    with transaction(connection):
        insert(connection, "gradings", [_grading_row(grading)])
        insert(connection, "runs", [_run_row(grading.id, *each) for each in runs])
        insert(connection, "behaviors", [row for each in runs for row in _behavior_rows(grading.id, *each)])
        carried = grading.report.carried
        insert(
            connection,
            "verdicts",
            [row for each in runs for row in _verdict_rows(grading.id, carried, *each)],
        )


def summaries(connection: DuckDBPyConnection) -> tuple[GradingSummary, ...]:
    """Every grading with its counts, the oldest first."""
    query = """
        SELECT id, made_at, result,
            (SELECT map_from_entries(list((result, n))) FROM
                (SELECT result, count(*) AS n FROM runs WHERE grading = g.id GROUP BY result)),
            (SELECT map_from_entries(list((status, n))) FROM
                (SELECT status, count(*) AS n FROM verdicts
                 WHERE grading = g.id AND parent IS NULL GROUP BY status))
        FROM gradings g ORDER BY made_at, rowid
    """
    return tuple(_summary(*row) for row in connection.execute(query).fetchall())


def _summary(id_: str, made_at: float, result: str, runs: Any, verdicts: Any) -> GradingSummary:
    return GradingSummary(
        id_, made_at, Result(result), _counts(Result, runs or {}), _counts(Status, verdicts or {})
    )


def _counts[Kind](kind: Callable[[str], Kind], counted: Mapping[str, int]) -> dict[Kind, int]:
    return {kind(name): count for name, count in sorted(counted.items())}


def ids(connection: DuckDBPyConnection) -> list[str]:
    """The id of every grading, the oldest first."""
    return [
        id_ for (id_,) in connection.execute("SELECT id FROM gradings ORDER BY made_at, rowid").fetchall()
    ]


def grading(connection: DuckDBPyConnection, grading_id: str) -> Grading:
    """A grading as it was saved."""
    query = "SELECT made_at, files, report_grading, warnings, ungraded_sessions FROM gradings WHERE id = ?"
    made_at, files, report_grading, warnings, ungraded = connection.execute(query, [grading_id]).fetchall()[0]
    verdicts = _select(connection, "verdicts", VERDICT_COLUMNS, grading_id, "run, verdict")
    behaviors = _select(connection, "behaviors", BEHAVIOR_COLUMNS, grading_id, "run, behavior")
    runs = _select(connection, "runs", RUN_COLUMNS, grading_id, "run")
    report = Report(
        runs=_runs(runs, behaviors, verdicts),
        grading=report_grading,
        warnings=tuple(json_value(warnings)),
        ungraded_sessions=tuple(json_value(ungraded)),
        carried=frozenset((row["session"], row["trace"], row["at"]) for row in verdicts if row["carried"]),
    )
    return Grading(grading_id, made_at, report, json_value(files))


def _select(
    connection: DuckDBPyConnection, table: str, columns: Mapping[str, str], grading_id: str, order: str
) -> list[Values]:
    names = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT {names} FROM {table} WHERE grading = ? ORDER BY {order}"
    return [
        dict(zip(columns, row, strict=True)) for row in connection.execute(query, [grading_id]).fetchall()
    ]


def _grading_row(grading: Grading) -> Row:
    report = grading.report
    return (
        grading.id,
        grading.made_at,
        report.result.value,
        json_text(grading.files),
        report.grading,
        json_text(report.warnings),
        json_text(report.ungraded_sessions),
    )


def _run_row(grading_id: str, number: int, run: Run) -> Row:
    return (
        grading_id,
        number,
        plain(run.session),
        run.file,
        run.trace,
        run.result.value,
        plain(run.agent),
        run.row,
        json_text(run.bindings),
        list(run.extra),
        json_text(run.extra_labels),
        json_text([asdict(question) for question in run.questions]),
        run.require_match,
        run.strict_user,
        json_text(run.lines),
        plain(run.problem),
    )


def _behavior_rows(grading_id: str, number: int, run: Run) -> Iterator[Row]:
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


def _verdict_rows(grading_id: str, carried: Carried, number: int, run: Run) -> Iterator[Row]:
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
        yield (grading_id, number, position, count, parent, *_verdict_values(run, verdict), is_carried)
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


def _runs(runs: Sequence[Values], behaviors: Sequence[Values], verdicts: Sequence[Values]) -> tuple[Run, ...]:
    placed = _placed(verdicts)
    steps: dict[int, list[BehaviorResult]] = defaultdict(list)
    for row in behaviors:
        steps[row["run"]].append(_behavior(row, placed.get((row["run"], row["behavior"]), ())))
    return tuple(_run(row, steps[row["run"]], placed.get((row["run"], None), ())) for row in runs)


def _placed(rows: Sequence[Values]) -> dict[tuple[int, int | None], Sequence[Verdict]]:
    """The top-level verdicts by run and behavior, those of the session under None."""
    parts: dict[tuple[int, int], list[Verdict]] = defaultdict(list)
    placed: dict[tuple[int, int | None], list[Verdict]] = defaultdict(list)
    for row in reversed(rows):  # parts stand behind their composition
        verdict = _verdict(row, parts[row["run"], row["verdict"]][::-1])
        if row["parent"] is None:
            placed[row["run"], row["behavior"]].append(verdict)
        else:
            parts[row["run"], row["parent"]].append(verdict)
    return {place: found[::-1] for place, found in placed.items()}


def _run(row: Values, steps: Sequence[BehaviorResult], of_session: Sequence[Verdict]) -> Run:
    return Run(
        session=row["session"],
        file=row["file"],
        trace=row["trace"],
        result=Result(row["result"]),
        steps=tuple(steps),
        chain_evaluations=tuple(of_session),
        extra=tuple(row["extra"]),
        agent=row["agent"],
        row=row["row"],
        bindings=json_value(row["bindings"]),
        questions=tuple(_question(question) for question in json_value(row["questions"])),
        extra_labels=tuple(json_value(row["extra_labels"])),
        require_match=row["require_match"],
        strict_user=row["strict_user"],
        lines=json_value(row["lines"]),
        problem=row["problem"],
    )


def _question(fields: Values) -> Question:
    return Question(**{**fields, "places": tuple(AskedAt(**place) for place in fields["places"])})


def _behavior(row: Values, evaluations: Sequence[Verdict]) -> BehaviorResult:
    names = ("at", "actor", "action", "id", "target", "step", "differs", "near")
    return BehaviorResult(
        status=StepStatus(row["status"]),
        content=json_value(row["content"]),
        evaluations=tuple(evaluations),
        **{name: row[name] for name in names},
    )


def _verdict(row: Values, children: Sequence[Verdict]) -> Verdict:
    same = ("at", "type", "reason", "score", "threshold", "blocking", "judge", "cached", "duration_ms")
    return Verdict(
        status=Status(row["status"]),
        evidence=tuple(row["evidence"]),
        children=tuple(children),
        fingerprint=row["fingerprint"],
        label=row["label"],
        **{name: row[name] for name in same},
    )
