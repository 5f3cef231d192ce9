"""The messages of a recording, each kept once: every request to a stateless API repeats its history.

What repeats is one object, so that memory grows with what was said and not with how often it was sent,
and comparing two histories is comparing objects. Of a history that goes on from one that was seen, what
is new alone is looked at, and what it goes on from is shared. A message's mark is a number: messages that
`threads.same` takes for one have one mark, but for calls whose ids a client made up.
"""

from array import array
from dataclasses import dataclass, field, replace
from sys import intern
from typing import Final

from abs_replay.assembly.threads import mark
from abs_replay.decoders import Decoded, Message, Served, Shelf, Thought, Turn
from abs_replay.decoders.shelving import is_shelved
from abs_replay.exact_json import Json
from abs_replay.exchange import Channel, Request

_MOST: Final = 512  # beginnings of histories that go on side by side, two for each

type Messages = tuple[Message, ...]
type Aside = tuple[int, Message]


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """The first messages of a list, which grows as others go on from them."""

    _shared: list[Message] = field(default_factory=list)
    length: int = 0

    @property
    def messages(self) -> Messages:
        return tuple(self._shared if self.length == len(self._shared) else self._shared[: self.length])

    def between(self, start: int, end: int | None = None) -> Messages:
        """Give some of the messages."""
        return tuple(self._shared[start : self.length if end is None else end])

    def grown(self, new: list[Message]) -> "Line":
        """Give this line with more behind it."""
        shared = self._shared if self.length == len(self._shared) else self._shared[: self.length]
        shared += new
        return Line(shared, len(shared))

    @staticmethod
    def of(messages: Messages) -> "Line":
        return Line(list(messages), len(messages))


type _Heard = tuple[Line, tuple[Aside, ...]]


@dataclass(slots=True, eq=False)
class _Begun[Read]:
    """What was read of the first `length` messages of a history; `before` is the last message of the one
    that it goes on from, by its place in memory."""

    history: Messages
    length: int
    read: Read
    before: int | None


class _Beginnings[Read]:
    """What was read of histories, and of those that they went on from, by their last messages: messages
    that were read once are one object each."""

    def __init__(self) -> None:
        self._known: dict[int, _Begun[Read]] = {}

    def longest(self, history: Messages) -> tuple[int, Read] | None:
        """Give how many messages of a history were read before, and what was read of them."""
        for length in range(len(history), 0, -1):
            found = self._known.get(id(history[length - 1]))
            if found and found.length == length and found.history[:length] == history[:length]:
                return length, found.read
        return None

    def learn(self, history: Messages, begun: int, read: Read) -> None:
        """Remember what was read of a history that goes on from one of that length."""
        before = id(history[begun - 1]) if begun else None
        grown = self._known.pop(before, None) if before else None
        if before and grown:
            if grown.before and begun < len(history):
                self._known.pop(grown.before, None)
                grown.before = None
            grown.history = history
            self._known[before] = grown
        if begun < len(history):
            self._known[id(history[-1])] = _Begun(history, len(history), read, before)
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]


class Pool:
    """Messages by what they say and where they stand."""

    def __init__(self, shelf: Shelf | None = None) -> None:
        self._shelf = shelf
        self._kept: dict[int, Message] = {}
        self._plain: dict[Message, Message] = {}
        self._heard: _Beginnings[_Heard] = _Beginnings()
        self._requests: dict[tuple[str, str], Request] = {}
        self._channels: dict[Channel, Channel] = {}
        self._silent: dict[Decoded, Decoded] = {}

    def heard(self, history: Messages) -> _Heard:
        """Part a history into what it is compared by, and what stands between; asides alone are compared."""
        begun, read = self._heard.longest(history) or (0, (Line(), ()))
        new: list[Message] = []
        asides: list[Aside] = []
        for message in map(self.keep, history[begun:]):
            if message.role == "system" or (message.parts and _is_quiet(message)):
                asides.append((read[0].length + len(new), message))
            else:
                new.append(message)
        found = read[0].grown(new) if new else read[0], (*read[1], *asides) if asides else read[1]
        if not found[0].length:
            return Line.of(tuple(one for _, one in found[1])), tuple(
                a for a in found[1] if a[1].role == "system"
            )
        self._heard.learn(history, begun, found)
        return found

    def keep(self, message: Message) -> Message:
        """Give the message that was kept first of those equal to this."""
        if not (message.calls or message.parts) and (is_shelved(message) or type(message.content) is str):
            return self._plain.setdefault(message, message)
        kept = self._kept.setdefault(_content(message), message)
        # What hashes alike and is another stays itself; 1 and true hash apart as text.
        return kept if kept is message or kept == message else message

    def told(self, turn: Turn) -> Turn:
        """Give a turn without the messages that it repeats, its reply on the shelf, if there is one."""
        reply = self._shelf.kept(turn.reply) if self._shelf and turn.reply else turn.reply
        # One text for all the turns of a model.
        return replace(turn, history=(), reply=reply, model=intern(str(turn.model)) if turn.model else None)

    def channel(self, channel: Channel) -> Channel:
        """Give the channel that was kept first of those equal to this."""
        return self._channels.setdefault(channel, channel)

    def request(self, method: str, target: str) -> Request:
        """Give a request with nothing in it."""
        key = method, target
        return self._requests.get(key) or self._requests.setdefault(key, Request(method, target))

    def silent(self, decoded: Decoded) -> Decoded:
        """Give what was kept first of what is equal to this, which holds no turn, and nothing else said."""
        return self._silent.setdefault(decoded, decoded)


class Lines:
    """Numbers for what was said up to each message of a history."""

    def __init__(self) -> None:
        self._read: _Beginnings[array[int]] = _Beginnings()

    def line(self, messages: Messages) -> "array[int]":
        """Give, message by message, one number for all up to there."""
        begun, read = self._read.longest(messages) or (0, _NOTHING)
        if begun == len(messages):
            return read
        found = read[:]
        last = found[-1] if found else 0
        for message in messages[begun:]:
            last = self.behind(last, mark(message))
            found.append(last)
        self._read.learn(messages, begun, found)
        return found

    @staticmethod
    def behind(start: int, said: int) -> int:
        """Give the number for all that one number stands for, with one more message of that mark."""
        return hash((start, said))


_NOTHING: Final[array[int]] = array("q")


def _is_quiet(message: Message) -> bool:
    return message.role == "assistant" and all(isinstance(part, Thought | Served) for part in message.parts)


def _content(message: Message) -> int:
    calls = tuple((call.name, call.call_id, call.at, repr(call.arguments)) for call in message.calls)
    parts = repr(message.parts) if message.parts else None
    told = message.call_id, message.name, message.error
    return hash((message.role, message.at, _text(message.content), calls, parts, told))


def _text(content: Json) -> object:
    return content if content is None or isinstance(content, str) else (repr(content),)
