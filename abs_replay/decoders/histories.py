"""Histories that requests repeat, read once: of a further request only what is new need be read.

Each request to a stateless API sends its whole history again. What was read of one is found by its
last message, and taken where the further request begins with the very same values. Of these short texts
are kept, which are those of the messages, or a hash.
"""

import hashlib
import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from abs_replay.decoders.events import Message
from abs_replay.decoders.shelving import SHORT

LONGEST: Final = 4096  # characters of one message; what is longer is read each time
_MESSAGES: Final = 8192  # of which what was read is kept
_MOST: Final = 512  # histories, two for each conversation: so many may go on side by side
_TRIES: Final = 4  # ends that are looked behind: a client may change the first message each time
_TEXTS: Final = 1024  # of replies that a history may repeat next

type _End = tuple[object, ...]


def remember[Key, Value](known: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep what was read of a message; where that is too much, all that was kept is forgotten."""
    if len(known) >= _MESSAGES:
        known.clear()
    known[key] = value


class Replies:
    """Texts of the last replies, so that a history which repeats one can share it."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def learn(self, reply: Message | None) -> None:
        """Take in a reply's words."""
        if reply and type(reply.content) is str and reply.content not in self._known:
            if len(self._known) >= _TEXTS:
                self._known.clear()
            self._known[reply.content] = reply.content

    def shared(self, text: str) -> str:
        """Give the text that was learned where it is equal to this, else this."""
        return self._known.get(text, text)

    def clear(self) -> None:
        self._known.clear()


@dataclass(slots=True, eq=False)
class _Begun:
    """What was read of a history: the first of `messages`, which what goes on from it shares.

    `outline` tells the values apart (`_outline`); `before` is the end of the history that this one goes
    on from.
    """

    outline: list[object]
    messages: tuple[Message, ...]
    before: _End | None = None


class Histories:
    """What was read last, by its end, and by the end of what that went on from: a client may go back
    there, as one does that leaves out calls once they are answered."""

    def __init__(self) -> None:
        self._known: dict[_End, _Begun] = {}

    def begun(self, values: Sequence[Any], at: str) -> tuple[Message, ...]:
        """Give the messages that were read of the longest beginning of these values that is known."""
        ends = ((length, self._known.get(_end(values, length, at))) for length in range(len(values), 0, -1))
        outline: list[object] = []
        for length, known in islice(((length, known) for length, known in ends if known), _TRIES):
            outline = outline or _outline(values[:length])
            if known.outline[: 2 * length] == outline[: 2 * length]:
                return known.messages[:length]
        return ()

    def learn(self, values: Sequence[Any], at: str, begun: int, messages: tuple[Message, ...]) -> None:
        """Remember what was read, behind what it begins with, as far as it is text."""
        length = begun
        while length < len(values) and _is_text(values[length]):
            length += 1
        if length == 0 or len(messages) != len(values):
            return
        before = _end(values, begun, at) if begun else None
        grown = self._grown(before, messages, begun, length)
        if length > begun or not grown:
            start = begun if grown else 0
            more = _outline(values[start:length], messages[start:length])
            outline = [*(grown.outline[: 2 * begun] if grown else ()), *more]
            begins = _Begun(outline, messages[:length], before)
            if grown:
                grown.outline, grown.messages = begins.outline, begins.messages
            self._known[_end(values, length, at)] = begins
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def _grown(
        self, end: _End | None, messages: tuple[Message, ...], begun: int, length: int
    ) -> _Begun | None:
        """Find again what a history goes on from, as what was used last; what that went on from can go."""
        grown = self._known.pop(end, None) if end else None
        if end is None or grown is None or grown.messages[:begun] != messages[:begun]:
            return None
        if length > begun and grown.before:
            self._known.pop(grown.before, None)
            grown.before = None
        self._known[end] = grown
        return grown

    def clear(self) -> None:
        self._known.clear()


def _outline(values: Sequence[Any], messages: Sequence[Message] = ()) -> list[object]:
    """Give two things of each value that tell it: role and content where it has nothing else, which are
    the message's own texts where there is one, or a hash where it is long; else nothing, and a digest."""
    found: list[object] = []
    for value in values:
        plain = type(value) is dict and len(value) == 2
        if plain and type(role := value.get("role")) is type(said := value.get("content")) is str:
            found += (role, _told(said))
        else:
            found += (None, _digest(value))
    for place, message in enumerate(messages):
        said = 2 * place + 1
        found[said - 1] = message.role if message.role == found[said - 1] else found[said - 1]
        if type(found[said]) is str and found[said] == message.content:
            found[said] = message.content
    return found


def _told(text: str) -> str | int:
    """Give a text, or what is less and tells it apart. (Of 64 bits, by a key that this process drew.)"""
    return text if len(text) < SHORT else hash(text)


def _digest(value: Any) -> object:
    """Give what tells a value apart; what is no text of a kind is told from all others."""
    try:
        return hashlib.sha256(marshal.dumps(value, 0)).digest()
    except ValueError:  # a number with a fraction, which was not learned
        return object()


def _end(values: Sequence[Any], length: int, at: str) -> _End:
    last = values[length - 1]
    fields = last if isinstance(last, dict) else {}
    told = (fields.get("content"), fields.get("tool_call_id"))
    return at, length, *(_told(text) if isinstance(text, str) else None for text in told)


def _is_text(value: Any) -> bool:
    if type(value) is str:
        return True
    if isinstance(value, dict):
        return all(map(_is_text, value.values()))
    if isinstance(value, list):
        return all(map(_is_text, value))
    return value is None
