"""HTTP archives, HAR 1.2, of browsers, proxies and HTTP clients.

http://www.softwareishard.com/blog/har-12-spec/

Contents stand decoded in them; `encoding: base64` is undone, and what was decoded while recording is
remarked.
"""

from typing import Any
from urllib.parse import urlencode

from abs_replay.exchange import Body, Outcome, Request, Response
from abs_replay.importers.har_messages import socket_of
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import (
    base64_bytes,
    body_bytes,
    header_pairs,
    iso_time,
    latin,
    obj,
    objects,
    request_of,
    status_of,
    text_of,
)
from abs_replay.importers.source import Source
from abs_replay.importers.tape import Tape, reading

UNSAVED = "a body was not saved with the archive; it is kept as cut"
FORM = "a form was kept as parameters; it is written anew"
_VERSIONS = {"h2": "HTTP/2.0", "h3": "HTTP/3.0", "HTTP/2": "HTTP/2.0", "HTTP/3": "HTTP/3.0"}
_FAULTS = {
    "TIMED_OUT": Outcome.TIMED_OUT,
    "CERT": Outcome.TLS_FAILED,
    "SSL": Outcome.TLS_FAILED,
    "ABORTED": Outcome.CLIENT_CLOSED,
    "REFUSED": Outcome.REFUSED,
    "NAME_NOT_RESOLVED": Outcome.REFUSED,
}


def recognises(source: Source) -> bool:
    """Whether there is a `log` with `entries`; a file called .har is read as one whatever is in it."""
    if source.name.lower().endswith(".har"):
        return True
    log = source.json.get("log") if isinstance(source.json, dict) else None
    return isinstance(log, dict) and isinstance(log.get("entries"), list)


def read(source: Source) -> Imported:
    """Read every entry; raises `UsageError`."""
    document = source.need_json()
    with reading(source) as tape:
        log = obj(obj(document, "").get("log"), "log")
        for entry, where in objects(log.get("entries"), "log.entries"):
            _add(tape, entry, where)
        return tape.imported()


def _add(tape: Tape, entry: dict[Any, Any], where: str) -> None:
    request = _request(tape, obj(entry.get("request"), f"{where}.request"), f"{where}.request")
    answer = obj(entry.get("response"), f"{where}.response")
    time = entry.get("time")
    ended = float(time) if isinstance(time, int | float) and 0 <= time < 1e12 else _number(time)
    error = answer.get("_error") or entry.get("_error")
    started_at = iso_time(entry.get("startedDateTime"))
    failed = answer.get("status") in (0, None)  # so browsers note that nothing came
    tape.add(
        request,
        None if failed else _response(tape, answer, f"{where}.response"),
        started_at=started_at,
        ended_ms=ended,
        outcome=_own(entry) or (_outcome(str(error or "")) if failed else Outcome.COMPLETE),
        error=str(error) if error else "nothing came back" if failed else None,
        websocket=socket_of(tape, entry, where, started_at),
    )


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < 1e12 else None


def _own(entry: dict[Any, Any]) -> Outcome | None:
    """The outcome as `abs export` notes it: archives tell fewer apart."""
    said = entry.get("_outcome")
    return Outcome(said) if isinstance(said, str) and said in Outcome else None


def _outcome(error: str) -> Outcome:
    return next((found for word, found in _FAULTS.items() if word in error), Outcome.UPSTREAM_CLOSED)


def _request(tape: Tape, request: dict[Any, Any], where: str) -> Request:
    return request_of(
        request.get("method"),
        _http(request.get("url")),
        where,
        headers=header_pairs(request.get("headers"), f"{where}.headers"),
        body=Body(_sent(tape, request.get("postData"), f"{where}.postData")),
        http_version=_version(request),
    )


def _http(url: Any) -> Any:
    """The URL of a WebSocket as that of its handshake (RFC 6455 §3)."""
    return f"http{url[2:]}" if isinstance(url, str) and url.startswith(("ws://", "wss://")) else url


def _sent(tape: Tape, data: Any, where: str) -> bytes:
    if data is None:
        return b""
    text, params = obj(data, where).get("text"), data.get("params")
    if data.get("encoding") == "base64":
        return base64_bytes(text, f"{where}.text")
    if not text and isinstance(params, list) and params:
        tape.remark(FORM)
        pairs = [
            (str(each.get("name")), str(each.get("value", "")))
            for each, _ in objects(params, f"{where}.params")
        ]
        return urlencode(pairs).encode()
    return body_bytes(text, f"{where}.text")


def _response(tape: Tape, response: dict[Any, Any], where: str) -> Response:
    return Response(
        status=status_of(response.get("status"), f"{where}.status"),
        headers=header_pairs(response.get("headers"), f"{where}.headers"),
        body=_content(tape, response.get("content"), f"{where}.content"),
        reason=latin(text_of(response.get("statusText") or "", f"{where}.statusText")),
        http_version=_version(response),
    )


def _content(tape: Tape, content: Any, where: str) -> Body:
    content = obj({} if content is None else content, where)
    text, size = content.get("text"), content.get("size")
    if text is None and isinstance(size, int) and size > 0:
        tape.remark(UNSAVED)
        return Body(size=size)
    if content.get("encoding") == "base64":
        return Body(base64_bytes(text or "", f"{where}.text"))
    return Body(body_bytes(text, f"{where}.text"))


def _version(message: dict[Any, Any]) -> str:
    text = message.get("httpVersion")
    if not isinstance(text, str) or not text or text == "unknown":
        return "HTTP/1.1"
    return _VERSIONS.get(text) or _VERSIONS.get(text.upper()) or latin(text.upper())
