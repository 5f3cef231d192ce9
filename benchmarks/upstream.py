"""The origin that is recorded: 8 KB of varied text for a POST, event streams that carry their send times,
slow ones without an end, and large bodies.

`python -m benchmarks.upstream PORT`
"""

import asyncio
import json
import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

WORDS = [
    bytes(random.Random(n).choices(b"abcdefghijklmnopqrstuvwxyz", k=3 + n % 8)).decode() for n in range(3000)
]


def text(seed: int, size: int) -> str:
    """Give `size` characters of words, the same for the same seed."""
    choice = random.Random(seed)
    return " ".join(choice.choices(WORDS, k=size // 5))[:size]


def question(seed: int, size: int = 4000) -> bytes:
    """Give the body of one chat request of about `size` bytes."""
    messages = [{"role": "user", "content": text(seed, size)}]
    return json.dumps({"model": "m-1", "messages": messages, "seed": seed}).encode()


ANSWERS = [
    json.dumps(
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": text(n, 8000)}}]}
    ).encode()
    for n in range(500)
]

Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


async def app(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    """Answer as an ASGI application: `/stream`, `/slow` and `/large/BYTES`, everything else with text."""
    assert scope["type"] == "http"
    more = True
    size = 0
    while more:
        event = await receive()
        size += len(event.get("body", b""))
        more = event.get("more_body", False)
    if scope["path"].endswith("/stream"):
        await stream(send)
    elif scope["path"].endswith("/said"):
        await said(send)
    elif scope["path"].endswith("/slow"):
        await slow(receive, send)
    elif "/large/" in scope["path"]:
        await large(send, int(scope["path"].rpartition("/")[2]))
    else:
        await answer(send, ANSWERS[(size * 7919) % len(ANSWERS)])


async def answer(send: Send, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def stream(send: Send, events: int = 200, gap_s: float = 0.005) -> None:
    await send(
        {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]}
    )
    for _ in range(events):
        await send(
            {"type": "http.response.body", "body": b"data: %d\n\n" % time.monotonic_ns(), "more_body": True}
        )
        await asyncio.sleep(gap_s)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


DELTAS = [
    b"data: %s\n\n"
    % json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "model": "m-1",
            "choices": [{"index": 0, "delta": {"content": f"{word} "}, "finish_reason": None}],
        }
    ).encode()
    for word in text(5, 1200).split()[:200]
]


async def said(send: Send, gap_s: float = 0.001) -> None:
    """An answer in a few hundred deltas, as models give it."""
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for event in DELTAS:
        await send({"type": "http.response.body", "body": event, "more_body": True})
        await asyncio.sleep(gap_s)
    await send({"type": "http.response.body", "body": b"data: [DONE]\n\n"})


async def slow(receive: Receive, send: Send) -> None:
    """Two events a second until the client leaves."""
    left = asyncio.ensure_future(receive())
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while not left.done():
        event = b"data: %d\n\n" % time.monotonic_ns()
        await send({"type": "http.response.body", "body": event, "more_body": True})
        await asyncio.wait([left], timeout=0.5)


async def large(send: Send, size: int) -> None:
    headers = [(b"content-type", b"application/octet-stream"), (b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    piece = text(1, 65536).encode()
    for start in range(0, size, len(piece)):
        await send(
            {
                "type": "http.response.body",
                "body": piece[: size - start],
                "more_body": start + len(piece) < size,
            }
        )


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        log_level="error",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )
