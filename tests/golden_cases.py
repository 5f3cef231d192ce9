"""Exchanges made by hand, as the cases under `fixtures/PROTOCOL/` write them (`test_golden` says how)."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from abs_replay.decoders import DECODERS
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role
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
    )


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
