"""What the last grading of a session and a trace came to, as far as telling takes what is carried over.

Read in bulk and as rows: to read whole gradings back, verdict by verdict, takes longer than to grade anew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from abs_replay.store.rows import Row
from abs_replay.store.texts import json_or_null, json_value
from abs_replay.verdicts import BehaviorResult, Result, Run, Status, StepStatus, Verdict

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

type RunKey = tuple[str, str]  # session, trace
type VerdictKey = tuple[
    str, Row | None, str, str
]  # at, what tells its behavior from others, type, fingerprint

# Of each session and trace the newest run; of two in one grading the first.
_NEWEST = """
    CREATE OR REPLACE TEMP TABLE newest AS
    SELECT grading, run, session, trace FROM (
        SELECT r.grading, r.run, r.session, r.trace, row_number() OVER (
            PARTITION BY r.session, r.trace ORDER BY g.made_at DESC, g.rowid DESC, r.run
        ) AS place
        FROM runs r JOIN gradings g ON g.id = r.grading
        SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS session, unnest(?::VARCHAR[]) AS trace) AS wanted
            ON wanted.session = r.session AND wanted.trace = r.trace
    ) WHERE place = 1
"""
_BEHAVIORS = """
    SELECT n.session, n.trace, b."at", b.status, b.actor, b.action, b.target, b.id, b.content
    FROM newest n JOIN behaviors b ON b.grading = n.grading AND b.run = n.run
    ORDER BY n.grading, n.run, b.behavior
"""
_VERDICTS = """
    SELECT n.session, n.trace, v.behavior, v."at", v.type, v.fingerprint, v.status, v.score
    FROM newest n JOIN verdicts v ON v.grading = n.grading AND v.run = n.run
    WHERE v.parent IS NULL ORDER BY n.grading, n.run, v.verdict
"""


@dataclass(slots=True)
class LastRun:
    """A run as rows: its behaviors, and its top-level verdicts, each with its behavior's number or None."""

    session: str
    trace: str
    behaviors: list[Row] = field(default_factory=list)
    verdicts: list[Row] = field(default_factory=list)

    def outcomes(self) -> dict[VerdictKey, tuple[str, float | None]]:
        """Status and score of each verdict, by what names it and its rule."""
        return {
            (at, None if number is None else self.behaviors[number][2:], type_, fingerprint): (status, score)
            for number, at, type_, fingerprint, status, score in self.verdicts
        }

    def as_run(self) -> Run:
        """The run, without reasons and parts."""
        placed: dict[int | None, list[Verdict]] = defaultdict(list)
        for number, at, type_, fingerprint, status, score in self.verdicts:
            placed[number].append(Verdict(at, type_, Status(status), "", score, fingerprint=fingerprint))
        steps = tuple(_behavior(row, tuple(placed[number])) for number, row in enumerate(self.behaviors))
        return Run(self.session, None, self.trace, Result.PASSED, steps, tuple(placed[None]))


def named(run: Run) -> Iterator[tuple[VerdictKey, Verdict]]:
    """The top-level verdicts of a run, by the keys that `outcomes` has."""
    for step in run.steps:
        if step.evaluations:
            behavior = step.actor, step.action, step.target, step.id, json_or_null(step.content)
            for verdict in step.evaluations:
                yield (verdict.at, behavior, verdict.type, verdict.fingerprint), verdict
    for verdict in run.chain_evaluations:
        yield (verdict.at, None, verdict.type, verdict.fingerprint), verdict


def last_runs(connection: DuckDBPyConnection, wanted: Iterable[RunKey]) -> dict[RunKey, LastRun]:
    """The newest runs of these sessions and traces."""
    pairs = list(wanted)
    connection.execute(_NEWEST, [[session for session, _ in pairs], [trace for _, trace in pairs]])
    found = {key: LastRun(*key) for key in connection.execute("SELECT session, trace FROM newest").fetchall()}
    for session, trace, *row in connection.execute(_BEHAVIORS).fetchall():
        found[session, trace].behaviors.append(tuple(row))
    for session, trace, *row in connection.execute(_VERDICTS).fetchall():
        found[session, trace].verdicts.append(tuple(row))
    return found


def _behavior(row: Row, evaluations: tuple[Verdict, ...]) -> BehaviorResult:
    at, status, actor, action, target, id_, content = row
    value = json_value(content)
    return BehaviorResult(at, actor, action, StepStatus(status), id_, target, value, evaluations=evaluations)
