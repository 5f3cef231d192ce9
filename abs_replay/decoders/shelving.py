"""Words that wait outside of memory until they are told: messages know their place, and read them there.

A long recording says more than fits, and which conversation a request goes on from is told by the marks of
messages alone. So the words of messages are put on a shelf as soon as they are read: the message that
stands for one is compared by the digest of its words, and gives the words themselves when it is asked.
"""

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final, Protocol, cast

from abs_replay.decoders.events import Call, Message, Part
from abs_replay.exact_json import Json

SHORT: Final = 128  # characters; fewer weigh no more than what stands for them
_BEFORE: Final = 250_000  # characters that stay in memory: most recordings say less
_AT_HAND: Final = 16  # texts that were read last


class Room(Protocol):
    """Where bytes are put, one behind the other."""

    def append(self, data: bytes) -> bool:
        """Put bytes behind those that are there; False where there is no room for them."""
        ...

    def read(self, start: int, size: int) -> bytes: ...


class Shelf:
    """Texts by their number, each with the hash of the message that it is of."""

    def __init__(self, room: Room, before: int = _BEFORE) -> None:
        self._room = room
        self._before = before
        self._ends = array("Q", (0,))
        self._hashes = array("q")
        self._at_hand: dict[int, str] = {}

    def kept(self, message: Message) -> Message:
        """Give a message that stands for this one, whose words were put away; or the message itself, where
        they are few, or it says more than words."""
        words = message.content
        if type(words) is not str or len(words) < SHORT or message.calls or message.parts:
            return message
        if self._before > 0 or type(message) is not Message:
            self._before -= len(words)
            return message
        data = words.encode("utf-8", "surrogatepass")
        if not self._room.append(data):
            return message
        number = len(self._hashes)
        self._ends.append(self._ends[-1] + len(data))
        self._hashes.append(hash(message))
        self._remember(number, words)
        plain = message.call_id is message.name is message.error is None
        return cast(Message, (Shelved if plain else ShelvedAnswer)(message, self, number))

    def words(self, number: int) -> str:
        """Give a text again."""
        found = self._at_hand.get(number)
        if found is None:
            start, end = self._ends[number : number + 2]
            found = self._room.read(start, end - start).decode("utf-8", "surrogatepass")
            self._remember(number, found)
        return found

    def _remember(self, number: int, words: str) -> None:
        if len(self._at_hand) >= _AT_HAND:
            del self._at_hand[next(iter(self._at_hand))]
        self._at_hand[number] = words

    def hash(self, number: int) -> int:
        return self._hashes[number]


_open: list[Shelf] = []  # where histories that are read now are put, the last of them


def kept(message: Message) -> Message:
    """Give what stands for a message of a history, where it is read for a shelf."""
    return _open[-1].kept(message) if _open else message


def is_open() -> bool:
    return bool(_open)


def is_shelved(message: Message) -> bool:
    return type(message) is not Message


@contextmanager
def put_on(shelf: Shelf | None) -> Iterator[None]:
    """Put what histories say on a shelf, if there is one."""
    if shelf is None:
        yield
        return
    _open.append(shelf)
    try:
        yield
    finally:
        _open.pop()


class Shelved:
    """Stands for a `Message` of a role and words, and is equal to it.

    It is no subclass, which would weigh twice as much: of these there are as many as of messages.
    """

    __slots__ = ("_number", "_shelf", "at", "role")
    calls: ClassVar[tuple[Call, ...]] = ()
    parts: ClassVar[tuple[Part, ...]] = ()
    call_id: str | None = None
    name: str | None = None
    error: str | None = None

    def __init__(self, message: Message, shelf: Shelf, number: int) -> None:
        self.role, self.at = message.role, message.at
        self._shelf, self._number = shelf, number

    @property
    def content(self) -> Json:
        return self._shelf.words(self._number)

    def __hash__(self) -> int:
        return self._shelf.hash(self._number)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Message | Shelved) or other.calls or other.parts:
            return NotImplemented if not isinstance(other, Message | Shelved) else False
        if isinstance(other, Message) and type(other.content) is not str:
            return False
        return hash(self) == hash(other) and _said(self) == _said(other)


class ShelvedAnswer(Shelved):
    """Stands for a message that says which call it answers, too."""

    __slots__ = ("call_id", "error", "name")

    def __init__(self, message: Message, shelf: Shelf, number: int) -> None:
        super().__init__(message, shelf, number)
        self.call_id, self.name, self.error = message.call_id, message.name, message.error


def _said(message: "Message | Shelved") -> tuple[object, ...]:
    return message.role, message.at, message.call_id, message.name, message.error, message.content
