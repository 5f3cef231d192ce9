"""A real MCP server and client through the real proxy, in both of the transports and both protocols."""

import asyncio
import contextlib
import warnings
from collections.abc import AsyncIterator, Callable

import pytest
import uvicorn
from mcp import Client
from mcp.client.sse import sse_client
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

from abs_replay.assembly import assemble
from abs_replay.channels import parse_upstream
from abs_replay.decoders import decode
from abs_replay.exchange import Exchange, Role

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # of pyasn1 in ldap3, which mitmproxy imports
    from abs_replay.proxy import listening

pytestmark = pytest.mark.processes

demo = MCPServer("demo", log_level="CRITICAL")


@demo.tool()
async def add(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say how far it got."""
    await ctx.report_progress(1, 2, "half")
    return a + b


@contextlib.asynccontextmanager
async def served(older: bool) -> AsyncIterator[str]:
    app = demo.sse_app() if older else demo.streamable_http_app()
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=1)
    )
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await task


async def recorded(transport: str) -> list[Exchange]:
    made: list[Callable[[], Exchange]] = []
    async with served(transport == "older") as url:
        declared = parse_upstream(Role.TOOL, f"demo={url}")
        async with listening([declared], made.append, max_body=1 << 20) as addresses:
            base = addresses[declared.channel]
            target = sse_client(f"{base}/sse") if transport == "older" else f"{base}/mcp"
            async with Client(target, mode="auto" if transport == "2026-07-28" else "legacy") as client:
                await client.call_tool("add", {"a": 1, "b": 2})
                await client.call_tool("nope", {})
    return [make() for make in made]


@pytest.mark.parametrize("transport", ["older", "streamable", "2026-07-28"])
def test_recorded_calls_are_answered_whatever_the_transport(transport: str) -> None:
    seen = asyncio.run(recorded(transport))
    assert {decode(one).protocol for one in seen} == {"mcp"}
    (trace,) = assemble(seen)
    assert [(step.action, step.target, step.content, step.error) for step in trace.steps] == [
        ("calls", "add", None, None),
        ("responds", "add", "3", None),
        ("calls", "nope", None, None),
        ("responds", "nope", "Unknown tool: nope", "Unknown tool: nope"),
    ]
    times = [step.at_ms for step in trace.steps]
    assert times == sorted(times, key=lambda at: at or 0.0)
