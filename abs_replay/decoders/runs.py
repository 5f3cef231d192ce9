"""The parts of a message as they come, where neighbouring pieces of text are one part."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from abs_replay.decoders.events import Message, Part, Said, Thought, composed
from abs_replay.decoders.histories import LONGEST
from abs_replay.decoders.places import place


@dataclass(slots=True)
class Runs:
    """Collects parts in order. `base` and an index say where a piece stands: see `place`."""

    joiner: str = ""
    _parts: list[Part] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)
    _kind: type[Said | Thought] = Said
    _base: str = ""
    _first: int | None = None
    _last: int | None = None

    def said(self, text: str, base: str, index: int | None) -> None:
        self._piece(Said, text, base, index)

    def thought(self, text: str, base: str, index: int | None) -> None:
        self._piece(Thought, text, base, index)

    def _piece(self, kind: type[Said | Thought], text: str, base: str, index: int | None) -> None:
        if self._texts and kind is not self._kind:
            self.cut()
        if not self._texts:
            self._kind, self._base, self._first, self._last = kind, base, index, index
        self._texts.append(text)
        if base == self._base:  # a run that goes on elsewhere is named by where it began
            self._last = index

    def cut(self) -> None:
        """End the run: text that follows is a part of its own."""
        if self._texts:
            text = self.joiner.join(self._texts)
            self._parts.append(self._kind(text, place(self._base, self._first, self._last)))
            self._texts.clear()

    def add(self, part: Part) -> int:
        """Add a part; gives its position, for `replace`."""
        self.cut()
        self._parts.append(part)
        return len(self._parts) - 1

    def replace(self, position: int, part: Part) -> None:
        self._parts[position] = part

    def parts(self) -> list[Part]:
        """Give all parts so far."""
        self.cut()
        return self._parts


def message(role: str, parts: Sequence[Part], at: str) -> Message:
    """Compose a message; what says one text alone is made once, for each request repeats its history."""
    if len(parts) == 1 and isinstance(parts[0], Said):
        words = parts[0].content
        if isinstance(words, str) and len(words) <= LONGEST:
            return spoken(role, words, at)
    return composed(role, parts, at)


@lru_cache(8192)
def spoken(role: str, words: str, at: str) -> Message:
    return Message(role, words, at=at)
