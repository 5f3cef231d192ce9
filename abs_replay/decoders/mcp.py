"""Model Context Protocol over Streamable HTTP: JSON-RPC in POSTs, answered as JSON or as events.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports and .../server/tools; the
protocol of 2026-07-28 has neither `initialize` nor session ids, and is read alike. Only `tools/call`
gives steps; everything else is recognised and says nothing of the conversation.
"""

from collections.abc import Mapping
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import sse
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, ToolUse
from abs_replay.decoders.failures import failure
from abs_replay.decoders.fields import error_text, items, obj, parse_or_none, structure, text
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, header

_HEADERS: Final = ("mcp-session-id", "mcp-protocol-version", "mcp-method")
_METHODS: Final = frozenset({"initialize", "ping", "server/discover"})
_FAMILIES: Final = (
    "tools",
    "resources",
    "prompts",
    "notifications",
    "completion",
    "logging",
    "roots",
    "sampling",
    "elicitation",
    "tasks",
    "subscriptions",
)


def claims(exchange: Exchange) -> bool:
    """Claim what bears an MCP header, or speaks JSON-RPC with a method of MCP's."""
    headers = exchange.request.headers
    marked = any(header(headers, name) is not None for name in _HEADERS)
    if exchange.request.method in ("GET", "DELETE"):
        return marked
    data = request_content(exchange).data
    if exchange.request.method != "POST" or b'"jsonrpc"' not in data:
        return False
    calls = _batch(parse_or_none(data))
    return bool(calls) and (marked or any(_is_method(text(call.get("method"))) for call in calls))


def _is_method(name: str | None) -> bool:
    family, slash, _ = (name or "").partition("/")
    return name in _METHODS or bool(slash and family in _FAMILIES and name not in ("tasks/send",))


def _batch(value: Any) -> list[Mapping[str, Any]]:
    """Give the JSON-RPC messages of a body: one, or (until 2025-06-18) a list of them."""
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict) and item.get("jsonrpc") == "2.0"]


def decode(exchange: Exchange) -> Decoded:
    """Give every tool use of the request, each with the result that bears its id."""
    request, response = request_content(exchange), response_content(exchange)
    asked = _batch(parse_or_none(request.data)) if exchange.request.method == "POST" else []
    streamed = _is_stream(exchange, response)
    answers = _answers(response, streamed)
    failed = failure(exchange, response)
    calls = [call for call in asked if call.get("method") == "tools/call"]
    expected = [_key(call) for call in asked if "method" in call and "id" in call]
    return Decoded(
        "mcp",
        uses=tuple(_use(call, answers.get(_key(call)), failed, exchange) for call in calls),
        complete=all(key in answers for key in expected) if streamed and asked else None,
        session=_session(exchange),
        remarks=request.remarks + response.remarks,
    )


def _is_stream(exchange: Exchange, content: Content) -> bool:
    headers = exchange.response.headers if exchange.response else ()
    return sse.is_stream(header(headers, "content-type") or "", content.text)


def _session(exchange: Exchange) -> str | None:
    """Give the session id, which the server issues in its answer to `initialize`."""
    issued = header(exchange.response.headers, "mcp-session-id") if exchange.response else None
    return header(exchange.request.headers, "mcp-session-id") or issued


def _answers(content: Content, streamed: bool) -> dict[str, Mapping[str, Any]]:
    """Give the responses by id. A stream also carries notifications and the server's own requests."""
    if streamed:
        bodies = [parse_or_none(event.data) for event in sse.events(content.text)]
    else:
        bodies = [parse_or_none(content.data)]
    found = [message for body in bodies for message in _batch(body)]
    return {_key(message): message for message in found if "result" in message or "error" in message}


def _key(message: Mapping[str, Any]) -> str:
    """Give an id as text that keeps 1 and "1" apart."""
    return exact_json.dumps(message.get("id"))


def _use(
    call: Mapping[str, Any], answer: Mapping[str, Any] | None, failed: str | None, exchange: Exchange
) -> ToolUse:
    params = obj(call.get("params"))
    name = text(params.get("name")) or exchange.channel.name
    arguments = obj(params.get("arguments"))
    if answer is None:
        error = failed or "the answer ended before the result"
        return ToolUse(name, arguments, None, error, "request.params")
    if answer.get("error") is not None:
        words = error_text(answer) or "the server answered with an error"
        return ToolUse(name, arguments, words, words, "request.params", "response.error")
    return _result(name, arguments, obj(answer.get("result")))


def _result(name: str, arguments: Json, result: Mapping[str, Any]) -> ToolUse:
    said = _said(result)
    error = None
    if result.get("isError") is True:
        error = said if isinstance(said, str) else exact_json.dumps(said)
    return ToolUse(name, arguments, said, error, "request.params", "response.result")


def _said(result: Mapping[str, Any]) -> Json:
    """Give what the tool said: its content blocks; `structuredContent` says the same once more."""
    blocks = [_block(obj(block)) for block in items(result.get("content"))]
    if not blocks:
        return result.get("structuredContent")
    if len(blocks) == 1:
        return blocks[0]
    if all(isinstance(block, str) for block in blocks):
        return "\n".join(str(block) for block in blocks)
    return blocks


def _block(block: Mapping[str, Any]) -> Json:
    words = block.get("text")
    if block.get("type") == "text" and isinstance(words, str):
        return structure(words)
    resource = obj(block.get("resource"))
    kept = {key: value for key, value in block.items() if key not in ("data", "_meta", "annotations")}
    # Pictures and files are named, not copied: the exchange has their bytes.
    return kept | {"resource": {k: v for k, v in resource.items() if k != "blob"}} if resource else kept
