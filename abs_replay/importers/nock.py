"""Recordings of nock (https://github.com/nock/nock#recording): a JSON list of definitions, one an exchange.

Bodies are parsed JSON, text, or hex: of bytes that are no text (`responseIsBinary`), or a list of hex, a
chunk each, where the answer had a content-encoding. `rawHeaders` alternate names and values; newer versions
have an object.
"""

from itertools import accumulate
from typing import Any

from abs_replay.cassette.document import Wrong
from abs_replay.exchange import Body, Chunk, Headers, Response, header
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import (
    body_bytes,
    header_pairs,
    json_bytes,
    objects,
    request_of,
    status_of,
    text_of,
)
from abs_replay.importers.source import Source
from abs_replay.importers.tape import PARSED, Tape, reading


def recognises(source: Source) -> bool:
    """Whether the file is a list of objects with `scope`, `path` and `status`."""
    value = source.json
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, dict) and {"scope", "path", "status"} <= first.keys()


def read(source: Source) -> Imported:
    """Read every definition; raises `UsageError`."""
    value = source.need_json()
    with reading(source) as tape:
        for definition, where in objects(value, ""):
            _add(tape, definition, where)
        return tape.imported()


def _add(tape: Tape, definition: dict[Any, Any], where: str) -> None:
    scope = text_of(definition.get("scope"), f"{where}.scope")
    path = text_of(definition.get("path"), f"{where}.path")
    headers = _headers(definition.get("rawHeaders", definition.get("headers")), f"{where}.rawHeaders")
    request = request_of(
        definition.get("method", "GET"),
        scope.rstrip("/") + path,
        where,
        headers=header_pairs(definition.get("reqheaders"), f"{where}.reqheaders"),
        body=_body(tape, definition.get("body"), f"{where}.body"),
    )
    response = Response(
        status=status_of(definition.get("status"), f"{where}.status"),
        headers=headers,
        body=_answer(tape, definition, headers, f"{where}.response"),
    )
    tape.add(request, response)


def _headers(value: Any, where: str) -> Headers:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        if len(value) % 2:
            raise Wrong(where, "expected a value after each name")
        value = [[name, item] for name, item in zip(value[::2], value[1::2], strict=True)]
    return header_pairs(value, where)


def _answer(tape: Tape, definition: dict[Any, Any], headers: Headers, where: str) -> Body:
    value = definition.get("response")
    if definition.get("responseIsBinary") is True:
        return Body(_unhexed(value, where))
    if (
        isinstance(value, list)
        and header(headers, "content-encoding")
        and all(isinstance(v, str) for v in value)
    ):
        pieces = [_unhexed(piece, where) for piece in value]
        ends = accumulate(map(len, pieces))
        return Body(b"".join(pieces), tuple(Chunk(end, 0.0) for end in ends))
    return _body(tape, value, where)


def _body(tape: Tape, value: Any, where: str) -> Body:
    if isinstance(value, str | None):
        return Body(body_bytes(value, where))
    tape.remark(PARSED)
    return Body(json_bytes(value))


def _unhexed(value: Any, where: str) -> bytes:
    try:
        return bytes.fromhex(text_of(value, where))
    except ValueError:
        raise Wrong(where, "expected hex") from None
