"""Derived traces: kept a recording at a time, with what they were derived from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from abs_replay.store import marks, notes
from abs_replay.store.opening import transaction
from abs_replay.store.rows import Row, digest_of
from abs_replay.store.schema import STEP_COLUMNS, TRACE_COLUMNS
from abs_replay.store.summaries import Derivation, LeftOut
from abs_replay.store.texts import json_or_null, json_text, json_value, plain
from abs_replay.store.writing import append
from abs_replay.trace import Branch, Source, Step, Trace, Usage, Visibility

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TRACE = ", ".join(f"t.{column}" for column in TRACE_COLUMNS)
_STEP = ", ".join(f"s.{column}" for column in STEP_COLUMNS)


def save(
    connection: DuckDBPyConnection,
    recording_id: str,
    traces: Sequence[Trace],
    digest: str,
    version: str,
    left_out: Sequence[LeftOut] | None = None,
) -> None:
    """Keep a recording's traces in place of those that it had, and what is in none, if that is known."""
    out = None if left_out is None else json_text([[e.exchange, e.protocol, e.why] for e in left_out])
    with transaction(connection):
        notes.follow(connection, recording_id, traces)
        for table in ("derivations", "traces", "steps"):
            connection.execute(f"DELETE FROM {table} WHERE recording = ?", [recording_id])
        append(connection, "derivations", [(recording_id, digest, version, out)])
        append(connection, "traces", [_trace_row(recording_id, *each) for each in enumerate(traces)])
        steps = [(trace.id, step) for trace in traces for step in trace.steps]
        append(connection, "steps", [step_row(recording_id, *each) for each in steps])


def derivations(connection: DuckDBPyConnection, recording_id: str | None) -> tuple[Derivation, ...]:
    """What each recording holds now, and what its traces were derived from."""
    query = """
        SELECT r.id, e.digests, d.exchange_digest, d.decoders_version
        FROM recordings r
        LEFT JOIN (SELECT recording, list(digest) AS digests FROM exchanges GROUP BY recording) e
            ON e.recording = r.id
        LEFT JOIN derivations d ON d.recording = r.id
        WHERE ?::VARCHAR IS NULL OR r.id = ?
        ORDER BY r.started_at, r.rowid
    """
    rows = connection.execute(query, [recording_id, recording_id]).fetchall()
    marked = {id_: marks.digests(found) for id_, found in marks.by_recording(connection).items()}
    return tuple(
        Derivation(id_, digest_of([*(digests or ()), *marked.get(id_, ())]), *rest)
        for id_, digests, *rest in rows
    )


def left_out(connection: DuckDBPyConnection, recording_id: str) -> tuple[LeftOut, ...] | None:
    """What of a recording is in no trace; None where its traces were kept without that."""
    query = "SELECT left_out FROM derivations WHERE recording = ? AND left_out IS NOT NULL"
    row = connection.execute(query, [recording_id]).fetchone()
    return None if row is None else tuple(LeftOut(*each) for each in json_value(row[0]))


def trace_ids(connection: DuckDBPyConnection) -> list[tuple[str, str]]:
    """The recording and the id of every trace, the oldest first."""
    query = "SELECT recording, id FROM traces ORDER BY started_at NULLS FIRST, recording, position"
    return [(recording, id_) for recording, id_ in connection.execute(query).fetchall()]


def traces(
    connection: DuckDBPyConnection,
    recording_id: str | None = None,
    ids: Sequence[str] | None = None,
    session: str | None = None,
    since: float | None = None,
) -> tuple[Trace, ...]:
    """Those traces for which all that is asked holds, the oldest first."""
    asked = None if ids is None else list(ids)
    values = [recording_id, recording_id, asked, asked, session, session, since, since]
    matching = """
        (?::VARCHAR IS NULL OR t.recording = ?)
        AND (?::VARCHAR[] IS NULL OR list_contains(?::VARCHAR[], t.id))
        AND (?::VARCHAR IS NULL OR t.session = ?) AND (?::DOUBLE IS NULL OR t.started_at >= ?)
    """
    order = "ORDER BY t.started_at NULLS FIRST, t.recording, t.position"
    found = connection.execute(f"SELECT {_TRACE} FROM traces t WHERE {matching} {order}", values).fetchall()
    query = f"""
        SELECT {_STEP} FROM steps s JOIN traces t ON t.recording = s.recording AND t.id = s.trace
        WHERE {matching} ORDER BY s.rowid
    """
    steps: dict[tuple[str, str], list[Step]] = {}
    for recording, trace, *rest in connection.execute(query, values).fetchall():
        steps.setdefault((recording, trace), []).append(_step(*rest))
    added = notes.notes(connection, "trace", recording_id)
    return tuple(notes.annotated(_trace(row, steps), added.get((row[0], row[1]))) for row in found)


def _trace_row(recording_id: str, position: int, trace: Trace) -> Row:
    return (
        recording_id,
        trace.id,
        position,
        plain(trace.session),
        trace.recording,
        trace.started_at,
        json_text(trace.bindings),
        json_text(trace.vars),
        json_text(trace.tags),
        plain(trace.agent_version),
        trace.branch_of.trace if trace.branch_of else None,
        trace.branch_of.step if trace.branch_of else None,
    )


def _trace(row: Sequence[Any], steps: dict[tuple[str, str], list[Step]]) -> Trace:
    recording, id_, _, session, origin, started_at, bindings, vars_, tags, agent_version, *branch = row
    return Trace(
        id=id_,
        steps=tuple(steps.get((recording, id_), ())),
        session=session,
        recording=origin,
        started_at=started_at,
        bindings=json_value(bindings),
        vars=json_value(vars_),
        tags=json_value(tags),
        agent_version=agent_version,
        branch_of=None if branch[0] is None else Branch(*branch),
    )


def step_row(recording_id: str, trace_id: str, step: Step) -> Row:
    """Give a step as a row of the table `steps`."""
    return (
        recording_id,
        trace_id,
        step.seq,
        plain(step.actor),
        plain(step.action),
        plain(step.target),
        json_or_null(step.content),
        json_or_null(step.arguments),
        plain(step.call_id),
        step.at_ms,
        step.duration_ms,
        step.visibility.value,
        plain(step.parallel_group),
        json_text([[source.exchange, source.at] for source in step.sources]),
        plain(step.model),
        step.usage.input_tokens if step.usage else None,
        step.usage.output_tokens if step.usage else None,
        plain(step.error),
        step.retries,
        plain(step.segment),
        step.usage.cached_tokens if step.usage else None,
        step.usage.reasoning_tokens if step.usage else None,
    )


_VISIBILITY = {each.value: each for each in Visibility}  # to call it for each step takes as long as the rest


def _step(seq: int, actor: str, action: str, target: str | None, *rest: Any) -> Step:
    content, arguments, call_id, at_ms, duration_ms, visibility, group, sources, *rest_ = rest
    model, asked, made, error, retries, segment, cached, reasoned = rest_
    return Step(
        seq=seq,
        actor=actor,
        action=action,
        target=target,
        content=json_value(content),
        arguments=json_value(arguments),
        call_id=call_id,
        at_ms=at_ms,
        duration_ms=duration_ms,
        visibility=_VISIBILITY[visibility],
        parallel_group=group,
        sources=() if sources == "[]" else tuple(_sources(json_value(sources))),
        model=model,
        usage=None if asked is None else Usage(asked, made, cached or 0, reasoned or 0),
        error=error,
        retries=retries or 0,
        segment=segment,
    )


def _sources(pairs: list[list[str]]) -> Iterator[Source]:
    for exchange, at in pairs:
        yield Source(exchange, at)
