"""Cassettes of go-vcr, file formats 1 and 2, as its versions 1 to 4 write them.

    interactions: [{request: {method, url, headers, body, ..},
                    response: {status: "200 OK", code, headers, body, duration}}]

https://github.com/dnaeus/go-vcr. Go takes Host, Transfer-Encoding and the coding that it undid itself out of
the headers before anyone sees them.
"""

import re
from typing import Any

from abs_replay.decoders import fields
from abs_replay.exchange import Body, Response
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import (
    body_bytes,
    header_pairs,
    latin,
    obj,
    objects,
    request_of,
    status_of,
    text_of,
)
from abs_replay.importers.source import Source
from abs_replay.importers.tape import Tape, reading

UNPACKED = "Go unpacked a body itself, and took its content-encoding out of the headers"
_MARK = re.compile(r"^interactions:", re.MULTILINE)
_URL = re.compile(r"^\s+url:", re.MULTILINE)
_DURATION = re.compile(r"([0-9]*\.?[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_MS = {"ns": 1e-6, "us": 1e-3, "µs": 1e-3, "μs": 1e-3, "ms": 1.0, "s": 1e3, "m": 60e3, "h": 3600e3}


def recognises(source: Source) -> bool:
    """Whether there are interactions of requests with a `url` and responses with a `code`."""
    if source.json:
        return _is_cassette(source.json)
    text = source.text or ""
    return (
        "interactions:" in text
        and bool(_MARK.search(text) and _URL.search(text))
        and _is_cassette(source.yaml)
    )


def _is_cassette(value: Any) -> bool:
    items = fields.items(fields.obj(value).get("interactions"))
    first = fields.obj(items[0]) if items else {}
    return "url" in fields.obj(first.get("request")) and "code" in fields.obj(first.get("response"))


def read(source: Source) -> Imported:
    """Read every interaction; raises `UsageError`."""
    document = source.json or source.need_yaml()
    with reading(source) as tape:
        for interaction, where in objects(obj(document, "").get("interactions"), "interactions"):
            _add(tape, interaction, where)
        return tape.imported()


def _add(tape: Tape, interaction: dict[Any, Any], where: str) -> None:
    request, there = obj(interaction.get("request"), f"{where}.request"), f"{where}.request"
    response = obj(interaction.get("response"), f"{where}.response")
    sent = request_of(
        request.get("method") or "GET",  # Go's own meaning of an empty method
        request.get("url"),
        there,
        headers=header_pairs(request.get("headers"), f"{there}.headers"),
        body=Body(body_bytes(request.get("body"), f"{there}.body")),
        http_version=text_of(request.get("proto") or "HTTP/1.1", f"{there}.proto"),
        host=latin(text_of(request.get("host") or "", f"{there}.host")),
    )
    if response.get("uncompressed") is True:
        tape.remark(UNPACKED)
    tape.add(sent, _response(response, f"{where}.response"), ended_ms=_milliseconds(response.get("duration")))


def _response(response: dict[Any, Any], where: str) -> Response:
    status = text_of(response.get("status") or "", f"{where}.status")
    code = status_of(response.get("code"), f"{where}.code")
    return Response(
        status=code,
        headers=header_pairs(response.get("headers"), f"{where}.headers"),
        body=Body(body_bytes(response.get("body"), f"{where}.body")),
        reason=latin(status.removeprefix(str(code)).strip()),
        http_version=text_of(response.get("proto") or "HTTP/1.1", f"{where}.proto"),
        trailers=header_pairs(response.get("trailer"), f"{where}.trailer"),
    )


def _milliseconds(duration: Any) -> float | None:
    """Read a Go duration: `1m2.5s`, `877.1ms`, or a whole number of ns."""
    if isinstance(duration, int) and not isinstance(duration, bool):
        return duration * 1e-6 if 0 < duration < 1e18 else None
    found = _DURATION.findall(duration)[:10] if isinstance(duration, str) else []
    return sum(float(number) * _MS[unit] for number, unit in found) if found else None
