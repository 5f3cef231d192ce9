"""A recorded WebSocket played: what the server says next, and whether a client says what it said then.

Messages pass in recorded order. A client's message is compared as a request is: JSON by its meaning but for
`event_id`, which OpenAI's Realtime clients make afresh, and fresh values renamed one to one; other text and
bytes as they are.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from abs_replay.exchange import Body, Channel, Message, Request, WebSocket
from abs_replay.matching.canonical import canonical
from abs_replay.matching.renaming import Bindings, correspond, shape
from abs_replay.spec.ignoring import Ignore

EVENT_ID = Ignore(json=("event_id",))


def as_request(data: bytes) -> Request:
    """A message in the form in which it is compared."""
    return Request("MESSAGE", "", (), Body(data))


@dataclass(slots=True)
class Dialogue:
    """How far a WebSocket was played; `ignore` are the rules for its channel."""

    websocket: WebSocket
    channel: Channel
    ignore: Sequence[Ignore] = ()
    at: int = 0
    bindings: Bindings = field(default_factory=Bindings)

    def due(self) -> tuple[Message, ...]:
        """What the server says before the client's next message, or before the end."""
        messages, begun = self.websocket.messages, self.at
        while self.at < len(messages) and not messages[self.at].from_client:
            self.at += 1
        return messages[begun : self.at]

    @property
    def awaited(self) -> Message | None:
        """The client's next message, once all was said that is due before it; None where there is none."""
        return self.websocket.messages[self.at] if self.at < len(self.websocket.messages) else None

    def hear(self, data: bytes, is_text: bool) -> bool:
        """Go on where the client says what is awaited, or else say no."""
        awaited = self.awaited
        if awaited is None or awaited.is_text != is_text or not self._is_same(awaited.data, data):
            return False
        self.at += 1
        return True

    def _is_same(self, recorded: bytes, asked: bytes) -> bool:
        if recorded == asked:
            return True
        rules = (*self.ignore, EVENT_ID)
        requests = as_request(recorded), as_request(asked)
        forms = [canonical(one, self.channel, rules) for one in requests]
        if forms[0].key == forms[1].key:
            return True
        shapes = [shape(one, form) for one, form in zip(requests, forms, strict=True)]
        pairs = correspond(shapes[0], shapes[1])
        if pairs is None or not self.bindings.admit(pairs, self._is_known):
            return False
        self.bindings.keep(pairs)
        return True

    def _is_known(self, value: str) -> bool:
        data = value.encode("utf-8", "surrogatepass")
        return any(data in message.data for message in self.websocket.messages)
