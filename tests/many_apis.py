"""A server with the endpoints that SDKs ask, in the clear and over TLS with HTTP/2."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config
from mcp.server import MCPServer
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

demo = MCPServer("demo", log_level="CRITICAL")


@demo.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def _events(*events: dict[str, Any], named: bool = False, end: str = "") -> Response:
    lines = (
        (f"event: {each['type']}\n" if named else "") + f"data: {json.dumps(each)}\n\n" for each in events
    )

    async def stream() -> Any:
        for line in lines:
            yield line.encode()
            await asyncio.sleep(0.01)
        yield end.encode()

    return StreamingResponse(stream(), media_type="text/event-stream")


async def openai(request: Request) -> Response:
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    deltas: tuple[dict[str, Any], ...] = (
        {"delta": {"role": "assistant", "content": "Hel"}},
        {"delta": {"content": "lo"}, "finish_reason": "stop"},
    )
    return _events(*({**chunk, "choices": [{"index": 0, **each}]} for each in deltas), end="data: [DONE]\n\n")


async def anthropic(request: Request) -> Response:
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    return _events(
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
        named=True,
    )


async def gemini(request: Request) -> Response:
    answers = [
        {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]} for text in ("Hel", "lo")
    ]
    if request.path_params["call"].endswith(":streamGenerateContent"):
        return _events(*answers)
    return JSONResponse({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hello"}]}}]})


async def plain(request: Request) -> Response:
    await request.body()
    return PlainTextResponse("Hello")


ROUTES = (
    Route("/v1/chat/completions", openai, methods=["POST"]),
    Route("/v1/messages", anthropic, methods=["POST"]),
    Route("/{version}/models/{call}", gemini, methods=["POST"]),
    Route("/plain/{name}", plain, methods=["GET", "POST"]),
)


@dataclass(frozen=True, slots=True)
class Apis:
    """Where the server is: its ports in the clear, and for TLS."""

    plain: int
    secure: int


@contextmanager
def serving_apis(certificate: Path) -> Iterator[Apis]:
    """The server, in a thread."""
    apis, config = Apis(_free_port(), _free_port()), Config()
    config.bind, config.insecure_bind = [f"127.0.0.1:{apis.secure}"], [f"127.0.0.1:{apis.plain}"]
    config.certfile = config.keyfile = str(certificate)
    config.errorlog, config.graceful_timeout = None, 1
    ended = threading.Event()

    async def until_ended() -> None:
        await asyncio.to_thread(ended.wait)

    app: Any = demo.streamable_http_app()
    app.router.routes.extend(ROUTES)
    thread = threading.Thread(target=lambda: asyncio.run(serve(app, config, shutdown_trigger=until_ended)))
    thread.start()
    try:
        _await_port(apis.secure)
        yield apis
    finally:
        ended.set()
        thread.join()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _await_port(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            threading.Event().wait(0.05)
    raise AssertionError(f"nobody listens on port {port}")
