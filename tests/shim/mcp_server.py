"""A real server of standard input and output for tests: it reports, logs, asks its client, and never ends."""

import warnings

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp_types import SamplingMessage, TextContent

demo = MCPServer("demo", log_level="CRITICAL")


@demo.tool()
async def add(a: int, b: int, ctx: Context) -> int:
    """Add two numbers, and say how far it got."""
    await ctx.report_progress(1, 2, "half")
    return a + b


@demo.tool()
async def ask(question: str, ctx: Context) -> str:
    """Have the client's model answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such requests are on their way out of the protocol
        said = await ctx.session.create_message(
            [SamplingMessage(role="user", content=TextContent(type="text", text=question))],
            max_tokens=10,
            related_request_id=ctx.request_id,
        )
    return said.content.text if isinstance(said.content, TextContent) else ""


@demo.tool()
async def hang() -> str:
    """Never answer."""
    await anyio.sleep_forever()
    return ""


demo.run("stdio")
