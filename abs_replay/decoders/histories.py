"""Histories that requests repeat, read once: of a further request only what is new need be read.

Each request to a stateless API sends its whole history again. What was read of one is found by its
last message, and taken where the further request begins with the very same values. These are kept as
they came first, so that their texts are those of the messages.
"""

from collections.abc import Sequence
from typing import Any, Final

from abs_replay.decoders.events import Message

LONGEST: Final = 4096  # characters of one message; what is longer is read each time
_MESSAGES: Final = 8192  # of which what was read is kept
_MOST: Final = 256  # histories: so many conversations may go on side by side


def remember[Key, Value](known: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep what was read of a message; where that is too much, all that was kept is forgotten."""
    if len(known) >= _MESSAGES:
        known.clear()
    known[key] = value


class Histories:
    """What was read last, by its end."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], tuple[list[Any], tuple[Message, ...]]] = {}

    def begun(self, values: Sequence[Any], at: str) -> tuple[Message, ...]:
        """Give the messages that were read of the longest beginning of these values that is known."""
        for length in range(len(values), 0, -1):
            known = self._known.get(_end(values, length, at))
            if known and known[0] == values[:length]:
                return known[1]
        return ()

    def learn(self, values: Sequence[Any], at: str, begun: int, messages: tuple[Message, ...]) -> None:
        """Remember what was read, in place of what it begins with, as far as it is text: 1 equals true."""
        length = begun
        while length < len(values) and _is_text(values[length]):
            length += 1
        if length == 0 or len(messages) != len(values):
            return
        grown = self._known.pop(_end(values, begun, at), None) if begun else None
        old = grown[0] if grown and grown[1] == messages[:begun] else values[:begun]
        if len(self._known) >= _MOST:
            del self._known[next(iter(self._known))]
        self._known[_end(values, length, at)] = [*old, *values[begun:length]], messages[:length]


def _end(values: Sequence[Any], length: int, at: str) -> tuple[object, ...]:
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
