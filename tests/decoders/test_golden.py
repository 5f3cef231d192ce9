"""Every case under `fixtures/PROTOCOL/`: exchanges as made by hand, and what they come to.

A case holds `exchanges` (bodies as `json`, `lines` or binary `frames`; `took_ms`, where not 50) and, as
golden values, what each decoded to (`decoded`) and the `traces` of them all. `--update-golden` writes the golden values anew.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, decode
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role
from abs_replay.importers import trace_file
from tests import event_frames

FIXTURES = Path(__file__).parents[2] / "fixtures"
NAMES = list(DECODERS)
FRAMES: dict[str, Callable[..., bytes]] = {
    "event": event_frames.event,
    "chunk": event_frames.chunk,
    "exception": event_frames.exception,
}
NONE_SUCH = {"otlp": {"stream"}}  # exports are requests, and answered by nothing
CASES = sorted(path for name in NAMES for path in (FIXTURES / name).glob("*.json"))


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
        return json.dumps(case["json"], ensure_ascii=False).encode()
    if "frames" in case:
        return b"".join(FRAMES[kind](*given) for kind, *given in case["frames"])
    line_end: str = case.get("line_end", "\n")
    return line_end.join(case.get("lines", [])).encode()


def outcome(exchanges: list[Exchange]) -> dict[str, Any]:
    decoded = [decode(one) for one in exchanges]
    return {
        "decoded": [
            {"protocol": one.protocol, "complete": one.complete, "remarks": list(one.remarks)}
            for one in decoded
        ],
        "traces": [json.loads(trace_file.write([trace]))["steps"] for trace in assemble(exchanges)],
    }


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_case_comes_to_its_golden_traces(path: Path, request: pytest.FixtureRequest) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    found = outcome([exchange(i, one) for i, one in enumerate(case["exchanges"])])
    if request.config.getoption("--update-golden"):
        path.write_text(json.dumps(case | found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        return
    assert found == {key: case[key] for key in found}


@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_where_chunks_end_changes_nothing(path: Path, step: int) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    whole = [exchange(i, one) for i, one in enumerate(case["exchanges"])]
    cut = [exchange(i, one, step) for i, one in enumerate(case["exchanges"])]
    if case.get("timed"):  # when a thing was seen is when its chunk came
        assert untimed(outcome(cut)) == untimed(outcome(whole))
    else:
        assert outcome(cut) == outcome(whole)


def untimed(found: Any) -> Any:
    if isinstance(found, dict):
        return {k: untimed(v) for k, v in found.items() if k not in ("at_ms", "duration_ms")}
    return [untimed(item) for item in found] if isinstance(found, list) else found


@pytest.mark.parametrize("name", NAMES)
def test_every_decoder_has_a_plain_a_streamed_and_a_failing_case(name: str) -> None:
    wanted = {"plain", "stream", "error"} - NONE_SUCH.get(name, set())
    assert wanted <= {path.stem for path in (FIXTURES / name).glob("*.json")}
