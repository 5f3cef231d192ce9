"""What a line says as JSON-RPC: whom it asks, answers or tells. https://www.jsonrpc.org/specification"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.shim.lines import Line

_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ids are JSON texts, which keep 1 and "1" apart, and None where there are none.

    `token` is the progress token of a request or a report of progress, `subscription` the request whose
    stream of changes brings this, `cancels` the request that is to be given up.
    """

    method: str | None
    id: str | None
    token: str | None = None
    subscription: str | None = None
    cancels: str | None = None

    @property
    def is_request(self) -> bool:
        return self.method is not None and self.id is not None

    @property
    def is_answer(self) -> bool:
        return self.method is None and self.id is not None


def read(line: Line) -> tuple[Message, ...]:
    """Give the message of a line, or those of a batch; raises `ValueError` for what is none."""
    if line.torn:
        raise ValueError("a part of it is missing")
    if line.size is not None:
        raise ValueError("it is too long")
    try:
        found = exact_json.loads(line.data.decode())
    except RecursionError:
        raise ValueError("nested too deep") from None
    batch = found if isinstance(found, list) else [found]
    if not batch or not all(isinstance(each, dict) and _speaks(each) for each in batch):
        raise ValueError("no message of JSON-RPC")
    return tuple(map(_message, batch))


def _speaks(message: Mapping[str, Any]) -> bool:
    return isinstance(message.get("method"), str) or "result" in message or "error" in message


def _message(message: Mapping[str, Any]) -> Message:
    params = _object(message.get("params"))
    meta, method = _object(params.get("_meta")), message.get("method")
    return Message(
        method,
        _key(message.get("id")),
        _key(
            params.get("progressToken") if method == "notifications/progress" else meta.get("progressToken")
        ),
        _key(meta.get(_SUBSCRIPTION)),
        _key(params.get("requestId")) if method == "notifications/cancelled" else None,
    )


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _key(value: Any) -> str | None:
    return None if value is None else exact_json.dumps(value)
