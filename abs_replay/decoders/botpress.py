"""The Botpress Chat API: a chat whose server keeps the messages, and shows them in streams and lists.

https://botpress.com/docs/api-reference/chat-api; shapes as in packages/chat-api of
github.com/botpress/botpress. A user's message is in the POST that creates it, the bot's come as signals
(`/listen`, `/initialize`) or in lists. Each is a post under its id. Who wrote it is told by the signal
(`isBot`), by the POST, by the user's key, else by what is known of its author from the chat's other
exchanges, else the first author is taken for the user.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from abs_replay.decoders import sse
from abs_replay.decoders.arrivals import arrivals
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, Message, Post, Turn
from abs_replay.decoders.failures import failure
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.shapes import is_stream
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, Role, header

_KEY: Final = "x-user-key"
_OURS: Final = re.compile(r"/(?:users|conversations|messages|events|initialize)(?:/[^/]+)*$")
_CHAT: Final = re.compile(r"/conversations/([^/]+)/(?:messages|listen)$")
_MESSAGE: Final = re.compile(r"/messages/[^/]+$")
_WORDS: Final = ("text", "markdown")
# How the bot-side API names who speaks: botpress.com/docs/api-reference/runtime-api.
_DIRECTIONS: Final = {"incoming": "user", "outgoing": "assistant"}


def claims(exchange: Exchange) -> bool:
    """Claim requests with a user's key, POSTs of a payload to a conversation, and what lists its messages."""
    path, method = exchange.request.path.rstrip("/"), exchange.request.method
    if exchange.channel.role is Role.TOOL or not _OURS.search(path):
        return False
    if header(exchange.request.headers, _KEY) is not None:
        return True
    if method == "POST" and path.endswith("/messages"):
        body = obj(parse_or_none(request_content(exchange).data))
        return isinstance(body.get("payload"), dict) and isinstance(body.get("conversationId"), str)
    return method == "GET" and (bool(_CHAT.search(path)) or path.endswith("/initialize")) and _shown(exchange)


def _shown(exchange: Exchange) -> bool:
    """Say whether an answer is one of Botpress's: other chats have such paths, too."""
    content = response_content(exchange)
    if is_stream(exchange, content):
        return any(_signal(event.data)[0] for event in sse.events(content.text))
    found = [one for one in items(obj(parse_or_none(content.data)).get("messages")) if isinstance(one, dict)]
    return bool(found) and all(isinstance(one.get("payload"), dict) and "userId" in one for one in found)


def decode(exchange: Exchange) -> Decoded:
    """Give the posts that an exchange shows, or the turn of a message that was not taken."""
    request, response = request_content(exchange), response_content(exchange)
    path = exchange.request.path.rstrip("/")
    named = _CHAT.search(path)
    remarks = [*request.remarks, *response.remarks]
    if exchange.request.method == "POST" and path.endswith(("/messages", "/initialize")):
        return _sent(exchange, request, response, tuple(remarks))
    failed = failure(exchange, response)
    if failed or exchange.request.method != "GET":
        return Decoded("botpress", session=named[1] if named else None, remarks=tuple(remarks))
    reading = _Reading(exchange, named[1] if named else None, remarks)
    if is_stream(exchange, response):
        posts = list(reading.signals(response))
    elif _MESSAGE.search(path):
        posts = reading.listed([obj(parse_or_none(response.data)).get("message")], "response.message", None)
    else:
        posts = reading.listed(
            items(obj(parse_or_none(response.data)).get("messages")), "response.messages", None
        )
    return Decoded("botpress", session=reading.chat, remarks=tuple(remarks), posts=tuple(posts))


# -- what a user sent ---------------------------------------------------------


def _sent(exchange: Exchange, request: Content, response: Content, remarks: tuple[str, ...]) -> Decoded:
    body, answer = obj(parse_or_none(request.data)), obj(parse_or_none(response.data))
    first = exchange.request.path.rstrip("/").endswith("/initialize")
    asked = obj(body.get("message")) if first else body
    kept = obj(answer.get("message"))
    chat = text(kept.get("conversationId")) or text(obj(answer.get("conversation")).get("id"))
    chat = chat or text(body.get("conversationId"))
    if not isinstance(asked.get("payload"), dict):
        return Decoded("botpress", session=chat, remarks=remarks)
    at = "request.message.payload" if first else "request.payload"
    role = _DIRECTIONS.get(text(kept.get("direction")) or "", "user")
    message = Message(role, _content(asked["payload"]), at=at)
    failed = failure(exchange, response)
    name = text(kept.get("id"))
    if failed or name is None:
        turn = Turn((message,), error=failed or "the answer has no message", parent_id=chat)
        return Decoded("botpress", turn, session=chat, remarks=remarks)
    post = Post(name, message, 0.0, text(kept.get("userId")))
    return Decoded("botpress", session=chat, remarks=remarks, posts=(post,))


# -- what a server shows ------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """Reads what one exchange shows of a chat."""

    exchange: Exchange
    chat: str | None
    remarks: list[str]
    user: str | None = None

    def __post_init__(self) -> None:
        self.user = _key_holder(header(self.exchange.request.headers, _KEY) or "")

    def listed(self, messages: Iterable[Any], base: str, at_ms: float | None) -> list[Post]:
        """Give the posts of a list, in the order in which they were made: servers give the newest first."""
        found = [(one, base, number) for number, one in enumerate(messages) if isinstance(one, dict)]
        found.sort(key=lambda item: (text(item[0].get("createdAt")) or "", -item[2]))
        user = self.user or next((text(one.get("userId")) for one, _, _ in found), None)
        posts = []
        for one, base, number in found:
            at = base if base.endswith(("message", "]")) else place(base, number)
            role = _DIRECTIONS.get(text(one.get("direction")) or "")
            guess = role or ("user" if text(one.get("userId")) == user else "assistant")
            posts += self._post(one, guess, at, at_ms, guessed=role is None and self.user is None)
        return posts

    def signals(self, content: Content) -> Iterator[Post]:
        """Give the posts of a stream of signals."""
        times, streaming = arrivals(self.exchange, content), dict[str, str]()
        for number, event in enumerate(sse.events(content.text)):
            kind, data = _signal(event.data)
            at, time = place(EVENTS, number), times[number]
            match kind:
                case "message_created":
                    yield from self._created(data, at, time)
                case "message_stream_complete":
                    streaming.pop(text(data.get("streamId")) or "", None)
                    yield from self._created({"isBot": True, **obj(data.get("message"))}, at, time)
                case "message_stream_delta":
                    stream = text(data.get("streamId")) or ""
                    streaming[stream] = streaming.get(stream, "") + _delta(data.get("delta"))
                case "init":
                    self.user = text(obj(data.get("user")).get("id")) or self.user
                    self.chat = self.chat or text(obj(data.get("conversation")).get("id"))
                    yield from self.listed(items(data.get("messages")), at, time)
                case _:
                    self._aside(kind, data)
        self.remarks += [f"a message was begun and not ended: {words}" for words in streaming.values()]

    def _created(self, data: Mapping[str, Any], at: str, time: float | None) -> list[Post]:
        bot = data.get("isBot")
        if isinstance(bot, bool):
            return self._post(data, "assistant" if bot else "user", at, time, guessed=False)
        known = self.user is not None
        role = "user" if not known or text(data.get("userId")) == self.user else "assistant"
        return self._post(data, role, at, time, guessed=not known)

    def _post(
        self, one: Mapping[str, Any], role: str, at: str, at_ms: float | None, *, guessed: bool
    ) -> list[Post]:
        name, payload = text(one.get("id")), one.get("payload")
        self.chat = self.chat or text(one.get("conversationId"))
        if name is None or not isinstance(payload, dict):
            self.remarks.append("a message has no id or no payload")
            return []
        message = Message(role, _content(payload), at=at)
        return [Post(name, message, at_ms, text(one.get("userId")), guessed)]

    def _aside(self, kind: str | None, data: Mapping[str, Any]) -> None:
        if kind in ("message_deleted", "message_updated"):
            did = kind.removeprefix("message_")
            self.remarks.append(f"message {text(data.get('id'))} was {did} later; it stands as it was made")
        elif kind == "event_created":
            self.remarks.append("an event of the bot's own is not traced")
        self.chat = self.chat or text(data.get("conversationId"))


_SIGNALS: Final = (
    "message_created",
    "message_deleted",
    "message_updated",
    "message_stream_delta",
    "message_stream_complete",
    "message_stream_abort",
    "event_created",
    "participant_added",
    "participant_removed",
    "init",
)


def _signal(data: str) -> tuple[str | None, Mapping[str, Any]]:
    body = obj(parse_or_none(data))
    kind = text(body.get("type"))
    return (kind, obj(body.get("data"))) if kind in _SIGNALS else (None, {})


def _delta(delta: Any) -> str:
    return delta if isinstance(delta, str) else text(obj(delta).get("text")) or ""


def _key_holder(key: str) -> str | None:
    """Give the user that a key is for: it is a JSON web token that names one (RFC 7519)."""
    parts = key.split(".")
    if len(parts) != 3:
        return None
    try:
        claimed = base64.b64decode(parts[1] + "=" * (-len(parts[1]) % 4), b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    return text(obj(parse_or_none(claimed)).get("id"))


# -- payloads -----------------------------------------------------------------


def _content(payload: Mapping[str, Any]) -> Json:
    """Give what a payload says: words as text, all else (pictures, choices, cards ..) as the structure."""
    words = _words(payload)
    return payload if words is None else words


def _words(payload: Mapping[str, Any]) -> str | None:
    kind = payload.get("type")
    if kind in _WORDS:
        return text(payload.get(str(kind)))
    if kind == "bloc":
        parts = [_words(obj(item)) for item in items(payload.get("items"))]
        said = [part for part in parts if part is not None]
        return "\n".join(said) if said and len(said) == len(parts) else None
    return None
