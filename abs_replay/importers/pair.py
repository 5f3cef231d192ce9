"""One exchange in a JSON file: `{request: {method, url, headers, body}, response: {status, headers, body}}`.

So dd-apm-test-agent (Datadog) and others keep them; `status` is a number, or `{code, message}`. Tools that
replay inside a test keep the answer alone, `{status, headers, body}` (openinference's for JavaScript): its
request is not known.
"""

from typing import Any

from abs_replay.exchange import Body, Request, Response
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import (
    body_bytes,
    header_pairs,
    json_bytes,
    latin,
    obj,
    request_of,
    status_of,
    text_of,
)
from abs_replay.importers.source import Source
from abs_replay.importers.tape import PARSED, Tape, reading

UNKNOWN_REQUEST = "the tool kept no request: an empty POST / stands for it, which no client will ask for"
_ANSWER = {"status", "headers", "body"}


def recognises(source: Source) -> bool:
    """Whether the file is one object with a request to a URL and a response, or an answer alone."""
    value = source.json
    if not isinstance(value, dict):
        return False
    request, response = value.get("request"), value.get("response")
    if isinstance(request, dict) and isinstance(response, dict):
        return ("url" in request or "uri" in request) and ("status" in response or "code" in response)
    return value.keys() == _ANSWER and isinstance(value["headers"], dict | list)


def read(source: Source) -> Imported:
    """Read the one exchange; raises `UsageError`."""
    value = source.need_json()
    with reading(source) as tape:
        if "request" in obj(value, ""):
            sent = _request(tape, obj(value["request"], "request"))
            tape.add(sent, _response(tape, obj(value.get("response"), "response"), "response"))
        else:
            tape.remark(UNKNOWN_REQUEST)
            tape.add(Request("POST", "/"), _response(tape, value, ""))
        return tape.imported()


def _request(tape: Tape, request: dict[Any, Any]) -> Request:
    return request_of(
        request.get("method"),
        request.get("url", request.get("uri")),
        "request",
        headers=header_pairs(request.get("headers"), "request.headers"),
        body=_body(tape, request.get("body"), "request.body"),
    )


def _response(tape: Tape, response: dict[Any, Any], where: str) -> Response:
    status = response.get("status", response.get("code"))
    code, reason = (status.get("code"), status.get("message")) if isinstance(status, dict) else (status, "")
    return Response(
        status=status_of(code, f"{where}.status".lstrip(".")),
        headers=header_pairs(response.get("headers"), f"{where}.headers".lstrip(".")),
        body=_body(tape, response.get("body"), f"{where}.body".lstrip(".")),
        reason=latin(text_of(reason or "", f"{where}.status.message".lstrip("."))),
    )


def _body(tape: Tape, value: Any, where: str) -> Body:
    if isinstance(value, dict | list):
        tape.remark(PARSED)
        return Body(json_bytes(value))
    return Body(body_bytes(value, where))
