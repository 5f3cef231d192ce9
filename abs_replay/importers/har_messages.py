"""The messages of a WebSocket in an archive (`_webSocketMessages`), as Chrome and `abs export` write them.

https://developer.chrome.com/blog/new-in-devtools-76#websocket
"""

from typing import Any

from abs_replay.exchange import Message, WebSocket
from abs_replay.importers.messages import base64_bytes, body_bytes, obj, objects
from abs_replay.importers.tape import Tape

STRANGE = (
    "a frame of a WebSocket that is no message (an error, or none that was sent or received) is left out"
)
_SIDES = {"send": True, "receive": False}
_TEXT, _BINARY = 1, 2  # opcodes (RFC 6455 §11.8)


def socket_of(tape: Tape, entry: dict[Any, Any], where: str, started_at: float | None) -> WebSocket | None:
    """The WebSocket of an entry, None where it became none; raises `Wrong`."""
    if "_webSocketMessages" not in entry:
        return None
    frames = objects(entry["_webSocketMessages"] or [], f"{where}._webSocketMessages")
    found = [_message(frame, place, started_at) for frame, place in frames]
    for _ in range(found.count(None)):
        tape.remark(STRANGE)
    messages = tuple(message for message in found if message is not None)
    close = obj(entry.get("_webSocketClose") or {}, f"{where}._webSocketClose")
    code, reason, by_client = (close.get(key) for key in ("code", "reason", "byClient"))
    return WebSocket(
        messages,
        code if type(code) is int else None,
        reason.encode(errors="replace").decode() if isinstance(reason, str) else "",
        by_client if isinstance(by_client, bool) else None,
    )


def _message(frame: dict[Any, Any], where: str, started_at: float | None) -> Message | None:
    side, opcode, size = frame.get("type"), frame.get("opcode"), frame.get("_size")
    if not isinstance(side, str) or side not in _SIDES or opcode not in (_TEXT, _BINARY):
        return None
    data = frame.get("data")
    plain = body_bytes(data, f"{where}.data") if opcode == _TEXT else base64_bytes(data, f"{where}.data")
    at_ms = _after(started_at, frame.get("time"))
    return Message(_SIDES[side], plain, opcode == _TEXT, at_ms, size if type(size) is int else None)


def _after(started_at: float | None, time: Any) -> float:
    """Milliseconds after the start; times are Unix seconds."""
    try:
        passed = (float(time) - (started_at or 0.0)) * 1000
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return round(passed, 3) if 0 <= passed < 1e12 else 0.0
