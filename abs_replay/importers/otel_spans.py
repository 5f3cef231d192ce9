"""OpenTelemetry's spans in files: what agents report of their models and tools (`decoders.genai_spans`).

OTLP/JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding), in one document or an export a
line, as the collector's file exporter writes it; and spans as the exporters of SDKs to a console or a file
dump them, one behind the other, in a list or one a line:

    {"name", "context": {"trace_id", "span_id"}, "parent_id", "start_time", "end_time", "status",
     "attributes", "events"}

The latter is `ReadableSpan.to_json` of opentelemetry-sdk for Python, 1.20 to 1.45.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from abs_replay.decoders import fields, otlp
from abs_replay.decoders.fields import items, obj, text
from abs_replay.decoders.genai_spans import Record, spans
from abs_replay.errors import UsageError
from abs_replay.importers import reported_work
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import moment, tagged
from abs_replay.trace import Trace

_TAG: Final = "abs.tag."  # so our own exports write tags
_TIMES: Final = "abs.times"  # and of a span whose times nobody saw that they are `assumed`
_NAMES: Final = {
    "gen_ai.conversation.id": "conversation",
    "gen_ai.agent.name": "agent",
    "gen_ai.agent.version": "agent_version",
    "abs.session": "abs.session",
}
_BLANKS: Final = re.compile(r"[\s,]*")
_BOUNDS: Final = json.JSONDecoder()  # says where a value ends; `fields` reads it
type _Fields = Mapping[str, Any]


def recognises(source: Source) -> bool:
    """Whether the first object is an export of spans, or a span with a context."""
    head = (source.text or "")[:1_000_000]
    if '"resourceSpans"' in head:
        return _is_export(_first(source))
    if '"span_id"' not in head or '"context"' not in head:
        return False
    return _is_span(_first(source))


def _first(source: Source) -> _Fields:
    lines = source.json_lines
    if source.json or isinstance(lines, tuple):
        return reported_work.first_row(source, ())
    try:
        return next((obj(value) for value, _ in _behind(source)), {})
    except UsageError:
        return {}


def _is_export(value: Any) -> bool:
    return isinstance(obj(value).get("resourceSpans"), list)


def _is_span(value: Any) -> bool:
    found = obj(value)
    return bool(text(obj(found.get("context")).get("span_id"))) and "start_time" in found


def read(source: Source) -> Imported:
    """Read every span; raises `UsageError` with the line."""
    records = list(_records(source))
    reported = spans(records)
    about = _About(records)
    untimed = {record.span_id for record in records if record.attributes.get(_TIMES) == "assumed"}
    found = [about.named(*each) for each in reported_work.told(reported, "otel", untimed)]
    if not found:
        raise source.wrong("its spans report no call of a model and none of a tool, with messages")
    untold = len({record.span_id for record in records} - {span.span_id for span in reported})
    return Imported(traces=tuple(found), remarks=(reported_work.UNTOLD,) * untold)


class _About:
    """What the spans of each OpenTelemetry trace say beside their work."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._origins: dict[str, str | None] = {}
        self._said: dict[str | None, dict[str, Any]] = {}
        for record in records:
            self._origins[record.span_id] = record.trace_id
            said = self._said.setdefault(record.trace_id, {})
            for key, value in _about(record):
                said.setdefault(key, value)

    def named(self, trace: Trace, shown: Iterable[str]) -> Trace:
        """Give a trace the tags, and the session, that the spans which show it come with."""
        said: dict[str, Any] = {}
        for origin in dict.fromkeys(self._origins.get(span) for span in shown):
            said = {**self._said.get(origin, {}), **said}
        session = text(said.pop("abs.session", None))
        tags = tagged(said.items())
        return replace(trace, tags=tags, session=session, agent_version=tags.get("agent_version"))


def _about(record: Record) -> Iterator[tuple[str, Any]]:
    yield "trace_id", record.trace_id
    for key, value in record.attributes.items():
        if key in _NAMES:
            yield _NAMES[key], value
        elif key.startswith(_TAG):
            yield key.removeprefix(_TAG), value


def _records(source: Source) -> Iterator[Record]:
    for value, line in _values(source):
        if _is_export(value):
            yield from _exported(value)
        elif _is_span(value):
            yield _dumped(value)
        else:
            raise source.wrong("expected an export with `resourceSpans`, or a span with a `context`", line)


def _exported(value: _Fields) -> Iterator[Record]:
    for resource in map(obj, items(value["resourceSpans"])):
        for scope in map(obj, items(resource.get("scopeSpans"))):
            yield from (otlp.record(span, "") for span in items(scope.get("spans")) if isinstance(span, dict))


def _dumped(value: _Fields) -> Record:
    context, status = obj(value.get("context")), obj(value.get("status"))
    failed = text(status.get("description")) or "its status is an error"
    events = [obj(event) for event in items(value.get("events"))]
    began = moment(value.get("start_time")) or 0.0
    return Record(
        text(value.get("name")) or "",
        str(context["span_id"]).removeprefix("0x"),
        began,
        moment(value.get("end_time")) or began,
        obj(value.get("attributes")),
        tuple((text(event.get("name")) or "", obj(event.get("attributes"))) for event in events),
        str(context.get("trace_id") or "").removeprefix("0x").lower() or None,
        (text(value.get("parent_id")) or "").removeprefix("0x") or None,
        failed if status.get("status_code") == "ERROR" else None,
    )


def _values(source: Source) -> Iterator[tuple[Any, int | None]]:
    if source.json:
        value = source.json
        yield from ((item, None) for item in (value if isinstance(value, list) else [value]))
    elif isinstance(source.json_lines, tuple):
        yield from ((line.value, line.number) for line in source.json_lines)
    else:
        yield from _behind(source)


def _behind(source: Source) -> Iterator[tuple[Any, int | None]]:
    """Give values that are written one behind the other, over several lines each."""
    whole = source.need_text()
    at, line, counted = _after(whole, 0), 1, 0
    while at < len(whole):
        line, counted = line + whole.count("\n", counted, at), at
        try:
            _, end = _BOUNDS.raw_decode(whole, at)
            yield fields.parse(whole[at:end]), line
        except RecursionError:
            raise source.wrong("is nested too deep", line) from None
        except ValueError as error:
            raise source.wrong(f"is no JSON that can be read ({error})", line) from None
        at = _after(whole, end)


def _after(whole: str, at: int) -> int:
    blanks = _BLANKS.match(whole, at)
    return blanks.end() if blanks else at
