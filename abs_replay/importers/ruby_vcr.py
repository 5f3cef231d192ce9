"""Cassettes of Ruby's VCR: https://benoittgt.github.io/vcr, `http_interactions` in YAML or JSON.

Bodies are `string` (bytes under Ruby's own `!binary`) with the encoding they had, or `base64_string`; every
interaction has the time at which it was recorded, which is when it was over.
"""

import codecs
import re
from typing import Any

from abs_replay.exchange import Body, Response
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import (
    bare,
    header_pairs,
    http_date,
    kept_body,
    latin,
    obj,
    objects,
    request_of,
    status_of,
    text_of,
)
from abs_replay.importers.source import Source
from abs_replay.importers.tape import Tape, reading

_MARK = re.compile(r"^http_interactions:", re.MULTILINE)
_AS_IT_STANDS = ("UTF-8", "US-ASCII", "ASCII-8BIT")
SECONDS = "times are whole seconds, of the end of an exchange"


def recognises(source: Source) -> bool:
    """Whether there are `http_interactions`."""
    if source.json:
        return isinstance(source.json, dict) and "http_interactions" in source.json
    text = source.text or ""
    return "http_interactions:" in text and bool(_MARK.search(text)) and isinstance(source.yaml, dict)


def read(source: Source) -> Imported:
    """Read every interaction; raises `UsageError`."""
    document = source.json or source.need_yaml()
    with reading(source) as tape:
        for interaction, where in objects(obj(document, "").get("http_interactions"), "http_interactions"):
            _add(tape, interaction, where)
        return tape.imported()


def _add(tape: Tape, interaction: dict[Any, Any], where: str) -> None:
    request, there = obj(interaction.get("request"), f"{where}.request"), f"{where}.request"
    sent = request_of(
        request.get("method"),
        request.get("uri"),
        there,
        headers=header_pairs(request.get("headers"), f"{there}.headers"),
        body=Body(_body(request.get("body"), f"{there}.body")),
    )
    response = _response(obj(interaction.get("response"), f"{where}.response"), f"{where}.response")
    recorded = http_date(interaction.get("recorded_at"))
    if recorded is not None:
        tape.remark(SECONDS)
    tape.add(sent, response, near=recorded)


def _response(response: dict[Any, Any], where: str) -> Response:
    status = obj(response.get("status"), f"{where}.status")
    version = response.get("http_version")
    return Response(
        status=status_of(status.get("code"), f"{where}.status.code"),
        headers=header_pairs(response.get("headers"), f"{where}.headers"),
        body=Body(_body(response.get("body"), f"{where}.body")),
        reason=latin(text_of(status.get("message") or "", f"{where}.status.message")),
        http_version=f"HTTP/{text_of(version, f'{where}.http_version')}" if version else "HTTP/1.1",
    )


def _body(body: Any, where: str) -> bytes:
    """Give the bytes; the file has text in UTF-8, whatever encoding it had on the wire."""
    encoding = bare(body.get("encoding")) if isinstance(body, dict) else None
    text = bare(body.get("string")) if isinstance(body, dict) else None
    if isinstance(text, str) and isinstance(encoding, str) and encoding.upper() not in _AS_IT_STANDS:
        try:
            return text.encode(codecs.lookup(encoding).name)
        except (LookupError, UnicodeError, TypeError):
            return kept_body(body, where)
    return kept_body(body, where)
