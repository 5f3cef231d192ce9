"""What a recording's users said, and what its answers brought: values with meaning, or that are echoed."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from abs_replay.decoders import decode
from abs_replay.decoders.events import Decoded, Message, Said
from abs_replay.exchange import Exchange
from abs_replay.matching.canonical import canonical, json_body, text_of

_EVENT = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)
_SHORTEST = 3  # shorter values are everywhere


class Heard:
    """One recording, exchange by exchange, as the texts that its requests and answers hold."""

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        self._exchanges = exchanges
        self._found: dict[tuple[str, str], int | None] = {}

    def echoed(self, value: Any, number: int) -> bool:
        """Whether a value of this request was first seen in an answer before it."""
        answered = self._first("answers", value)
        if answered is None or answered >= number:
            return False
        asked = self._first("requests", value)
        return asked is None or asked > answered

    def answered(self, value: Any) -> bool:
        """Whether an answer holds this value."""
        return self._first("answers", value) is not None

    def said(self, value: Any) -> bool:
        """Whether a user said this, or words that hold it."""
        return self._first("words", value) is not None

    def _first(self, what: str, value: Any) -> int | None:
        text = value if isinstance(value, str) else text_of(value)
        if (what, text) not in self._found:
            self._found[what, text] = self._search(getattr(self, f"_{what}"), text)
        return self._found[what, text]

    @staticmethod
    def _search(texts: Sequence[str], value: str) -> int | None:
        document = json_body(value.encode("utf-8", "surrogatepass"))
        forms = {value, value.strip()} | ({text_of(document)} if document is not None else set())
        patterns = [(form, _alone(form)) for form in forms if len(form) >= _SHORTEST]
        for number, text in enumerate(texts):
            if any(form in text and pattern.search(text) for form, pattern in patterns):
                return number
        return None

    @cached_property
    def _decoded(self) -> tuple[Decoded, ...]:
        return tuple(map(decode, self._exchanges))

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple("\n".join(_user_words(decoded)) for decoded in self._decoded)

    @cached_property
    def _requests(self) -> tuple[str, ...]:
        return tuple("\n".join(_asked(exchange)) for exchange in self._exchanges)

    @cached_property
    def _answers(self) -> tuple[str, ...]:
        pairs = zip(self._exchanges, self._decoded, strict=True)
        return tuple("\n".join(_answer(exchange, decoded)) for exchange, decoded in pairs)


def _alone(value: str) -> re.Pattern[str]:
    start = r"(?<![A-Za-z0-9])" if value[0].isalnum() else ""
    end = r"(?![A-Za-z0-9])" if value[-1].isalnum() else ""
    return re.compile(f"{start}{re.escape(value)}{end}")


def _user_words(decoded: Decoded) -> Iterator[str]:
    for message in _history(decoded):
        if message.role == "user":
            yield from leaves(message.content)


def _history(decoded: Decoded) -> Iterator[Message]:
    if decoded.turn is not None:
        yield from decoded.turn.history
    for post in decoded.posts:
        yield post.message


def _asked(exchange: Exchange) -> Iterator[str]:
    form = canonical(exchange.request, exchange.channel)
    yield form.target
    yield from [form.body] if form.document is None else leaves(form.document)


def _answer(exchange: Exchange, decoded: Decoded) -> Iterator[str]:
    if exchange.response is not None:
        data = exchange.response.body.data
        yield from (value for _, value in exchange.response.headers)
        documents = (
            [json_body(data)] if data[:1] in b"{[" else [json_body(m[1]) for m in _EVENT.finditer(data)]
        )
        yield from leaves(documents)
        if not any(documents):
            yield data.decode("utf-8", "replace")
    reply = decoded.turn.reply if decoded.turn else None
    if reply is not None:
        yield from leaves(reply.content)
        yield from (leaf for part in reply.parts if isinstance(part, Said) for leaf in leaves(part.content))
        for call in reply.calls:
            yield text_of(call.arguments)
            yield from leaves(call.arguments)
    for use in decoded.uses:
        yield from leaves(use.content)
        yield text_of(use.content)


def leaves(value: Any) -> Iterator[str]:
    """The texts and numbers in a JSON value, as text; JSON inside of a text is looked into, too."""
    match value:
        case str():
            yield value
            inner = json_body(value.encode("utf-8", "surrogatepass"))
            if inner is not None:
                yield text_of(inner)
                yield from leaves(inner)
        case dict():
            for item in value.values():
                yield from leaves(item)
        case list() | tuple():
            for item in value:
                yield from leaves(item)
        case None | bool():
            return
        case _:
            yield text_of(value)
