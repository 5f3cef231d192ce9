"""The real MCP client and a real server, with the shim between them, and then in its place."""

import asyncio
import contextlib
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError
from mcp_types import CreateMessageResult, TextContent

from abs_replay.assembly import assemble
from abs_replay.cassette import Cassette, dumps, loads
from abs_replay.decoders import decode
from abs_replay.exchange import Exchange, Recording
from abs_replay.store import Store

pytestmark = pytest.mark.processes

type Talk = tuple[Recording, list[Exchange], list[tuple[str, str, bool]]]
type Saw = tuple[list[tuple[str, str, bool]], list[object]]

SERVER = Path(__file__).parent / "mcp_server.py"


async def sampled(context: Any, params: Any) -> CreateMessageResult:
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="42"), model="m")


async def progress(progress: float, total: float | None, message: str | None) -> None:
    assert (progress, total, message) == (1, 2, "half")


async def call(mode: str, *command: str) -> Saw:
    """Call tools of a shim as an agent would; gives what the client saw: tool, words, whether it failed.

    And the objects of which it had that.
    """
    abs_ = ["-c", "from abs_replay.cli import main; main()", "shim", "demo", *command]
    server = StdioServerParameters(command=sys.executable, args=abs_)
    calls: list[tuple[str, dict[str, Any]]] = [("add", {"a": 1, "b": 2}), ("nope", {})]
    calls += [("ask", {"question": "6*7"})] if mode == "legacy" else []
    seen: list[tuple[str, str, bool]] = []
    objects: list[object] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sampling is on its way out of the protocol
        async with Client(stdio_client(server), mode=mode, sampling_callback=sampled) as client:
            objects.append(await client.list_tools())
            for name, arguments in calls:
                result = await client.call_tool(name, arguments, progress_callback=progress)
                objects.append(result)
                (block,) = result.content
                assert isinstance(block, TextContent)
                seen.append((name, block.text, bool(result.is_error)))
            with contextlib.suppress(MCPError, TimeoutError):
                await client.call_tool("hang", {}, read_timeout_seconds=0.3)
    return seen, objects


def kept(store: Path) -> list[Exchange]:
    """What is in the store when the recording has ended."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if store.exists() and all(each.recording.ended_at for each in Store(store).recordings()):
            break
        time.sleep(0.1)
    return list(Store(store).exchanges())


@pytest.fixture(scope="module", params=["legacy", "auto"])
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Saw]:
    """The client's mode, the store that was recorded into, and what the client saw."""
    store = tmp_path_factory.mktemp("shim") / "store.duckdb"
    recorded = ("--store", str(store), "--", sys.executable, str(SERVER))
    return request.param, store, asyncio.run(call(request.param, *recorded))


@pytest.fixture(scope="module")
def talk(lived: tuple[str, Path, Saw]) -> Talk:
    """What was recorded, and what the client saw."""
    _, store, (saw, _) = lived
    seen = kept(store)
    (summary,) = Store(store).recordings()
    return summary.recording, seen, saw


def test_the_trace_of_a_talk_is_what_the_client_saw(talk: Talk) -> None:
    _, seen, saw = talk
    assert {decode(one).protocol for one in seen} == {"mcp"}
    (trace,) = assemble(seen)
    answers = [step for step in trace.steps if step.action == "responds"]
    assert [(step.target, str(step.content), step.error is not None) for step in answers[:-1]] == saw
    assert answers[-1].target == "hang"
    assert answers[-1].error is not None


def test_a_cassette_of_it_loses_nothing(talk: Talk) -> None:
    recording, seen, _ = talk
    cassette = Cassette(recording, tuple(seen))
    assert loads(dumps(cassette)) == cassette


def test_progress_and_what_the_server_asked_stand_in_the_stream_of_their_call(talk: Talk) -> None:
    _, seen, saw = talk
    named = {one.request.body.data: one.response for one in seen}
    added = next(response for body, response in named.items() if b'"add"' in body)
    assert added is not None
    assert b"notifications/progress" in added.body.data
    if ("ask", "42", False) in saw:
        asked = next(response for body, response in named.items() if b'"ask"' in body)
        assert asked is not None
        assert b"sampling/createMessage" in asked.body.data
        answered = next(response for body, response in named.items() if b'"42"' in body)
        assert answered is not None
        assert answered.status == 202


def test_a_replay_gives_the_client_equal_objects_and_starts_no_server(
    lived: tuple[str, Path, Saw], talk: Talk, tmp_path: Path
) -> None:
    mode, _, saw = lived
    cassette = tmp_path / "demo.cassette.json"
    cassette.write_text(dumps(Cassette(talk[0], tuple(talk[1]))), encoding="utf-8")
    started = tmp_path / "started"
    server = ("--", sys.executable, "-c", f"open({str(started)!r}, 'w')")
    assert asyncio.run(call(mode, "--replay", str(cassette), *server)) == saw
    assert not started.exists()
