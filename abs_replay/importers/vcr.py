"""Cassettes of VCR.py (YAML or JSON) and of what imitates it: https://vcrpy.readthedocs.io

    interactions: [{request: {method, uri, headers, body},
                    response: {status: {code, message}, headers, body: {string}}}]

Bodies: text or bytes (`!!binary`), in `string` or `base64_string`; `content` with `status_code` (httpx, older
versions); `parsed_body`, where a serializer kept JSON as values; and two parallel lists, `requests` and
`responses`.
"""

import re
from collections.abc import Iterator
from typing import Any

from abs_replay.cassette.document import Wrong
from abs_replay.exchange import Body, Response
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import (
    bare,
    header_pairs,
    json_bytes,
    kept_body,
    latin,
    obj,
    objects,
    request_of,
    status_of,
    text_of,
)
from abs_replay.importers.source import Source
from abs_replay.importers.tape import PARSED, TAGGED, Tape, reading
from abs_replay.importers.yaml_values import Tagged

_MARK = re.compile(r"^(?:- |  ? ?)?\"?(?:interactions|requests)\"?:", re.MULTILINE)
_URI = re.compile(r"""^[ \-]*["']?uri["']?:""", re.MULTILINE)


def recognises(source: Source) -> bool:
    """Whether there are interactions, or parallel lists, of requests with a `uri`."""
    if source.json:
        return _is_cassette(source.json)
    text = source.text or ""
    return "uri" in text and bool(_MARK.search(text) and _URI.search(text)) and _is_cassette(source.yaml)


def _is_cassette(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    items = value.get("interactions", value.get("requests"))
    first = items[0] if isinstance(items, list) and items else None
    request = first.get("request", first) if isinstance(first, dict) else None
    return isinstance(request, dict) and "uri" in request


def read(source: Source) -> Imported:
    """Read every interaction; raises `UsageError`."""
    document = source.json or source.need_yaml()
    with reading(source) as tape:
        for interaction, where in _interactions(obj(document, "")):
            _add(tape, interaction, where)
        return tape.imported()


def _interactions(document: dict[Any, Any]) -> Iterator[tuple[dict[Any, Any], str]]:
    if "interactions" in document:
        yield from objects(document["interactions"], "interactions")
        return
    requests, responses = document.get("requests"), document.get("responses")
    if not isinstance(requests, list) or not isinstance(responses, list):
        raise Wrong("", "expected `interactions`, or `requests` and `responses`")
    if len(requests) != len(responses):
        raise Wrong("responses", f"expected as many as the {len(requests)} requests")
    for number, (request, response) in enumerate(zip(requests, responses, strict=True)):
        yield {"request": request, "response": response}, f"[{number}]"


def _add(tape: Tape, interaction: dict[Any, Any], where: str) -> None:
    request, there = obj(interaction.get("request"), f"{where}.request"), f"{where}.request"
    sent = request_of(
        request.get("method"),
        request.get("uri"),
        there,
        headers=header_pairs(request.get("headers"), f"{there}.headers"),
        body=Body(_body(tape, request, there)),
    )
    tape.add(
        sent, _response(tape, obj(interaction.get("response"), f"{where}.response"), f"{where}.response")
    )


def _response(tape: Tape, response: dict[Any, Any], where: str) -> Response:
    status = response.get("status", response.get("status_code"))
    code, reason = (status.get("code"), status.get("message")) if isinstance(status, dict) else (status, "")
    return Response(
        status=status_of(code, f"{where}.status"),
        headers=header_pairs(response.get("headers"), f"{where}.headers"),
        body=Body(_body(tape, response, where)),
        reason=latin(text_of(reason or "", f"{where}.status.message")),
        http_version=text_of(response.get("http_version") or "HTTP/1.1", f"{where}.http_version"),
    )


def _body(tape: Tape, message: dict[Any, Any], where: str) -> bytes:
    if "parsed_body" in message:
        tape.remark(PARSED)
        return json_bytes(message["parsed_body"])
    body = message.get("body", message.get("content"))
    if isinstance(body, Tagged):
        tape.remark(TAGGED)
        found = _bytes_in(body)
        body = body if found is None else found
    return kept_body(body, f"{where}.body")


def _bytes_in(value: Any) -> bytes | None:
    """The first bytes in an object that was pickled: a file that was sent is its content and its position."""
    value = bare(value)
    if isinstance(value, bytes):
        return value
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((found for item in items if (found := _bytes_in(item)) is not None), None)
