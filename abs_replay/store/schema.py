"""The tables and views, as statements.

Exchanges lie in two tables under one view. `exchanges_recent` is written while recording:
uncompressed, since DuckDB's compression inside a checkpoint stalls commits for seconds.
`exchanges_kept` holds those of ended recordings, bodies compressed. No table has an index: a
zone map finds a recording, and an index made zstd columns slower to read.
"""

from collections.abc import Mapping

from abs_replay.store.marks import MARK_COLUMNS
from abs_replay.store.rows import BODIES, EXCHANGE_COLUMNS, RECORDING_COLUMNS

EXCHANGE_TABLES = ("exchanges_kept", "exchanges_recent")

_LATER_EXCHANGES = ("websocket",)
_FIRST_EXCHANGES = {name: type_ for name, type_ in EXCHANGE_COLUMNS.items() if name not in _LATER_EXCHANGES}
_FIRST_STEPS = {
    "recording": "VARCHAR",
    "trace": "VARCHAR",
    "seq": "BIGINT",
    "actor": "VARCHAR",
    "action": "VARCHAR",
    "target": "VARCHAR",
    "content": "VARCHAR",  # JSON text, as `arguments`, `sources` and whatever may be any value
    "arguments": "VARCHAR",
    "call_id": "VARCHAR",
    "at_ms": "DOUBLE",
    "duration_ms": "DOUBLE",
    "visibility": "VARCHAR",
    "parallel_group": "VARCHAR",
    "sources": "VARCHAR",
    "model": "VARCHAR",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "error": "VARCHAR",
}
_FIRST_TRACES = {
    "recording": "VARCHAR",
    "id": "VARCHAR",
    "position": "INTEGER",
    "session": "VARCHAR",
    "origin": "VARCHAR",  # the recording that the trace itself names
    "started_at": "DOUBLE",
    "bindings": "VARCHAR",
    "vars": "VARCHAR",
    "tags": "VARCHAR",
    "agent_version": "VARCHAR",
}
_LATER_STEPS = {"retries": "INTEGER", "segment": "VARCHAR"}
_LATER_TRACES = {"branch_of": "VARCHAR", "branch_step": "BIGINT"}
_LAST_STEPS = {"cached_tokens": "BIGINT", "reasoning_tokens": "BIGINT"}
STEP_COLUMNS = _FIRST_STEPS | _LATER_STEPS | _LAST_STEPS
TRACE_COLUMNS = _FIRST_TRACES | _LATER_TRACES
NOTE_COLUMNS = {
    "kind": "VARCHAR",  # recording, trace or exchange
    "recording": "VARCHAR",
    "id": "VARCHAR",
    "tags": "VARCHAR",  # of a trace or an exchange; null takes one away that it would have
    "note": "VARCHAR",
}
_FIRST_DERIVATIONS = {
    "recording": "VARCHAR",
    "exchange_digest": "VARCHAR",
    "decoders_version": "VARCHAR",
}
_LATER_DERIVATIONS = {"left_out": "VARCHAR"}  # exchange, protocol and reason of each; null: not known
DERIVATION_COLUMNS = _FIRST_DERIVATIONS | _LATER_DERIVATIONS
_FIRST_GRADINGS = {
    "id": "VARCHAR",
    "made_at": "DOUBLE",
    "result": "VARCHAR",
    "files": "VARCHAR",
    "report_grading": "VARCHAR",
    "warnings": "VARCHAR",
    "ungraded_sessions": "VARCHAR",
}
_LATER_GRADINGS = {
    "judging": "VARCHAR",  # how many questions were asked, and what each judge took; null: none had to be
    "who": "VARCHAR",
    "git_commit": "VARCHAR",
    "git_dirty": "BOOLEAN",
    "version": "VARCHAR",
    "command": "VARCHAR",
    "judges": "VARCHAR",
    "votes": "INTEGER",
}
_LAST_GRADINGS = {"refused": "VARCHAR"}  # the gates that did not hold; null: they did, or there were none
GRADING_COLUMNS = _FIRST_GRADINGS | _LATER_GRADINGS | _LAST_GRADINGS
_FIRST_RUNS = {
    "grading": "VARCHAR",
    "run": "INTEGER",
    "session": "VARCHAR",
    "file": "VARCHAR",
    "trace": "VARCHAR",
    "result": "VARCHAR",
    "agent": "VARCHAR",
    "row": "BIGINT",
    "bindings": "VARCHAR",
    "extra": "BIGINT[]",
    "extra_labels": "VARCHAR",
    "questions": "VARCHAR",
    "require_match": "BOOLEAN",
    "strict_user": "BOOLEAN",
    "lines": "VARCHAR",
}
_LATER_RUNS = {"problem": "VARCHAR"}
_LAST_RUNS = {"trace_digest": "VARCHAR"}
_SAID_IN_RUNS = {"said": "VARCHAR[]"}
RUN_COLUMNS = _FIRST_RUNS | _LATER_RUNS | _LAST_RUNS | _SAID_IN_RUNS
BEHAVIOR_COLUMNS = {
    "grading": "VARCHAR",
    "run": "INTEGER",
    "behavior": "INTEGER",
    "at": "VARCHAR",
    "actor": "VARCHAR",
    "action": "VARCHAR",
    "status": "VARCHAR",
    "id": "VARCHAR",
    "target": "VARCHAR",
    "content": "VARCHAR",
    "step": "BIGINT",
    "differs": "BOOLEAN",
    "near": "VARCHAR",
}
_FIRST_VERDICTS = {
    "grading": "VARCHAR",
    "run": "INTEGER",
    "behavior": "INTEGER",  # NULL: an evaluation of the session
    "verdict": "INTEGER",  # counted within the run
    "parent": "INTEGER",  # the composition that it is part of
    "trace": "VARCHAR",
    "session": "VARCHAR",
    "at": "VARCHAR",
    "type": "VARCHAR",
    "fingerprint": "VARCHAR",
    "status": "VARCHAR",
    "score": "DOUBLE",
    "threshold": "DOUBLE",
    "blocking": "BOOLEAN",
    "reason": "VARCHAR",
    "evidence": "BIGINT[]",
    "duration_ms": "DOUBLE",
    "judge": "VARCHAR",
    "cached": "BOOLEAN",
    "label": "VARCHAR",
    "carried": "BOOLEAN",
}
_LATER_VERDICTS = {
    "question": "VARCHAR",  # null: no judge decides it, or none was asked; and so for those that follow
    "judge_fingerprint": "VARCHAR",
    "scores": "DOUBLE[]",
    "unstable": "BOOLEAN",
    "calls": "INTEGER",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "cost": "DOUBLE",
}
VERDICT_COLUMNS = _FIRST_VERDICTS | _LATER_VERDICTS
QUESTION_COLUMNS = {
    "digest": "VARCHAR",
    "type": "VARCHAR",
    "criteria": "VARCHAR",
    "adapter": "VARCHAR",
    "prompt": "VARCHAR",
    "evidence": "VARCHAR",
    "asked_at": "DOUBLE",
}
ANSWER_COLUMNS = {
    "question": "VARCHAR",
    "judge": "VARCHAR",  # the fingerprint
    "sample": "INTEGER",
    "score": "DOUBLE",
    "reason": "VARCHAR",
    "error": "VARCHAR",
    "settled": "BOOLEAN",
    "details": "VARCHAR",
    "shown": "VARCHAR",  # the judge's name for people
    "made_at": "DOUBLE",
    "grading": "VARCHAR",
}
ATTEMPT_COLUMNS = {
    "question": "VARCHAR",
    "judge": "VARCHAR",
    "sample": "INTEGER",
    "attempt": "INTEGER",
    "outcome": "VARCHAR",
    "sent": "VARCHAR",
    "reply": "VARCHAR",
    "problem": "VARCHAR",
    "model": "VARCHAR",
    "finish_reason": "VARCHAR",
    "calls": "INTEGER",
    "input_tokens": "BIGINT",
    "output_tokens": "BIGINT",
    "cost": "DOUBLE",
    "duration_ms": "DOUBLE",
    "at": "DOUBLE",
    "grading": "VARCHAR",
}
LABEL_COLUMNS = {
    "id": "VARCHAR",
    "made_at": "DOUBLE",
    "who": "VARCHAR",
    "session": "VARCHAR",
    "trace": "VARCHAR",
    "at": "VARCHAR",
    "verdict": "VARCHAR",  # pass, fail or unsure
    "note": "VARCHAR",
    "question": "VARCHAR",  # null: no judge was asked what the label is about
    "fingerprint": "VARCHAR",
    "grading": "VARCHAR",  # whose verdict was looked at
}


def _table(name: str, columns: Mapping[str, str], compression: Mapping[str, str] | None = None) -> str:
    using = {column: f" USING COMPRESSION {how}" for column, how in (compression or {}).items()}
    inner = ", ".join(f'"{column}" {type_}{using.get(column, "")}' for column, type_ in columns.items())
    return f"CREATE TABLE {name} ({inner})"


_VIEW = "CREATE VIEW exchanges AS SELECT * FROM exchanges_kept UNION ALL SELECT * FROM exchanges_recent"
FIRST = (
    _table("recordings", RECORDING_COLUMNS),
    _table("exchanges_recent", _FIRST_EXCHANGES, dict.fromkeys(_FIRST_EXCHANGES, "uncompressed")),
    _table("exchanges_kept", _FIRST_EXCHANGES, dict.fromkeys(BODIES, "zstd")),
    _VIEW,
    _table("derivations", _FIRST_DERIVATIONS),
    _table("traces", _FIRST_TRACES),
    _table("steps", _FIRST_STEPS),
    _table("gradings", _FIRST_GRADINGS),
    _table("runs", _FIRST_RUNS),
    _table("behaviors", BEHAVIOR_COLUMNS),
    _table("verdicts", _FIRST_VERDICTS),
)


def _added(table: str, columns: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f'ALTER TABLE {table} ADD COLUMN "{name}" {type_}' for name, type_ in columns.items())


LEFT_OUT = _added("derivations", _LATER_DERIVATIONS)
BROKEN_OFF = _added("runs", _LATER_RUNS)
WEBSOCKETS = (
    "DROP VIEW exchanges",
    "ALTER TABLE exchanges_recent ADD COLUMN websocket VARCHAR USING COMPRESSION uncompressed",
    "ALTER TABLE exchanges_kept ADD COLUMN websocket VARCHAR USING COMPRESSION zstd",
    _VIEW,
)
BRANCHES = (*_added("steps", _LATER_STEPS), *_added("traces", _LATER_TRACES))
LIVING = (_table("marks", MARK_COLUMNS), _table("notes", NOTE_COLUMNS))
ANSWERS = (
    _table("questions", QUESTION_COLUMNS),
    _table("answers", ANSWER_COLUMNS),
    _table("attempts", ATTEMPT_COLUMNS),
    *_added("verdicts", _LATER_VERDICTS),
    *_added("runs", _LAST_RUNS),
    *_added("gradings", _LATER_GRADINGS),
)
LABELS = (_table("labels", LABEL_COLUMNS),)
TOKENS = _added("steps", _LAST_STEPS)
SAID = _added("runs", _SAID_IN_RUNS)
REFUSED = _added("gradings", _LAST_GRADINGS)
