"""One request that a replay is asked, with what it takes to answer it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from abs_replay.exchange import Channel, Request
from abs_replay.server.requests import Receive, play_scope, read

type Send = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A request on a channel; `play` names the scope in which it is played, `scope` is ASGI's."""

    request: Request
    channel: Channel
    play: str
    scope: Any
    receive: Receive
    send: Send

    def close(self) -> None:
        """End the connection, whatever was sent on it."""
        self.scope["abs.close"]()

    def denying(self) -> "Call":
        """The same for a WebSocket that is not opened: what is sent answers its handshake (ASGI, WebSocket
        Denial Response)."""

        async def deny(message: Any) -> None:
            await self.send({**message, "type": f"websocket.{message['type']}"})

        return replace(self, send=deny)


def call(scope: Any, body: bytes, channel: Channel, receive: Receive, send: Send) -> Call:
    """Read what is asked. A handshake of a WebSocket is a GET."""
    token, request = read(scope if "method" in scope else {**scope, "method": "GET"}, body)
    return Call(request, channel, play_scope(request.headers, token), scope, receive, send)


async def send_all(send: Send, status: int, content_type: str, body: bytes) -> None:
    """Send an answer that nobody recorded."""
    # `x-should-retry` is how OpenAI's and Anthropic's SDKs are told not to try again.
    headers = [
        (b"content-type", content_type.encode()),
        (b"x-should-retry", b"false"),
        *([(b"content-length", str(len(body)).encode())] if status != 204 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
