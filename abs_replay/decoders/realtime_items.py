"""Items of a conversation over OpenAI's Realtime API: what a client adds, and what a response holds.

https://platform.openai.com/docs/api-reference/realtime-client-events/conversation/item/create. Sound is
told by its transcript; where there is none, by its type alone. Parts of the beta (`text`, `audio`) are
those of today (`output_text`, `output_audio`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import chat_messages, media, responses_tools
from abs_replay.decoders.events import Message, composed
from abs_replay.decoders.fields import items, obj, text
from abs_replay.decoders.places import place
from abs_replay.decoders.socket_messages import MESSAGES, Event

_ROLES: Final = {"developer": "system"}
_EMPTY: Final[tuple[Any, ...]] = (None, "", [])
_SOUNDS: Final = ("input_audio", "output_audio", "audio")


@dataclass(slots=True, eq=False)
class Input:
    """An item that a response is to answer; `heard` is what was made out of its sound, at last."""

    fields: Mapping[str, Any]
    event: Event
    heard: str = ""

    def message(self) -> Message | None:
        return asked(self.fields, self.heard or None, place(MESSAGES, self.event.number))


def messages(history: Iterable[Input | Message]) -> tuple[Message, ...]:
    """Give a history's messages; what is none is left out."""
    found = (one if isinstance(one, Message) else one.message() for one in history)
    return tuple(message for message in found if message is not None)


def asked(item: Mapping[str, Any], heard: str | None, at: str) -> Message | None:
    """Read an item that a client added; `heard` is the transcript of its sound. None for what is none."""
    kind = responses_tools.kind(item)
    if kind == "message":
        role = text(item.get("role")) or "user"
        parts = [_part(part, heard, "input_text") for part in items(item.get("content"))]
        if role == "assistant":
            return composed(role, chat_messages.words(parts, at, numbered=False), at)
        return Message(_ROLES.get(role, role), chat_messages.content(parts), at=at)
    if responses_tools.is_result(kind):
        content, error = responses_tools.result(item)
        return Message("tool", content, (), responses_tools.answered_call(item), None, at, error=error)
    call = responses_tools.call(item, at) if responses_tools.is_call(kind) else None
    return composed("assistant", [call], at) if call else None


def _part(part: Any, heard: str | None, kind: str) -> Any:
    """Give a part of a message with its words, if it has any, else what it is."""
    fields = obj(part)
    if fields.get("type") not in _SOUNDS:
        return part
    words = text(fields.get("transcript")) or heard
    if words is not None:
        return {"type": kind, "text": words}
    sound = fields.get("audio")
    named = media.named(sound) if isinstance(sound, str) and sound else {}
    return {"type": fields["type"], **named}


@dataclass(slots=True)
class Output:
    """An item of a response as it comes; `texts` are its words by the index of their part."""

    fields: Mapping[str, Any] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    given: str = ""
    first: int = 0
    last: int = 0

    def add(self, fields: Mapping[str, Any]) -> None:
        """Take in what an event says of it; what is empty says nothing."""
        self.fields = {**self.fields, **{key: value for key, value in fields.items() if value not in _EMPTY}}

    def whole(self) -> Mapping[str, Any]:
        """The item with all that came, as it stands in a finished response."""
        content = [_part(part, None, "output_text") for part in items(self.fields.get("content"))]
        if self.texts and not any(text(obj(part).get("text")) for part in content):
            content = [{"type": "output_text", "text": self.texts[index]} for index in sorted(self.texts)]
        kind = "function_call" if self.given else "message"
        whole = {"type": kind, "role": "assistant", **self.fields, "content": content}
        if responses_tools.is_call(responses_tools.kind(whole)) and not text(whole.get("arguments")):
            whole["arguments"] = self.given
        return whole
