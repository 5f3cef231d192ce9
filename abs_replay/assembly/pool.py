"""The messages of a recording, each kept once: every request to a stateless API repeats its history.

What repeats is one object, so that memory grows with what was said and not with how often it was sent,
and comparing two histories is comparing objects. Of each message its mark is known: messages that
`threads.same` takes for one have one mark, but for calls whose ids a client made up. Of a history that
goes on from one that was seen, what is new alone is looked at.
"""

from typing import Final

from abs_replay.assembly.threads import mark
from abs_replay.decoders import Message, Served, Thought
from abs_replay.exact_json import Json

_MOST: Final = 256  # histories that go on side by side

type Messages = tuple[Message, ...]
type Aside = tuple[int, Message]
type _Begun[Read] = dict[int, tuple[Messages, Read]]


class Pool:
    """Messages by what they say and where they stand."""

    def __init__(self) -> None:
        self._kept: dict[int, Message] = {}
        self._plain: dict[tuple[str, str], Message] = {}
        self._marks: dict[int, int] = {}
        self._heard: _Begun[tuple[Messages, tuple[Aside, ...]]] = {}
        self._lines: _Begun[list[int]] = {}

    def heard(self, history: Messages) -> tuple[Messages, tuple[Aside, ...]]:
        """Part a history into what it is compared by, and what stands between; asides alone are compared."""
        begun, read = _begun(self._heard, history) or ((), ((), ()))
        said, asides = list(read[0]), list(read[1])
        for message in map(self.keep, history[len(begun) :]):
            if message.role == "system" or (message.parts and _is_quiet(message)):
                asides.append((len(said), message))
            else:
                said.append(message)
        if not said:
            return tuple(message for _, message in asides), tuple(a for a in asides if a[1].role == "system")
        found = tuple(said), read[1] if len(asides) == len(read[1]) else tuple(asides)
        _remember(self._heard, history, found)
        return found

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

    def line(self, messages: Messages) -> list[int]:
        """Give, message by message, one number for all up to there."""
        begun, read = _begun(self._lines, messages) or ((), [0])
        found = list(read)
        for message in messages[len(begun) :]:
            found.append(self.behind(found[-1], message))
        _remember(self._lines, messages, found)
        return found[1:]

    def behind(self, start: int, message: Message) -> int:
        """Give the number for all that one number stands for, with one more message."""
        return hash((start, self.mark(message)))


def _begun[Read](known: _Begun[Read], history: Messages) -> tuple[Messages, Read] | None:
    """Take out what was read of the longest beginning of a history: messages that were read once are one
    object each."""
    for length in range(len(history), 0, -1):
        found = known.get(id(history[length - 1]))
        if found and found[0] == history[:length]:
            return known.pop(id(history[length - 1]))
    return None


def _remember[Read](known: _Begun[Read], history: Messages, read: Read) -> None:
    if len(known) >= _MOST:
        del known[next(iter(known))]
    if history:
        known[id(history[-1])] = history, read


def _is_quiet(message: Message) -> bool:
    return message.role == "assistant" and all(isinstance(part, Thought | Served) for part in message.parts)


def _content(message: Message) -> int:
    calls = tuple((call.name, call.call_id, call.at, repr(call.arguments)) for call in message.calls)
    parts = repr(message.parts) if message.parts else None
    told = message.call_id, message.name, message.error
    return hash((message.role, message.at, _text(message.content), calls, parts, told))


def _text(content: Json) -> object:
    return content if content is None or isinstance(content, str) else (repr(content),)
