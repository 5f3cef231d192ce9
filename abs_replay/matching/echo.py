"""What an answer repeats from its request must be the request's: JSON-RPC ids and MCP session ids.

Everything else in a recorded answer goes out as it was. The chunks keep their borders.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from abs_replay.exchange import Body, Chunk, Headers, Response
from abs_replay.matching.canonical import json_body

SESSION_HEADER = "mcp-session-id"

type Edit = tuple[int, int, bytes]

_SENTINEL = "abs-replay: the id"


def call_ids(data: bytes) -> tuple[Any, ...]:
    """The ids that a JSON-RPC request gives its answers: its own, then its progress token."""
    document = json_body(data) if b'"jsonrpc"' in data else None
    if not isinstance(document, dict) or "method" not in document:
        return ()
    params = document.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return document.get("id"), token


def follow(response: Response, recorded: tuple[Any, ...], asked: tuple[Any, ...]) -> Response:
    """Put the asked ids in the place of the recorded ones; both as `call_ids` gives them."""
    changes = [
        (key, old, new)
        for key, old, new in zip(("id", "progressToken"), recorded, asked, strict=False)
        if old is not None and old != new
    ]
    edits = sorted(edit for change in changes for edit in _edits(response.body.data, *change))
    return replace(response, body=_edited(response.body, edits)) if edits else response


def with_session(response: Response, session: str) -> Response:
    """Name another MCP session in the answer's header."""
    headers: Headers = tuple(
        (name, session if name.lower() == SESSION_HEADER else value) for name, value in response.headers
    )
    return replace(response, headers=headers)


def _edits(data: bytes, key: str, old: Any, new: Any) -> Iterator[Edit]:
    """Where an id stands that belongs to the message itself, in a JSON body or in a stream's events."""
    pattern = re.compile(rb'"%b"\s*:\s*(%b)(?=\s*[,}])' % (key.encode(), re.escape(json.dumps(old).encode())))
    for start, end in _messages(data):
        for match in pattern.finditer(data, start, end):
            trial = data[start : match.start(1)] + json.dumps(_SENTINEL).encode() + data[match.end(1) : end]
            if _is_own(json_body(trial), key):
                yield match.start(1), match.end(1), json.dumps(new).encode()


def _messages(data: bytes) -> Iterator[tuple[int, int]]:
    if data.lstrip()[:1] in (b"{", b"["):
        yield 0, len(data)
    else:
        yield from (match.span(1) for match in re.finditer(rb"^data: ?(.*?)\r?$", data, re.MULTILINE))


def _is_own(message: Any, key: str) -> bool:
    # A request that the server makes of the client has an id of its own.
    if not isinstance(message, dict) or (key == "id" and "method" in message):
        return False
    params = message.get("params")
    place = message if key == "id" else params if isinstance(params, dict) else {}
    return place.get(key) == _SENTINEL


def _edited(body: Body, edits: list[Edit]) -> Body:
    pieces, at, moved = [], 0, []
    for start, end, text in edits:
        pieces += [body.data[at:start], text]
        moved.append((end, len(text) - (end - start)))
        at = end
    data = b"".join([*pieces, body.data[at:]])
    chunks = tuple(
        Chunk(chunk.end + sum(delta for end, delta in moved if end <= chunk.end), chunk.at_ms)
        for chunk in body.chunks
    )
    return replace(body, data=data, chunks=chunks)
