"""The messages of a WebSocket: those of one side together, so that no message's end hides a secret."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from abs_replay.exchange import Message, WebSocket
from abs_replay.redact.searching import Search


def redacted_messages(websocket: WebSocket, search: Search, ended: bool) -> WebSocket:
    """Give what was said without secrets; lengths follow, times stay."""
    messages = list(websocket.messages)
    for from_client in (True, False):
        places = [at for at, each in enumerate(messages) if each.is_text and each.from_client == from_client]
        cleaned = _texts([messages[at] for at in places], search, ended)
        for at, message in zip(places, cleaned, strict=True):
            messages[at] = message
    messages = [each if each.is_text else _alone(each, search) for each in messages]
    reason, _ = search.replaced(websocket.close_reason.encode("utf-8", "surrogatepass"))
    result = replace(websocket, messages=tuple(messages), close_reason=reason.decode("utf-8", "replace"))
    return websocket if result == websocket else result


def _texts(messages: Sequence[Message], search: Search, ended: bool) -> Iterator[Message]:
    """Texts, joined a message a line: deltas are found as they are in a stream of events."""
    messages = [_alone(each, search) if each.cut else each for each in messages]
    ends, at = list[int](), 0
    for message in messages:
        at += len(message.data) + 1
        ends.append(at)
    joined = b"".join([part for message in messages for part in (message.data, b"\n")])
    cleaned, new_ends = search.replaced(*search.lines(joined, ends), whole=ended)
    start = 0
    for message, end in zip(messages, new_ends, strict=True):
        yield _with(message, cleaned[start:end].removesuffix(b"\n"), 0)
        start = end


def _alone(message: Message, search: Search) -> Message:
    search.held = 0
    data, _ = search.body(message.data, (), "", not message.cut)
    return _with(message, data, search.held)


def _with(message: Message, data: bytes, held: int) -> Message:
    if data == message.data:
        return message
    size = None if message.size is None else message.size + len(data) - len(message.data) + held
    return replace(message, data=data, size=size)
