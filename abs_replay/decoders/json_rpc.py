"""JSON-RPC 2.0 in HTTP bodies: one message, a batch of them, or one an event (MCP, A2A).

https://www.jsonrpc.org/specification
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from abs_replay import exact_json
from abs_replay.decoders import sse
from abs_replay.decoders.content import Content
from abs_replay.decoders.fields import error_text, obj, parse_or_none
from abs_replay.decoders.places import EVENTS, place
from abs_replay.exchange import Exchange

MCP_HEADERS = ("mcp-session-id", "mcp-protocol-version", "mcp-method")  # A2A has methods of the same names
_LONGEST = 300  # characters of what a server adds to the words of an error


@dataclass(frozen=True, slots=True)
class Received:
    """A message, and where it stands; `event` is the number of the event that brought it, if one did."""

    message: Mapping[str, Any]
    at: str
    event: int | None = None

    @property
    def key(self) -> str:
        """The message's id, as text that keeps 1 and "1" apart."""
        return exact_json.dumps(self.message.get("id"))

    @property
    def method(self) -> str:
        method = self.message.get("method")
        return method if isinstance(method, str) else ""

    @property
    def params(self) -> Mapping[str, Any]:
        return obj(self.message.get("params"))

    @property
    def is_answer(self) -> bool:
        return "method" not in self.message and ("result" in self.message or "error" in self.message)

    @property
    def error(self) -> str | None:
        """Why the server did not do what was asked, in its words, with what it adds to them."""
        error = self.message.get("error")
        if error is None:
            return None
        words = error_text(self.message) or "the server answered with an error"
        data = obj(error).get("data")
        if data in (None, "", words):
            return words
        return f"{words} ({(data if isinstance(data, str) else exact_json.dumps(data))[:_LONGEST]})"

    def within(self, name: str) -> str:
        """Name a member's place; in a stream an event is the smallest place there is."""
        return self.at if self.event is not None else f"{self.at}.{name}"


def messages(body: Any, at: str, event: int | None = None) -> list[Received]:
    """Give the messages of a body: one, or a list of them."""
    if isinstance(body, list):
        found = [(item, at if event is not None else f"{at}[{i}]") for i, item in enumerate(body)]
    else:
        found = [(body, at)]
    return [
        Received(item, place, event)
        for item, place in found
        if isinstance(item, dict) and item.get("jsonrpc") == "2.0"
    ]


def asked(content: Content) -> list[Received]:
    """Give what a request asks, tells or answers."""
    return messages(parse_or_none(content.data), "request")


def answered(content: Content, streamed: bool) -> list[Received]:
    """Give what a response brings, in order."""
    if not streamed:
        return messages(parse_or_none(content.data), "response")
    return list(_events(content.text))


def _events(text: str) -> Iterator[Received]:
    for number, event in enumerate(sse.events(text)):
        if event.data and event.name != "endpoint":
            yield from messages(parse_or_none(event.data), place(EVENTS, number), number)


def is_mcp(exchange: Exchange) -> bool:
    """Say whether a request bears a header of MCP's."""
    return any(name.lower() in MCP_HEADERS for name, _ in exchange.request.headers)
