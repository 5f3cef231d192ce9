"""Histories that requests repeat, read once: of a further request only what is new need be read.

Each request to a stateless API sends its whole history again. What was read of one is found by its
last message, and taken where the further request begins with the very same values, of which a digest
alone is kept.
"""

import hashlib
import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from abs_replay.decoders.events import Message

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

    `digest` is a hash of the values, which more can be put to; `before` is the end of the history that
    this one goes on from.
    """

    digest: Any
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
        for length, known in islice(((length, known) for length, known in ends if known), _TRIES):
            if known.digest.digest() == _digest(values[:length]):
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
        digest = grown.digest.copy() if grown else hashlib.sha256()
        _put(digest, values[begun if grown else 0 : length])
        if length > begun or not grown:
            self._known[_end(values, length, at)] = _Begun(digest, messages[:length], before)
        while len(self._known) > _MOST:
            del self._known[next(iter(self._known))]

    def _grown(
        self, end: _End | None, messages: tuple[Message, ...], begun: int, length: int
    ) -> _Begun | None:
        """Find again what a history goes on from, as what was used last; what that went on from can go."""
        grown = self._known.pop(end, None) if end else None
        if end is None or grown is None or grown.messages[:begun] != messages[:begun]:
            return None
        if length > begun:
            if grown.before:
                self._known.pop(grown.before, None)
            grown.messages, grown.before = messages[:length], None
        self._known[end] = grown
        return grown

    def clear(self) -> None:
        self._known.clear()


def _digest(values: Sequence[Any]) -> bytes | None:
    """Give what tells values apart; None for what was not learned."""
    digest = hashlib.sha256()
    try:
        _put(digest, values)
    except ValueError:  # a number with a fraction
        return None
    return digest.digest()


def _put(digest: Any, values: Sequence[Any]) -> None:
    # Without references (version 0), items are written one after the other, behind a list's kind and
    # length of five bytes.
    digest.update(memoryview(marshal.dumps(list(values), 0))[5:])


def _end(values: Sequence[Any], length: int, at: str) -> _End:
    last = values[length - 1]
    fields = last if isinstance(last, dict) else {}
    told = (fields.get("content"), fields.get("tool_call_id"))
    return at, length, *(text if isinstance(text, str) else None for text in told)


def _is_text(value: Any) -> bool:
    if type(value) is str:
        return True
    if isinstance(value, dict):
        return all(map(_is_text, value.values()))
    if isinstance(value, list):
        return all(map(_is_text, value))
    return value is None
