"""What a client asks, taken from an ASGI scope: its request, its run's token, the scope of its play."""

from collections.abc import Callable
from typing import Any

from abs_replay.exchange import Body, Headers, Request

type Receive = Callable[[], Any]

# The only request headers that anyone looks at: keys, sessions, the last event of a stream, the boundary of
# a multipart body.
_READ = frozenset(
    (
        b"authorization",
        b"x-api-key",
        b"api-key",
        b"x-goog-api-key",
        b"mcp-session-id",
        b"last-event-id",
        b"x-abs-session",
        b"content-type",
    )
)


async def whole_body(receive: Receive) -> bytes | None:
    """Read a request to its end; None where the client left before, and asked nothing."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def gone(receive: Receive) -> None:
    """Wait until the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def read(scope: Any, body: bytes) -> tuple[str, Request]:
    """Give the run's token and the request as it was sent before that token was put into its path."""
    token, target = _token(scope["raw_path"])
    if scope["query_string"]:
        target += b"?" + scope["query_string"]
    headers = tuple(
        (name.decode(), value.decode("latin-1")) for name, value in scope["headers"] if name in _READ
    )
    return token, Request(scope["method"], target.decode("latin-1"), headers, Body(body))


def _token(path: bytes) -> tuple[str, bytes]:
    """Divide `/~TOKEN/v1/..` into the run's token and the path."""
    if not path.startswith(b"/~"):
        return "", path
    token, slash, rest = path[2:].partition(b"/")
    return token.decode("latin-1"), slash + rest or b"/"


def play_scope(headers: Headers, token: str) -> str:
    """Name the scope that a request is played in; see `player`."""
    named = dict(headers)
    if "x-abs-session" in named:
        return f"session {named['x-abs-session']}"
    if "mcp-session-id" in named:
        return f"mcp {named['mcp-session-id']}"
    return f"run {token}" if token else ""
