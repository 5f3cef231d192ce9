"""A multipart body as its parts (RFC 2046 §5.1): the boundary between them says nothing.

The parts keep their order, and each has its headers and content: JSON as JSON, text as text, anything else
by length and digest. What is not formed strictly is no multipart body, and is compared byte by byte.
"""

import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Any

from abs_replay.exchange import Request, header

_TYPE = re.compile(r'multipart/([\w.+-]+)\s*;(?:.*;)?\s*boundary=(?:"([^"]+)"|([^\s;"]+))', re.IGNORECASE)
_DEEPEST = 4

type Json = Callable[[bytes], Any]


def parts(request: Request, json: Json) -> dict[str, Any] | None:
    """Give a request's multipart body as a document; None where it is none."""
    return _document(header(request.headers, "content-type") or "", request.body.data, json, _DEEPEST)


def _document(content_type: str, data: bytes, json: Json, depth: int) -> dict[str, Any] | None:
    found = _TYPE.match(content_type)
    if found is None or depth == 0:
        return None
    line = b"\r\n--" + (found[2] or found[3]).encode("latin-1")
    first, *pieces = (b"\r\n" + data).split(line)
    if first or not pieces or pieces.pop().rstrip() != b"--":
        return None
    contents = list(_parts(pieces, json, depth))
    return None if None in contents else {"multipart": found[1].lower(), "parts": contents}


def _parts(pieces: list[bytes], json: Json, depth: int) -> Iterator[dict[str, Any] | None]:
    for piece in pieces:
        padding, line, rest = piece.partition(b"\r\n")
        head, blank, content = (b"\r\n" + rest).partition(b"\r\n\r\n")
        whole = line and blank and not padding.strip(b" \t")
        yield _part(head, content, json, depth) if whole else None


def _part(head: bytes, content: bytes, json: Json, depth: int) -> dict[str, Any]:
    pairs = (line.partition(":") for line in head.decode("latin-1").split("\r\n") if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    headers.pop("content-length", None)  # the content's own, whatever it is
    inner = _document(headers.get("content-type", ""), content, json, depth - 1)
    if inner is not None:
        headers.pop("content-type")  # with a boundary of its own
        return {"headers": headers, "json": inner}
    return {"headers": headers} | _content(content, json)


def _content(content: bytes, json: Json) -> dict[str, Any]:
    document = json(content)
    if document is not None:
        return {"json": document}
    try:
        return {"text": content.decode()}
    except UnicodeDecodeError:
        return {"bytes": len(content), "sha256": sha256(content).hexdigest()}
