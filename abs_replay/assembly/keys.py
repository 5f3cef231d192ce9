"""Which conversation an exchange says that it belongs to: ids that testers, agents and servers give.

`x-abs-session` goes first, then what the configuration names (`conversation:`), then an id that the
protocol itself has. A configured id is looked for in the request, and where that has none in the
response, for the first answer of a conversation often gives the id that later requests bear.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from abs_replay import exact_json
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.fields import parse_or_none
from abs_replay.exchange import Exchange, Headers, header


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Where ids of conversations stand: in a header, in a cookie, at a path in a JSON body (`chat.id`)."""

    header: str | None = None
    cookie: str | None = None
    body: str | None = None

    def __str__(self) -> str:
        """Give what traces depend on; empty where nothing is configured."""
        named = {"header": self.header, "cookie": self.cookie, "body": self.body}
        return " ".join(f"{where}={name}" for where, name in named.items() if name)

    def of(self, exchange: Exchange) -> str | None:
        """Give the id that an exchange bears."""
        return next(self._found(exchange), None)

    def _found(self, exchange: Exchange) -> Iterator[str]:
        answered = exchange.response.headers if exchange.response else ()
        for headers, content in (
            (exchange.request.headers, request_content),
            (answered, response_content),
        ):
            if self.header and (value := header(headers, self.header)):
                yield value
            if self.cookie and (value := _cookie(headers, self.cookie)):
                yield value
            if self.body:
                yield from _at(content(exchange), self.body)


def _cookie(headers: Headers, name: str) -> str | None:
    """Read a cookie that is sent, or set: https://www.rfc-editor.org/rfc/rfc6265#section-4"""
    for key, value in headers:
        if key.lower() in ("cookie", "set-cookie"):
            pairs = value.split(";")
            # What follows the cookie that is set are its attributes.
            for pair in pairs if key.lower() == "cookie" else pairs[:1]:
                own, _, text = pair.partition("=")
                if own.strip() == name and (text := text.strip().strip('"')):
                    return text
    return None


def _at(content: Content, path: str) -> Iterator[str]:
    value: Any = parse_or_none(content.data)
    for part in path.removeprefix("$.").replace("[", ".").replace("]", "").split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, str) and value:
        yield value
    elif isinstance(value, int | exact_json.Number) and not isinstance(value, bool):
        yield exact_json.dumps(value)


def trace_id(headers: Headers) -> str | None:
    """Give the trace id of https://www.w3.org/TR/trace-context/#traceparent-header."""
    parts = (header(headers, "traceparent") or "").split("-")
    return parts[1] if len(parts) >= 4 and parts[1].strip("0") else None
