"""Traces and observations of Langfuse, as its interface, its API and its exports to blob storage give them.

A trace: `{"id", "timestamp", "sessionId", "input", "output", "scores", "observations": [...]}`, alone, in a
list, in `{"data": [...]}` or one a line; or observations alone, whose rows say `trace_id` (JSON, JSONL, CSV):

    {"id", "traceId", "type": "GENERATION" | "TOOL" | "SPAN" | .., "name", "startTime", "endTime", "input",
     "output", "model", "usageDetails", "level", "statusMessage", "parentObservationId"}

https://langfuse.com/docs/api-and-data-platform: export from UI, public API and blob-storage-export-fields
(langfuse-docs, commit 05bdc0e), whose columns are called `start_time` and so on. Generations and tools make
the conversations; a trace without either is its own input and output.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders import Span, ToolUse, Turn
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.importers import loose_messages, reported_work
from abs_replay.importers.imported import Imported
from abs_replay.importers.reported_work import Work
from abs_replay.importers.source import Source
from abs_replay.importers.telling import moment

_TYPES: Final = (
    *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN"),
    *("RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
_LONGEST_CELL: Final = 128 * 1024 * 1024
type _Row = Mapping[str, Any]


def recognises(source: Source) -> bool:
    """Whether the first object is a trace with observations, or an observation of a trace."""
    head = (source.text or "")[:65_536]
    if _is_csv(head):
        return True
    if not any(word in head for word in ('"observations"', '"traceId"', '"trace_id"')):
        return False
    first = reported_work.first_row(source, ("data", "observations"))
    return _is_trace(first) or _is_observation(first)


def _is_csv(head: str) -> bool:
    columns = next(csv.reader(head[:10_000].splitlines()[:1]), [])
    known = {name.replace("_", "").lower() for name in columns}
    return {"id", "traceid", "type", "input", "output", "starttime"} <= known


def _is_trace(row: _Row) -> bool:
    return bool(text(row.get("id"))) and isinstance(row.get("observations"), list) and "timestamp" in row


def _is_observation(row: _Row) -> bool:
    return bool(text(row.get("id")) and _field(row, "traceId")) and row.get("type") in _TYPES


def read(source: Source) -> Imported:
    """Read every trace; raises `UsageError` with the line."""
    found = Work("langfuse", _about)
    for row in _rows(source):
        if _is_trace(row):
            for observation in map(obj, row["observations"]):
                found.add(row["id"], _span({**observation, "traceId": row["id"]}, row))
            found.root(row["id"], row, _whole(row), turn(row))
            continue
        trace, span = str(_field(row, "traceId")), _span(row, row)
        if not text(_field(row, "parentObservationId")):
            found.root(trace, row, span, turn(row))
        found.add(trace, span)
    return found.imported(source)


def _about(row: _Row) -> Iterator[tuple[str, Any]]:
    yield "name", _field(row, "traceName") or row.get("name")
    yield "user", _field(row, "userId")
    yield "release", row.get("release")
    yield "environment", row.get("environment")
    yield "tags", ", ".join(tag for tag in items(row.get("tags")) if isinstance(tag, str))
    yield from reported_work.scores(row.get("scores"))


def _rows(source: Source) -> Iterator[_Row]:
    if not source.json and _is_csv((source.text or "")[:65_536]):
        yield from _table(source)
        return
    message = "expected a trace with `observations`, or an observation with `traceId` and `type`"

    def known(row: _Row) -> bool:
        return _is_trace(row) or _is_observation(row)

    yield from reported_work.rows(source, ("data", "observations"), known, message)


def _table(source: Source) -> Iterator[_Row]:
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        reader = csv.DictReader(io.StringIO(source.need_text(), newline=""))
        for row in reader:
            if not _is_observation(row):
                raise source.wrong("expected an observation with a `traceId` and a `type`", reader.line_num)
            yield row
    except csv.Error as error:
        raise source.wrong(f"is no CSV that can be read ({error})") from None
    finally:
        csv.field_size_limit(before)


def _field(row: _Row, name: str) -> Any:
    """A field by its name in the API, or by the column's in blob storage."""
    if name in row:
        return row[name]
    return row.get("".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name))


def _span(row: _Row, trace: _Row) -> Span | None:
    began = moment(_field(row, "startTime"))
    id_ = text(row.get("id"))
    if began is None or id_ is None:
        return None
    kind = row.get("type")
    return Span(
        span_id=id_,
        started_at=began,
        ended_at=max(moment(_field(row, "endTime")) or began, began),
        turn=turn(row) if kind == "GENERATION" else None,
        use=_use(row) if kind in ("TOOL", "RETRIEVER") else None,
        trace_id=str(_field(row, "traceId")),
        parent_id=text(_field(row, "parentObservationId")),
        session=text(_field(trace, "sessionId")),
    )


def _whole(row: _Row) -> Span | None:
    began = moment(row.get("timestamp"))
    return None if began is None else Span(str(row["id"]), began, began, trace_id=str(row["id"]))


def turn(row: _Row) -> Turn:
    """What an observation, or a trace, was given and gave, in whichever words of its client."""
    model = text(row.get("model")) or text(_field(row, "providedModelName"))
    return Turn(
        loose_messages.asked(row.get("input")),
        loose_messages.answered(row.get("output")),
        model,
        _usage(row),
        _error(row),
    )


def _usage(row: _Row) -> Any:
    given = _field(row, "usageDetails") or row.get("usage")
    return loose_messages.usage(parse_or_none(given) if isinstance(given, str) else given)


def _error(row: _Row) -> str | None:
    if row.get("level") != "ERROR":
        return None
    return text(_field(row, "statusMessage")) or "failed"


def _use(row: _Row) -> ToolUse:
    content, _, failed = loose_messages.returned(row.get("output"))
    name = text(row.get("name")) or str(row.get("type")).lower()
    return ToolUse(name, loose_messages.called(row.get("input")), content, _error(row) or failed)
