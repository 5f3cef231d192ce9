"""What an agent exports of its own work over OTLP/HTTP: spans, in JSON or protobuf.

https://opentelemetry.io/docs/specs/otlp/#otlphttp. The report counts, whatever the collector answered.
Logs and metrics, which go to the same collectors, say nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders import otlp_protobuf
from abs_replay.decoders.content import Content, request_content
from abs_replay.decoders.events import Decoded, Span
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.decoders.genai_spans import Record, spans
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, header

_TRACES: Final = "/v1/traces"
_ASIDE: Final = {"/v1/logs": "resourceLogs", "/v1/metrics": "resourceMetrics"}
_ERROR: Final = (2, "STATUS_CODE_ERROR")
_DEEPEST: Final = 50


def claims(exchange: Exchange) -> bool:
    """Claim exports to a collector's paths: protobuf by its type, JSON by its member."""
    path = exchange.request.path.rstrip("/")
    member = "resourceSpans" if path.endswith(_TRACES) else None
    member = member or next((name for end, name in _ASIDE.items() if path.endswith(end)), None)
    if member is None or exchange.request.method != "POST":
        return False
    if "protobuf" in (header(exchange.request.headers, "content-type") or "").lower():
        return True
    return member in obj(parse_or_none(request_content(exchange).data))


def decode(exchange: Exchange) -> Decoded:
    """Give the spans that report a turn or a use of a tool."""
    request = request_content(exchange)
    if not exchange.request.path.rstrip("/").endswith(_TRACES):
        told = ("messages in log records are not traced",) if b"gen_ai." in request.data else ()
        return Decoded("otlp", remarks=request.remarks + told)
    found, remarks = _spans(request)
    return Decoded("otlp", remarks=request.remarks + remarks, spans=found)


def _spans(content: Content) -> tuple[tuple[Span, ...], tuple[str, ...]]:
    body = parse_or_none(content.data)
    if isinstance(body, dict):
        return spans(_records(body)), ()
    try:
        return spans(otlp_protobuf.records(content.data)), ()
    except otlp_protobuf.Unreadable as error:
        return (), (str(error),)


def _records(body: Mapping[str, Any]) -> Iterator[Record]:
    for i, resource in enumerate(items(body.get("resourceSpans"))):
        for j, scope in enumerate(items(obj(resource).get("scopeSpans"))):
            for k, span in enumerate(items(obj(scope).get("spans"))):
                if isinstance(span, dict):
                    yield record(span, f"request.resourceSpans[{i}].scopeSpans[{j}].spans[{k}]")


def record(span: Mapping[str, Any], at: str) -> Record:
    """Read a span in the JSON form of OTLP."""
    status = obj(span.get("status"))
    events = [obj(event) for event in items(span.get("events"))]
    failed = text(status.get("message")) or "its status is an error"
    return Record(
        text(span.get("name")) or "",
        text(span.get("spanId")) or at,
        _seconds(span.get("startTimeUnixNano")),
        _seconds(span.get("endTimeUnixNano")),
        attributes(span.get("attributes")),
        tuple((text(event.get("name")) or "", attributes(event.get("attributes"))) for event in events),
        (text(span.get("traceId")) or "").lower() or None,
        text(span.get("parentSpanId")),
        failed if status.get("code") in _ERROR else None,
        at,
    )


def _seconds(nanos: Any) -> float:
    """Read a time, which JSON has as a text, since doubles do not hold it."""
    if isinstance(nanos, str):
        nanos = int(nanos) if nanos.isascii() and nanos.isdecimal() and len(nanos) < 25 else 0
    known = isinstance(nanos, int) and not isinstance(nanos, bool) and nanos > 0
    return min(nanos, 10**24) / 1e9 if known else 0.0


def attributes(pairs: Any, depth: int = 0) -> dict[str, Json]:
    """Read a list of attributes in the JSON form of OTLP."""
    found = [obj(pair) for pair in items(pairs)]
    return {pair["key"]: _value(obj(pair.get("value")), depth) for pair in found if text(pair.get("key"))}


def _value(value: Mapping[str, Any], depth: int) -> Json:
    if depth > _DEEPEST:
        return None
    for kind, given in value.items():
        match kind:
            case "stringValue" | "boolValue" | "doubleValue" | "bytesValue":
                return given  # type: ignore[no-any-return]
            case "intValue":
                return _whole(given)
            case "arrayValue":
                return [_value(obj(item), depth + 1) for item in items(obj(given).get("values"))]
            case "kvlistValue":
                return attributes(obj(given).get("values"), depth + 1)
    return None


def _whole(given: Any) -> Json:
    if isinstance(given, str):
        digits = given.removeprefix("-")
        return int(given) if digits.isascii() and digits.isdecimal() and len(digits) < 25 else None
    return given if isinstance(given, int) else None
