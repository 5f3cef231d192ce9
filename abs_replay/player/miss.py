"""What a miss says: to the operator as text, to the client as an error in its own API's shape.

The status is 422. SDKs retry 408, 409, 429 and 5xx, and a retry would only miss again; MCP clients take 404
for the end of their session, and agents take it for "no such order"; 400 and 401 have meanings that
programs handle. 422 says what it is: understood, and not to be answered.
"""

import json
from collections.abc import Sequence
from typing import Any

from abs_replay.cassette.layout import one_line
from abs_replay.exchange import Exchange, Request
from abs_replay.matching.canonical import json_body
from abs_replay.matching.suggesting import written
from abs_replay.player import Miss, Played, Reason
from abs_replay.redact import Redactor

STATUS = 422
CODE = "replay_miss"
_RECORDED = (Reason.USED_UP, Reason.WEBSOCKET, Reason.MESSAGE)


def explain(miss: Miss, exchanges: Sequence[Exchange]) -> str:
    """Say what was asked and why nothing answers: one line, then the nearest and what differs, indented."""
    return "\n".join(map(one_line, [_asked(miss), *(f"  {line}" for line in _details(miss, exchanges))]))


def explain_played(played: Played, request: Request) -> str:
    """Say why an exchange answered, in one line: what of the request stood for what was recorded."""
    name = _name(played.number, played.exchange)
    pairs = [_pair(kind, then, now) for kind, then, now in played.pairs if then != now]
    renamed = f": {', '.join(pairs)}" if pairs else ""
    target = Redactor().text(request.target)  # as a query may have the client's key
    asked = f"{request.method} {_short(target)} on {played.exchange.channel}"
    return one_line(f"{asked}: {played.how} as {name}{renamed}")


def _pair(kind: str, recorded: str, asked: str) -> str:
    """What stood for what; a key of the client's is nobody's to read."""
    shown = "a secret" if kind.startswith("secret") or kind == "credential" else _short(asked)
    return f"{shown} for {_short(recorded)}"


def _asked(miss: Miss) -> str:
    request = miss.request
    if miss.reason is Reason.UNREADABLE:
        return f"something on {miss.channel} that is no HTTP/1.1 request: TLS, HTTP/2, or a path too long"
    why = {
        Reason.UNKNOWN: "nobody recorded this request",
        Reason.MESSAGE: "a message on its WebSocket that nobody recorded there",
        Reason.WEBSOCKET: "recorded as a WebSocket, and asked for without opening one",
        Reason.LIVE_WEBSOCKET: "a WebSocket, and those are not asked live: record it with `abs record`",
        Reason.USED_UP: f"recorded {_times(miss.recorded)}, and all were played",
        Reason.AMBIGUOUS: f"ambiguous: {len(miss.candidates)} recorded requests fit, with different answers",
    }[miss.reason]
    return f"{request.method} {_short(request.target)} on {miss.channel}: {why}"


def _details(miss: Miss, exchanges: Sequence[Exchange]) -> list[str]:
    if miss.reason is Reason.UNKNOWN and miss.nearest is None:
        return [f"nothing was recorded on {miss.channel}"]
    if miss.nearest is None:
        return []
    numbers = miss.candidates or (miss.nearest,)
    word = "candidate" if miss.candidates else "recorded as" if miss.reason in _RECORDED else "nearest"
    lines = [f"{word}: {_name(number, exchanges[number])}" for number in numbers[:5]]
    return lines + [f"  {difference}" for difference in miss.differences] + _suggested(miss)


def _suggested(miss: Miss) -> list[str]:
    if not miss.ignoring:
        return []
    rules = [f"    {line}" for line in written(miss.ignoring).splitlines()]
    return ["it would match with this in abs.config.yaml:", "match:", "  ignore:", *rules]


def _name(number: int, exchange: Exchange) -> str:
    request = exchange.request
    return f"exchanges[{number}], {request.method} {_short(request.target)} (id {exchange.id})"


def _short(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


# -- the answer to the client


def answer(miss: Miss, exchanges: Sequence[Exchange]) -> tuple[str, bytes]:
    """Give content type and body of the error that the client gets."""
    return shaped(miss.request, f"abs replay: {explain(miss, exchanges)}", miss.reason)


def shaped(request: Request, message: str, reason: Reason) -> tuple[str, bytes]:
    """Give content type and body of an error in the shape of the API that a request is for."""
    document = json_body(request.body.data)
    if isinstance(document, dict) and document.get("jsonrpc") == "2.0":
        return _written(_json_rpc(document, message))
    for suffixes, shape in _SHAPES:
        if request.path.endswith(suffixes) and request.method == "POST":
            return _written(shape(message))
    return _written(_problem(message, reason), "application/problem+json")


def _written(document: dict[str, Any], content_type: str = "application/json") -> tuple[str, bytes]:
    return content_type, json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _json_rpc(request: dict[str, Any], message: str) -> dict[str, Any]:
    # -32001: of the range that JSON-RPC 2.0 §5.1 leaves to servers.
    return {"jsonrpc": "2.0", "id": request.get("id"), "error": {"code": -32001, "message": message}}


def _openai(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": CODE, "param": None, "code": CODE}}


def _anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": CODE, "message": message}}


def _gemini(message: str) -> dict[str, Any]:
    return {"error": {"code": STATUS, "message": message, "status": CODE.upper()}}


def _problem(message: str, reason: Reason) -> dict[str, Any]:
    """RFC 9457."""
    title, _, detail = message.partition("\n")
    shown: dict[str, Any] = {"type": "about:blank", "title": title, "status": STATUS, "detail": detail}
    return shown | {"code": CODE, "reason": reason.value}


_SHAPES = (
    (("/chat/completions", "/responses", "/completions", "/embeddings"), _openai),
    (("/messages",), _anthropic),
    ((":generateContent", ":streamGenerateContent"), _gemini),
)
