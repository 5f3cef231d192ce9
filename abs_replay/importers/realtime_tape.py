"""The messages of one WebSocket with a realtime model, as test suites keep them, in YAML or JSON.

    version: 1
    interactions: [{kind: message, direction: sent, data: {type: session.update, ..}},
                   {kind: message, direction: received, data: {..}}]

Neither the handshake nor a time is kept: both are written anew, the path as the API that the messages are of
has it, so that they can be told and replayed.
"""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from abs_replay.cassette.document import Wrong
from abs_replay.exchange import Message, Request, Response, WebSocket
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import json_bytes, obj, objects
from abs_replay.importers.source import Source
from abs_replay.importers.tape import Tape, reading

WRITTEN: Final = (
    "the tool kept messages alone: the handshake, compact JSON and times 1 ms apart are written anew"
)
OTHERS: Final = "an entry that is no message is left out"
_SIDES: Final = {"sent": True, "received": False}
# developers.openai.com/api/docs/guides/realtime-websocket and ai.google.dev/api/live
_OPENAI, _GEMINI = (
    "/v1/realtime",
    "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
)


def recognises(source: Source) -> bool:
    """Whether there are interactions that say which side sent them, and no request."""
    if source.json:
        return _is_tape(source.json)
    text = source.text or ""
    return "interactions:" in text and "direction:" in text and _is_tape(source.yaml)


def _is_tape(value: Any) -> bool:
    items = value.get("interactions") if isinstance(value, dict) else None
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and first.get("direction") in tuple(_SIDES) and "data" in first


def read(source: Source) -> Imported:
    """Read the one connection; raises `UsageError`."""
    document = source.json or source.need_yaml()
    with reading(source) as tape:
        values: list[Any] = []
        messages: list[Message] = []
        for entry, where in objects(obj(document, "").get("interactions"), "interactions"):
            if entry.get("kind", "message") != "message":
                tape.remark(OTHERS)
                continue
            values.append(entry.get("data"))
            messages.append(_message(entry, where, float(len(messages))))
        tape.remark(WRITTEN)
        _add(tape, values, tuple(messages))
        return tape.imported()


def _message(entry: dict[Any, Any], where: str, at_ms: float) -> Message:
    side, data = entry.get("direction"), entry.get("data")
    if not isinstance(side, str) or side not in _SIDES:
        raise Wrong(f"{where}.direction", "expected sent or received")
    if isinstance(data, bytes):
        return Message(_SIDES[side], data, False, at_ms)
    written = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else json_bytes(data)
    return Message(_SIDES[side], written, True, at_ms)


def _add(tape: Tape, values: Sequence[Any], messages: tuple[Message, ...]) -> None:
    request = Request("GET", _target(values), (("connection", "Upgrade"), ("upgrade", "websocket")))
    upgraded = (("connection", "Upgrade"), ("upgrade", "websocket"))
    socket = WebSocket(messages, 1000, closed_by_client=True)
    response = Response(101, upgraded, reason="Switching Protocols")
    tape.add(request, response, ended_ms=float(len(messages)), websocket=socket)


def _target(values: Sequence[Any]) -> str:
    said = [value for value in values if isinstance(value, dict)]
    if any("setup" in value for value in said):
        return _GEMINI
    sessions = [value["session"] for value in said if isinstance(value.get("session"), dict)]
    models = [session["model"] for session in sessions if isinstance(session.get("model"), str)]
    return f"{_OPENAI}?model={quote(models[0], safe='')}" if models else _OPENAI
