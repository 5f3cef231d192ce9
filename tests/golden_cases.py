"""Exchanges made by hand, as the cases under `fixtures/PROTOCOL/` write them (`test_golden` says how)."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from abs_replay.decoders import DECODERS
from abs_replay.exchange import (
    Body,
    Channel,
    Chunk,
    Exchange,
    Message,
    Request,
    Response,
    Role,
    WebSocket,
)
from tests import event_frames

FIXTURES = Path(__file__).parents[1] / "fixtures"
FRAMES: dict[str, Callable[..., bytes]] = {
    "event": event_frames.event,
    "chunk": event_frames.chunk,
    "exception": event_frames.exception,
}
CASES = sorted(path for name in DECODERS for path in (FIXTURES / name).glob("*.json"))


def exchange(number: int, case: dict[str, Any], step: int = 0) -> Exchange:
    """Make an exchange; `step` is the size of its response's chunks, 0 for one."""
    role, _, name = case["channel"].partition(":")
    request, response = case["request"], case["response"]
    data = body(response)
    ends = [*range(step, len(data), step), len(data)] if step else [len(data)]
    took: float = case.get("took_ms", 50.0)
    chunks = tuple(Chunk(end, 10 + (took - 10) * index / len(ends)) for index, end in enumerate(ends, 1))
    return Exchange(
        f"x{number}",
        Channel(Role(role), name or role),
        number * 0.1,
        Request(request["method"], request["target"], headers(request), Body(body(request))),
        Response(response["status"], headers(response), Body(data, chunks if data else ())),
        ended_ms=took,
        websocket=socket(case["websocket"]) if "websocket" in case else None,
    )


def socket(case: dict[str, Any]) -> WebSocket:
    """Make a WebSocket of its `messages`: the side (`>` is the client), the time, the JSON."""
    said = [(side, at_ms, json.dumps(value).encode()) for side, at_ms, value in case["messages"]]
    binary = case.get("binary", False)  # what the server says: Google sends JSON so
    messages = (Message(side == ">", data, side == ">" or not binary, at_ms) for side, at_ms, data in said)
    return WebSocket(tuple(messages), case.get("close_code"), case.get("close_reason", ""))


def headers(case: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple(case.get("headers", {}).items())


def body(case: dict[str, Any]) -> bytes:
    if "json" in case:
        return json.dumps(case["json"], ensure_ascii=False).encode("utf-8", "surrogatepass")
    if "frames" in case:
        return b"".join(FRAMES[kind](*given) for kind, *given in case["frames"])
    line_end: str = case.get("line_end", "\n")
    return line_end.join(case.get("lines", [])).encode()


@cache
def exchanges() -> dict[str, tuple[Exchange, ...]]:
    """Give the exchanges of every case, by the protocol that it is a case of."""
    found: dict[str, tuple[Exchange, ...]] = dict.fromkeys(DECODERS, ())
    for path in CASES:
        given = json.loads(path.read_text(encoding="utf-8"))["exchanges"]
        made = tuple(exchange(i, one) for i, one in enumerate(given))
        found[path.parent.name] += tuple(made)
    return found
