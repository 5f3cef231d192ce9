"""Spans in the protobuf form of OTLP (github.com/open-telemetry/opentelemetry-proto)."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any, Final

from abs_replay.decoders.genai_spans import Record
from abs_replay.exact_json import Json

_MODULE: Final = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
_ERROR: Final = 2  # Status.StatusCode
_DEEPEST: Final = 50


class Unreadable(Exception):
    """Bytes that can not be read; the message says why."""


def records(data: bytes) -> Iterator[Record]:
    """Give the spans of an export; raises `Unreadable`."""
    for i, resource in enumerate(_parsed(data).resource_spans):
        for j, scope in enumerate(resource.scope_spans):
            for k, span in enumerate(scope.spans):
                yield _record(span, f"request.resourceSpans[{i}].scopeSpans[{j}].spans[{k}]")


def _parsed(data: bytes) -> Any:
    try:
        service = import_module(_MODULE)
        broken = import_module("google.protobuf.message").DecodeError
    except ImportError:
        raise Unreadable(
            "to read OTLP in protobuf, install opentelemetry-proto (pip install 'abs-replay[otel]'),"
            " or export JSON"
        ) from None
    try:
        return service.ExportTraceServiceRequest.FromString(data)
    except (broken, RecursionError, ValueError):
        raise Unreadable(f"the export is no whole protobuf ({len(data)} bytes)") from None


def _record(span: Any, at: str) -> Record:
    failed = span.status.code == _ERROR
    events = tuple((event.name, _attributes(event.attributes)) for event in span.events)
    return Record(
        span.name,
        span.span_id.hex(),
        span.start_time_unix_nano / 1e9,
        span.end_time_unix_nano / 1e9,
        _attributes(span.attributes),
        events,
        span.trace_id.hex() or None,
        span.parent_span_id.hex() or None,
        (span.status.message or "its status is an error") if failed else None,
        at,
    )


def _attributes(pairs: Iterable[Any], depth: int = 0) -> dict[str, Json]:
    return {pair.key: _value(pair.value, depth) for pair in pairs}


def _value(value: Any, depth: int) -> Json:
    kind = value.WhichOneof("value")
    if kind is None or depth > _DEEPEST:
        return None
    found = getattr(value, kind)
    if kind == "array_value":
        return [_value(item, depth + 1) for item in found.values]
    if kind == "kvlist_value":
        return _attributes(found.values, depth + 1)
    return found.hex() if kind == "bytes_value" else found  # type: ignore[no-any-return]
