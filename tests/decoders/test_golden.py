"""Every case under `fixtures/PROTOCOL/`: exchanges as made by hand, and what they come to.

A case holds `exchanges` (bodies as `json`, `lines` or binary `frames`; `took_ms`, where not 50; the
messages of a `websocket`) and, as golden values, what each decoded to (`decoded`) and the `traces` of
them all. `--update-golden` writes the golden values anew.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, decode
from abs_replay.exchange import Exchange
from abs_replay.importers import trace_file
from tests.golden_cases import CASES, FIXTURES, exchange

NAMES = list(DECODERS)
NONE_SUCH = {"otlp": {"stream"}}  # exports are requests, and answered by nothing


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
