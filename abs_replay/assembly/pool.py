"""The messages of a recording, each kept once: every request to a stateless API repeats its history.

What repeats is one object, so that memory grows with what was said and not with how often it was sent,
and comparing two histories is comparing objects. Of each message its mark is known: messages that
`threads.same` takes for one have one mark, but for calls whose ids a client made up.
"""

from collections.abc import Iterable

from abs_replay.assembly.threads import mark
from abs_replay.decoders import Message
from abs_replay.exact_json import Json


class Pool:
    """Messages by what they say and where they stand."""

    def __init__(self) -> None:
        self._kept: dict[int, Message] = {}
        self._plain: dict[tuple[str, str], Message] = {}
        self._marks: dict[int, int] = {}

    def keep(self, message: Message) -> Message:
        """Give the message that was kept first of those equal to this."""
        if id(message) in self._marks:
            return message  # a decoder that knows the history gives its messages again
        if type(message.content) is str and not (message.calls or message.parts or message.call_id):
            # Most are that: a role and words.
            plain = self._plain.setdefault((message.at, message.content), message)
            return plain if plain.role == message.role and plain.name == message.name else message
        kept = self._kept.setdefault(_content(message), message)
        # What hashes alike and is another stays itself; 1 and true hash apart as text.
        return kept if kept is message or kept == message else message

    def mark(self, message: Message) -> int:
        """Give a message's mark. The message must outlive the pool, which knows it by its place in memory."""
        found = self._marks.get(id(message))
        if found is None:
            found = self._marks[id(message)] = mark(message)
        return found

    def line(self, messages: Iterable[Message], start: int = 0) -> list[int]:
        """Give, message by message, one number for all up to there."""
        marks, found = self._marks, []
        for message in messages:
            known = marks.get(id(message))
            start = hash((start, self.mark(message) if known is None else known))
            found.append(start)
        return found


def _content(message: Message) -> int:
    calls = tuple((call.name, call.call_id, call.at, repr(call.arguments)) for call in message.calls)
    parts = repr(message.parts) if message.parts else None
    told = message.call_id, message.name, message.error
    return hash((message.role, message.at, _text(message.content), calls, parts, told))


def _text(content: Json) -> object:
    return content if content is None or isinstance(content, str) else (repr(content),)
