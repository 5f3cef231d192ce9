"""Runs of LangSmith, as its API, its SDK (`Run.json()`) and its exports give them.

    {"id", "trace_id", "parent_run_id", "run_type": "llm" | "tool" | "chain" | .., "name", "inputs",
     "outputs", "start_time", "end_time", "error", "extra": {"metadata"}, "child_runs": [...]}

https://docs.langchain.com/langsmith/run-data-format and schemas.py of langsmith-sdk (commit 017fb35). One
run, a list of runs, `{"runs": [...]}`, or a run a line; children in `child_runs` or as runs of their own.
What models were asked and what tools did makes the conversations; a trace without either is its root's words.
"""

import ast
from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders import Span, ToolUse, Turn
from abs_replay.decoders.fields import items, obj, text
from abs_replay.exact_json import Json
from abs_replay.importers import loose_messages, reported_work
from abs_replay.importers.imported import Imported
from abs_replay.importers.loose_messages import called, returned
from abs_replay.importers.reported_work import Work
from abs_replay.importers.source import Source
from abs_replay.importers.telling import moment

# https://docs.langchain.com/langsmith/threads: the metadata that names a conversation.
_THREADS: Final = ("session_id", "thread_id", "conversation_id")
_LONGEST_LITERAL: Final = 100_000
type _Run = Mapping[str, Any]


def recognises(source: Source) -> bool:
    """Whether the first object is a run: it has a `run_type`."""
    if '"run_type"' not in (source.text or ""):
        return False
    first = reported_work.first_row(source, ("runs",))
    return "run_type" in first and "id" in first


def read(source: Source) -> Imported:
    """Read every run; raises `UsageError` with the line."""
    found = Work("langsmith", _about)
    for run in _flat(reported_work.rows(source, ("runs",), _is_run, "expected a run: `id` and `run_type`")):
        span = _span(run)
        if _parent(run) is None:
            found.root(_trace(run), run, span, turn(run))
        if _parent(run) is not None or run.get("run_type") in ("llm", "tool"):
            found.add(_trace(run), span)
    return found.imported(source)


def _about(run: _Run) -> Iterator[tuple[str, Any]]:
    yield "name", run.get("name")
    yield "tags", ", ".join(tag for tag in items(run.get("tags")) if isinstance(tag, str))
    for key, stats in obj(run.get("feedback_stats")).items():
        yield f"score.{key}", obj(stats).get("avg")


def _is_run(row: _Run) -> bool:
    return bool(text(row.get("id"))) and "run_type" in row


def _flat(runs: Iterator[_Run]) -> Iterator[_Run]:
    """Give every run once, those within others too."""
    seen: set[str] = set()
    waiting = list(runs)[::-1]
    while waiting:
        run = waiting.pop()
        id_ = text(run.get("id"))
        if id_ is None or id_ in seen:
            continue
        seen.add(id_)
        yield run
        within = [obj(child) for child in items(run.get("child_runs"))][::-1]
        waiting += [{"trace_id": _trace(run), "parent_run_id": id_, **child} for child in within]


def _trace(run: _Run) -> str:
    return text(run.get("trace_id")) or str(run["id"])


def _parent(run: _Run) -> str | None:
    parents = items(run.get("parent_run_ids"))
    return text(run.get("parent_run_id")) or (text(parents[-1]) if parents else None)


def _span(run: _Run) -> Span | None:
    began = moment(run.get("start_time"))
    if began is None:
        return None
    kind = run.get("run_type")
    return Span(
        span_id=str(run["id"]),
        started_at=began,
        ended_at=max(moment(run.get("end_time")) or began, began),
        turn=turn(run) if kind == "llm" else None,
        use=_use(run) if kind in ("tool", "retriever") else None,
        trace_id=_trace(run),
        parent_id=_parent(run),
        session=_session(run),
    )


def _session(run: _Run) -> str | None:
    metadata = obj(obj(run.get("extra")).get("metadata"))
    return next((found for key in _THREADS if (found := text(metadata.get(key)))), None)


def turn(run: _Run) -> Turn:
    """What a run was asked and answered, in whichever words of its client."""
    outputs = obj(run.get("outputs"))
    return Turn(
        loose_messages.asked(run.get("inputs")),
        loose_messages.answered(run.get("outputs")),
        _model(run),
        _usage(run, outputs),
        text(run.get("error")),
    )


def _model(run: _Run) -> str | None:
    extra = obj(run.get("extra"))
    named = (
        obj(run.get("outputs")).get("model"),
        obj(extra.get("metadata")).get("ls_model_name"),
        obj(extra.get("invocation_params")).get("model"),
        obj(run.get("inputs")).get("model"),
    )
    return next((found for one in named if (found := text(one))), None)


def _usage(run: _Run, outputs: _Run) -> Any:
    found = loose_messages.usage(
        {key: run[key] for key in ("prompt_tokens", "completion_tokens") if run.get(key)}
    )
    inner = obj(outputs.get("llm_output"))
    given = outputs.get("usage_metadata") or outputs.get("usage") or inner.get("token_usage")
    return found or loose_messages.usage(given)


def _use(run: _Run) -> ToolUse:
    outputs = run.get("outputs")
    content, _, failed = returned(outputs)
    name = text(run.get("name")) or str(run.get("run_type"))
    return ToolUse(name, _arguments(run.get("inputs")), content, text(run.get("error")) or failed)


def _arguments(inputs: Any) -> Json:
    found = called(inputs)
    return found if not isinstance(found, str) else _literal(found)


def _literal(words: str) -> Json:
    """Arguments that LangChain wrote as Python does: {'city': 'Berlin'}."""
    if not words.startswith("{") or len(words) > _LONGEST_LITERAL:
        return words
    try:
        found = ast.literal_eval(words)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return words
    return found if _is_json(found) else words


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | bool | int)
