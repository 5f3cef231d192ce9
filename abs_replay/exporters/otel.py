"""Traces as OpenTelemetry spans, in OTLP/JSON, with the attributes of the GenAI conventions 1.37 and newer.

https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/ and .../gen-ai-agent-spans/,
https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids are hexadecimal, 64-bit numbers text.

A trace is one `invoke_agent` span; below it each answer of the assistant is a `chat` span with the messages
before it, and each answer of a tool an `execute_tool` span. Messages are JSON text, since not every backend
takes structures.

A span must have times. Where nobody saw when something was there, it has made-up ones, in order, and says so:
its attribute `abs.times` is `assumed`.
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay import __version__, exact_json
from abs_replay.exact_json import Json
from abs_replay.exporters.content import Content
from abs_replay.exporters.turns import Event, ModelTurn, ToolAnswer, events
from abs_replay.importers import trace_file
from abs_replay.trace import Trace, Usage

SCHEMA: Final = "https://opentelemetry.io/schemas/1.37.0"
_INTERNAL, _CLIENT, _ERROR = 1, 3, 2  # SpanKind, StatusCode
_FIRST_S: Final = 1.0  # when a trace begins whose time nobody knows: 0 says that a span never began


def render(content: Content) -> str:
    """Write an export request with all spans of all traces."""
    spans = [span for trace in content.traces for span in _spans(trace, content)]
    scope = {"name": "abs-replay", "version": __version__}
    resource = {"attributes": _attributes({"service.name": content.recording.name})}
    request: dict[str, Any] = {
        "resourceSpans": [
            {
                "resource": resource,
                "scopeSpans": [{"scope": scope, "spans": spans, "schemaUrl": SCHEMA}],
                "schemaUrl": SCHEMA,
            }
        ]
    }
    return trace_file.escaped(exact_json.dumps(request)) + "\n"


def _spans(trace: Trace, content: Content) -> Iterator[dict[str, Any]]:
    otherwise = content.recording.started_at
    found = events(trace, trace.started_at or otherwise or _FIRST_S)
    root = _id(trace, "root", 16)
    began = min((event.began for event in found), default=trace.started_at or otherwise or _FIRST_S)
    ended = max((event.ended for event in found), default=began)
    about = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": trace.id,
        "abs.session": trace.session,
        **{f"abs.tag.{key}": value for key, value in trace.tags.items()},
    }
    yield _span(trace, "root", None, "invoke_agent", _INTERNAL, began, ended, about)
    for number, event in enumerate(found):
        yield _of(trace, event, str(number), root, content.providers)


def _of(trace: Trace, event: Event, part: str, root: str, providers: Mapping[str, str]) -> dict[str, Any]:
    said = {"gen_ai.conversation.id": trace.id, "abs.times": None if event.timed else "assumed"}
    if isinstance(event, ToolAnswer):
        return _span(
            trace,
            part,
            root,
            f"execute_tool {event.name}",
            _INTERNAL,
            event.began,
            event.ended,
            said | _tool(event),
            event.error,
        )
    name = f"chat {event.model}" if event.model else "chat"
    # Required, and a step that nobody recorded does not say it.
    provider = next((providers[id_] for id_ in event.seen_in if id_ in providers), "unknown")
    about = said | _chat(event, provider)
    return _span(trace, part, root, name, _CLIENT, event.began, event.ended, about, event.error)


def _chat(event: ModelTurn, provider: str) -> dict[str, Json]:
    usage = event.usage or Usage()
    counted = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens or None,
        "gen_ai.usage.reasoning_tokens": usage.reasoning_tokens or None,
    }
    answer = [{"role": "assistant", "parts": event.parts, "finish_reason": _finish(event)}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": event.model,
        "gen_ai.response.model": event.model,
        **(counted if event.usage else {}),
        "gen_ai.input.messages": _json(event.before),
        "gen_ai.output.messages": _json(answer) if event.parts else None,
    }


def _finish(event: ModelTurn) -> str:
    if event.error:
        return "error"
    return "tool_call" if event.parts and event.parts[-1].get("type") == "tool_call" else "stop"


def _tool(event: ToolAnswer) -> dict[str, Json]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": event.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": event.call_id,
        "gen_ai.tool.call.arguments": _json(event.arguments),
        "gen_ai.tool.call.result": _plain(event.content),
    }


def _plain(value: Json) -> Json:
    """A value that an attribute can have, else its JSON."""
    return value if value is None or isinstance(value, str | bool | int) else _json(value)


def _json(value: Any) -> str:
    return trace_file.escaped(exact_json.dumps(value))


def _span(
    trace: Trace,
    part: str,
    parent: str | None,
    name: str,
    kind: int,
    began: float,
    ended: float,
    attributes: Mapping[str, Json],
    error: str | None = None,
) -> dict[str, Any]:
    failed = {"error.type": "_OTHER"} if error else {}
    return {
        "traceId": _id(trace, "", 32),
        "spanId": _id(trace, part, 16),
        **({"parentSpanId": parent} if parent else {}),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": _nanoseconds(began),
        "endTimeUnixNano": _nanoseconds(max(began, ended)),
        "attributes": _attributes({**attributes, **failed}),
        "status": {"code": _ERROR, "message": error} if error else {},
    }


def _id(trace: Trace, part: str, digits: int) -> str:
    return hashlib.sha256(f"{trace.id}\n{part}".encode("utf-8", "surrogatepass")).hexdigest()[:digits]


def _nanoseconds(seconds: float) -> str:
    # Of Unix seconds a float tells microseconds apart, not more.
    return str(round(seconds * 1_000_000) * 1000)


def _attributes(values: Mapping[str, Json]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value is not None]


def _value(value: Json) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if abs(value) < 2**63 else {"stringValue": str(value)}
    return {"stringValue": value}
