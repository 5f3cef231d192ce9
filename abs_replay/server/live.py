"""Requests that a user wants asked live: passed on to whatever was handed in, chunk by chunk.

There is no HTTP client here: `Ask` comes from the command (`abs replay --live`, `--on-miss`), and without
it nothing is ever asked.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from abs_replay.errors import UpstreamError
from abs_replay.exchange import Channel, Headers, Request
from abs_replay.player import Miss, Reason
from abs_replay.server.requests import Receive

BAD_GATEWAY = 502  # RFC 9110 §15.6.3
# What is no HTTP, or would be asked of an upstream that speaks something else.
_NEVER = (Reason.UNREADABLE, Reason.WEBSOCKET)


class Coming(Protocol):
    """An answer as it comes; `chunks` raise `UpstreamError` where it breaks off."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Headers: ...
    @property
    def chunks(self) -> AsyncIterator[bytes]: ...


type Ask = Callable[[Request, Channel], AbstractAsyncContextManager[Coming]]


@dataclass(frozen=True, slots=True)
class Live:
    """`channels` are asked live whatever is recorded, `misses` where nothing recorded answers."""

    ask: Ask
    channels: frozenset[Channel] = frozenset()
    misses: frozenset[Channel] = frozenset()

    def answers(self, miss: Miss) -> bool:
        """Whether a miss is asked live."""
        return miss.channel in self.misses and miss.reason not in _NEVER


async def relay(
    live: Live, request: Request, channel: Channel, scope: Any, receive: Receive, send: Any
) -> None:
    """Ask, and send on what comes until it ends or the client leaves."""
    answering = asyncio.ensure_future(_answer(live, _whole(request, scope), channel, scope, send))
    leaving = asyncio.ensure_future(_gone(receive))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in (answering, leaving):
            each.cancel()
    with suppress(asyncio.CancelledError):  # it was we who ended it: the client is gone
        await answering
    with suppress(asyncio.CancelledError):
        await leaving


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _whole(request: Request, scope: Any) -> Request:
    """The request with all its headers, of which playing reads a few."""
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"])
    host = next((value for name, value in headers if name == "host"), "")
    return replace(request, headers=headers, http_version=f"HTTP/{scope['http_version']}", host=host)


async def _answer(live: Live, request: Request, channel: Channel, scope: Any, send: Any) -> None:
    begun = False
    try:
        async with live.ask(request, channel) as coming:
            await send(_start(coming.status, coming.headers))
            begun = True
            async for data in coming.chunks:
                await send({"type": "http.response.body", "body": data, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    except UpstreamError as error:
        if begun:
            scope["abs.close"]()  # broken off, as it broke off there
        else:
            await _send_problem(str(error), send)


def _start(status: int, headers: Headers) -> dict[str, Any]:
    pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": pairs}


async def _send_problem(message: str, send: Any) -> None:
    """RFC 9457."""
    problem = {"type": "about:blank", "title": "the upstream gave no answer", "status": BAD_GATEWAY}
    body = json.dumps(problem | {"detail": f"abs replay: {message}", "code": "upstream_failed"}).encode()
    headers = (("content-type", "application/problem+json"), ("content-length", str(len(body))))
    await send(_start(BAD_GATEWAY, headers))
    await send({"type": "http.response.body", "body": body, "more_body": False})
