"""MCP on captured traffic of the official packages, and what must not be taken for it."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httptools
import pytest

from abs_replay.assembly import assemble
from abs_replay.decoders import decode
from abs_replay.exchange import Body, Channel, Chunk, Exchange, Request, Response, Role

CHANNEL = Channel(Role.TOOL, "demo")


class Reader:
    """Reads one direction of a connection."""

    def __init__(self, response: bool) -> None:
        parser = httptools.HttpResponseParser if response else httptools.HttpRequestParser
        self.parser: Any = parser(self)
        self.messages: list[dict[str, Any]] = []
        self.now = 0.0

    def feed(self, data: bytes, now: float) -> None:
        self.now = now
        self.parser.feed_data(data)

    def on_message_begin(self) -> None:
        self.messages.append({"target": b"", "headers": [], "data": b"", "chunks": [], "at": self.now})

    def on_url(self, url: bytes) -> None:
        self.messages[-1]["target"] += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.messages[-1]["headers"].append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        method = getattr(self.parser, "get_method", None)
        self.messages[-1]["method"] = method().decode() if method else ""
        self.messages[-1]["status"] = 0 if method else self.parser.get_status_code()

    def on_body(self, data: bytes) -> None:
        message = self.messages[-1]
        message["data"] += data
        message["chunks"].append((len(message["data"]), self.now))


def exchanges(path: Path) -> Iterator[Exchange]:
    """Read a capture: one record a TCP read, both directions."""
    readers: dict[tuple[int, str], Reader] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        reader = readers.setdefault((record["conn"], record["dir"]), Reader(record["dir"] == "s2c"))
        data = base64.b64decode(record["b64"]) if "b64" in record else record.get("text", "").encode()
        if data:
            reader.feed(data, record["t"])
    for (connection, direction), reader in readers.items():
        if direction == "c2s":
            answers = readers[connection, "s2c"].messages
            for number, (asked, answered) in enumerate(zip(reader.messages, answers, strict=True)):
                yield exchange(f"{connection:02}.{number}", asked, answered)


def exchange(name: str, asked: dict[str, Any], answered: dict[str, Any]) -> Exchange:
    start = asked["at"]
    chunks = tuple(Chunk(end, (at - start) * 1000) for end, at in answered["chunks"])
    request = Request(asked["method"], asked["target"].decode(), tuple(asked["headers"]), Body(asked["data"]))
    response = Response(answered["status"], tuple(answered["headers"]), Body(answered["data"], chunks))
    return Exchange(name, CHANNEL, start, request, response)


@pytest.fixture
def captures(shared: Path) -> Path:
    folder = shared / "corpus" / "mcp-loopback-capture"
    if not folder.is_dir():
        pytest.skip(f"no captures at {folder}")
    return folder


@pytest.mark.parametrize(
    ("name", "tools"),
    [
        ("mcp_everything_streamable_http", 7),
        ("mcp_py23_legacy_stateful_json", None),
        ("mcp_py23_auto_2026", None),
    ],
)
def test_everything_captured_is_mcp_and_only_tool_calls_give_steps(
    captures: Path, name: str, tools: int | None
) -> None:
    seen = list(exchanges(captures / f"{name}.rawchunks.jsonl"))
    decoded = [decode(one) for one in seen]
    assert {one.protocol for one in decoded} == {"mcp"}
    asked = sum(b'"tools/call"' in one.request.body.data for one in seen)
    assert tools in (None, asked)
    (trace,) = assemble(seen)
    assert [(step.actor, step.action) for step in trace.steps] == [
        ("assistant", "calls"),
        ("tool", "responds"),
    ] * asked
    assert all(one.complete in (None, True) for one in decoded if one.uses)


def test_captured_calls_have_their_names_arguments_and_results(captures: Path) -> None:
    (trace,) = assemble(list(exchanges(captures / "mcp_everything_streamable_http.rawchunks.jsonl")))
    by_tool = {step.target: step for step in trace.steps if step.actor == "tool"}
    asked = {step.target: step.arguments for step in trace.steps if step.action == "calls"}
    assert by_tool.keys() == asked.keys()
    failed = [step for step in trace.steps if step.error]
    assert failed
    assert all(step.content == step.error for step in failed)
    pictures = [step.content for step in trace.steps if "image" in str(step.content)]
    assert pictures
    assert "data" not in str(pictures[0])


def rpc(method: str, **headers: str) -> Exchange:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}).encode()
    request = Request("POST", "/x", tuple((k.replace("_", "-"), v) for k, v in headers.items()), Body(body))
    return Exchange("x", CHANNEL, 0, request, Response(200, (), Body(b"{}")))


@pytest.mark.parametrize(
    ("method", "wanted"),
    [
        ("tools/call", "mcp"),
        ("notifications/cancelled", "mcp"),
        ("server/discover", "mcp"),
        ("message/send", "rest"),
        ("tasks/send", "rest"),
        ("eth_call", "rest"),
    ],
)
def test_json_rpc_is_mcp_by_its_method(method: str, wanted: str) -> None:
    assert decode(rpc(method)).protocol == wanted


def test_json_rpc_is_mcp_by_its_header() -> None:
    assert decode(rpc("custom/thing", mcp_session_id="s")).protocol == "mcp"


def test_ids_of_two_types_are_two_ids() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}
    answer = {"jsonrpc": "2.0", "id": "1", "result": {"content": []}}
    request = Request("POST", "/mcp", (), Body(json.dumps(call).encode()))
    one = Exchange("x", CHANNEL, 0, request, Response(200, (), Body(json.dumps(answer).encode())))
    assert decode(one).uses[0].error == "the answer ended before the result"


def test_structured_content_speaks_where_there_is_no_other() -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"content": [], "structuredContent": {"n": 1}}}
    request = Request("POST", "/mcp", (), Body(json.dumps(call).encode()))
    one = Exchange("x", CHANNEL, 0, request, Response(200, (), Body(json.dumps(answer).encode())))
    assert decode(one).uses[0].content == {"n": 1}
