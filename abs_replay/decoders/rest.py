"""Any other HTTP call on a tool channel: one use of the tool that the channel is named after.

Arguments are one object: `method`, `path` (as sent, without the query), and beside them the query's
parameters and the fields of a JSON or form body, so that `with: {orderId: "12345"}` finds them where
an author looks. A body's field hides a parameter, and both hide `method` and `path`. A body that is
no object stands under `body`. HTTP: https://www.rfc-editor.org/rfc/rfc9110#section-9.3
"""

from typing import Any, Final
from urllib.parse import parse_qsl

from abs_replay.decoders import sse
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, ToolUse
from abs_replay.decoders.failures import failure
from abs_replay.decoders.fields import parse_or_none
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, Headers, Role, header

# Questions about the server, not to the tool (CORS; RFC 8615, which OAuth discovery uses).
_ASIDE: Final = ("HEAD", "OPTIONS", "CONNECT", "TRACE")


def claims(exchange: Exchange) -> bool:
    """Claim whatever runs on a tool channel."""
    return exchange.channel.role is Role.TOOL


def decode(exchange: Exchange) -> Decoded:
    """Give the one use, unless the request only asked about the server."""
    request, response = request_content(exchange), response_content(exchange)
    remarks = request.remarks + response.remarks
    if exchange.request.method in _ASIDE or exchange.request.path.startswith("/.well-known/"):
        return Decoded("rest", remarks=remarks)
    headers = exchange.response.headers if exchange.response else ()
    use = ToolUse(
        name=exchange.channel.name,
        arguments=_arguments(exchange, request),
        content=_value(headers, response),
        error=failure(exchange, response),
    )
    return Decoded("rest", uses=(use,), remarks=remarks)


def _arguments(exchange: Exchange, content: Content) -> Json:
    request = exchange.request
    body = _form(content) if _is_form(request.headers) else _value(request.headers, content)
    fields: dict[str, Json] = {"method": request.method, "path": request.path, **_parameters(request.query)}
    if isinstance(body, dict):
        return fields | body
    return fields if body is None else fields | {"body": body}


def _parameters(query: str) -> dict[str, Json]:
    """Read a query; a name that comes several times has a list."""
    found: dict[str, list[str]] = {}
    for key, value in parse_qsl(query, keep_blank_values=True):
        found.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _is_form(headers: Headers) -> bool:
    return "x-www-form-urlencoded" in (header(headers, "content-type") or "").lower()


def _form(content: Content) -> dict[str, Json] | None:
    return _parameters(content.text) or None


def _value(headers: Headers, content: Content) -> Json:
    """Give a body as JSON where it is JSON, as text where it is text, else by its size and type."""
    if not content.data:
        return None
    kind = (header(headers, "content-type") or "").lower()
    if sse.is_stream(kind, content.text) and "event-stream" in kind:
        return [_line(event.data) for event in sse.events(content.text)]
    if "ndjson" in kind or "jsonl" in kind:
        return [_line(line) for line in content.text.split("\n") if line.strip()]
    value = parse_or_none(content.data)
    if value is not None:
        return value  # type: ignore[no-any-return]
    try:
        return content.data.decode("utf-8")
    except UnicodeDecodeError:
        return f"({len(content.data)} bytes of {kind or 'unknown type'})"


def _line(text: str) -> Any:
    value = parse_or_none(text)
    return text if value is None else value
