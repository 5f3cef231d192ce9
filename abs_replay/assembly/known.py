"""The conversations of one front so far, and which of them a further request goes on from.

Looking one up costs as much as the request is long, however many conversations there are: threads
stand under one number for all that was said in them (`Lines`), answers under their ids. Where a
client edited old messages, those conversations are compared that began alike, the newest first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from abs_replay.assembly.conversations import Conversation
from abs_replay.assembly.pool import Lines
from abs_replay.assembly.sightings import Seen
from abs_replay.assembly.threads import EXACT, Fit, Leaving, Thread, mark, opening
from abs_replay.decoders import Message
from abs_replay.exchange import Role

_MOST = 256  # conversations that are compared message by message
_NEAR = 32  # threads that stand at one place

type _Standing = dict[int, dict[int, "Place"]]


@dataclass(frozen=True, slots=True)
class Place:
    """A thread of a conversation, and how a request stands to it: it goes on, or leaves it."""

    home: Conversation
    thread: Thread
    fit: Fit | None = None
    leaving: Leaving | None = None


class Known:
    """Conversations by what they end with."""

    def __init__(self, front: Role) -> None:
        self.front = front
        self.all: list[Conversation] = []
        self._lines = Lines()
        self._keyed: dict[str, list[Conversation]] = {}
        self._begun: dict[tuple[str, str] | None, list[Conversation]] = {}
        self._traced: dict[str, Conversation] = {}
        self._answers: dict[str, tuple[Place, float]] = {}
        self._asked: _Standing = {}
        self._replied: _Standing = {}
        self._failed: _Standing = {}
        self._tails: _Standing = {}
        self._line: tuple[tuple[Message, ...], int] = (), 0  # the last request's number
        self._stands: dict[int, list[tuple[_Standing, int]]] = {}

    def add(self, conversation: Conversation) -> None:
        """Take in a conversation that was opened."""
        self.all.append(conversation)
        if conversation.key:
            self._keyed.setdefault(conversation.key, []).append(conversation)

    def learn(self, home: Conversation, thread: Thread, one: Seen) -> None:
        """Note what a thread ends with now that a turn was added."""
        begins = opening(one.messages)
        alike = self._begun.setdefault(begins, [])
        if not (alike and alike[-1] is home):
            alike.append(home)
        if one.trace_id:
            self._traced[one.trace_id] = home
        if one.turn and one.turn.response_id:
            self._answers[one.turn.response_id] = Place(home, thread), one.start
        self._stand(Place(home, thread))

    def _stand(self, place: Place) -> None:
        thread = place.thread
        number = id(thread)
        for table, key in self._stands.pop(number, ()):
            standing = table.get(key, {})
            standing.pop(number, None)
            if not standing:
                table.pop(key, None)
        stands = self._stands[number] = []
        for table, key in self._ends(thread):
            table.setdefault(key, {})[number] = place
            stands.append((table, key))

    def _ends(self, thread: Thread) -> Iterator[tuple[_Standing, int]]:
        asked = self._last(thread.asked)
        yield self._asked, asked
        if thread.failed:
            yield self._failed, asked
        if thread.reply:
            said = mark(thread.reply)
            yield self._replied, self._lines.behind(asked, said)
            yield self._tails, said
            words = [m for m in (*thread.asked, thread.reply) if m.role != "tool" and not m.calls]
            if words[-1:] == [thread.reply] and len(words) <= len(thread.asked):
                yield self._replied, self._last(tuple(words))

    def _last(self, messages: tuple[Message, ...]) -> int:
        if messages == self._line[0]:
            return self._line[1]
        return self._lines.line(messages)[-1] if messages else 0

    def continued(self, one: Seen) -> Place | None:
        """Say which conversation a request goes on from, or leaves, and where; None for none of them."""
        parent = self._answers.get(one.turn.parent_id) if one.turn and one.turn.parent_id else None
        if parent:
            return _behind(*parent, one)
        if one.key:
            return self._keyed_place(self._keyed.get(one.key, ()), one)
        if one.onward:
            return self._traced_place(one)
        found = self._standing(one) or self._compared(one) or self._standing(one, keyed=True)
        return found or self._cut(one) or self._compacted(one) or self._traced_place(one)

    def _traced_place(self, one: Seen) -> Place | None:
        home = self._traced.get(one.trace_id) if one.trace_id and (one.part or not one.key) else None
        return Place(home, Thread()) if home and not home.key else None

    def _keyed_place(self, homes: Sequence[Conversation], one: Seen) -> Place | None:
        """Choose among a conversation and its branches. An id that is new may come late: spans, which
        are sent afterwards, name conversations that were seen on the wire without it."""
        if one.onward and homes:
            return Place(homes[-1], Thread())
        found = _longest(homes, one) or _left(homes, one) or _tailed(_places(homes), one)
        return found or (Place(homes[-1], Thread()) if homes else self._traced_place(one))

    def _standing(self, one: Seen, keyed: bool = False) -> Place | None:
        """Find the thread with the longest history that this one's begins with, among those that an id
        names, or the others: a client may stop to bear an id."""
        messages = one.messages
        lines = self._lines.line(messages)
        if not lines:
            return None
        self._line = messages, lines[-1]
        again = self._asked if one.retried or one.begun else self._failed
        found = _fitting(again.get(lines[-1]), one, keyed)
        if found:
            return found
        for place in range(len(lines) - 1, -1, -1):
            tables = (self._asked, self._replied) if place < len(lines) - 1 else (self._replied,)
            for table in tables:
                found = _fitting(table.get(lines[place]), one, keyed)
                if found:
                    return found
        return None

    def _compared(self, one: Seen) -> Place | None:
        """Compare message by message with what began alike: clients edit what they send again."""
        if not any(message.role == "assistant" for message in one.messages):
            return None
        near = [c for c in self._begun.get(opening(one.messages), ())[-_MOST:] if not c.key]
        return _longest(near, one) or _left(near, one)

    def _cut(self, one: Seen) -> Place | None:
        """Find the thread whose end a history holds that begins otherwise."""
        for message in reversed(one.messages):
            if message.role == "assistant":
                near = self._tails.get(mark(message), {})
                return _tailed(islice(reversed(near.values()), _NEAR), one)
        return None

    def _compacted(self, one: Seen) -> Place | None:
        """Find the conversation whose user's words a vendor's summary left standing, which alone tie it."""
        if not (one.turn and one.turn.compacted and len(one.messages) > 1):
            return None
        old = set(map(mark, one.messages[:-1]))
        near = reversed(self._begun.get(opening(one.messages), ())[-_MOST:])
        home = next((c for c in near if not c.key and old <= c.known(self.front)), None)
        return Place(home, Thread()) if home else None


def _behind(parent: Place, answered: float, one: Seen) -> Place:
    """Say how a request stands to the answer that it names: behind it, or beside what came behind it."""
    thread, turn = parent.thread, one.turn
    assert turn is not None
    after = next((i for i, asking in enumerate(thread.log) if asking.made_at > answered), None)
    if after is None:
        return Place(parent.home, thread, Fit(0, EXACT, 0, segment="compacted" if turn.compacted else None))
    if thread.parent == turn.parent_id and thread.is_tried_again(one.messages, one.retried):
        return Place(parent.home, thread, Fit(0, EXACT, 0, again=True))
    return Place(parent.home, thread, leaving=Leaving(0, after))


def _fitting(standing: dict[int, Place] | None, one: Seen, keyed: bool) -> Place | None:
    """Choose among threads that stand at one place: the newest that fits best."""
    best: Place | None = None
    for place in islice(reversed((standing or {}).values()), _NEAR):
        if bool(place.home.key) is not keyed:
            continue
        fit = _fit(place, one)
        if fit and (best is None or best.fit is None or fit > best.fit):
            best = Place(place.home, place.thread, fit)
        if best and best.fit and best.fit.quality == EXACT:
            break
    return best


def _places(homes: Iterable[Conversation]) -> list[Place]:
    """Give the threads of some conversations, the newest first."""
    return [
        Place(c, thread) for c in reversed(list(homes)) for thread in reversed(c.threads.get(c.front, []))
    ]


def _fit(place: Place, one: Seen) -> Fit | None:
    return place.thread.fit(one.messages, one.retried, one.begun)


def _longest(homes: Iterable[Conversation], one: Seen) -> Place | None:
    fits = [(fit, place) for place in _places(homes) if (fit := _fit(place, one))]
    found = max(fits, key=lambda pair: pair[0], default=None)
    return Place(found[1].home, found[1].thread, found[0]) if found else None


def _left(homes: Iterable[Conversation], one: Seen) -> Place | None:
    left = [(leaving, place) for place in _places(homes) if (leaving := place.thread.leaves(one.messages))]
    found = max(left, key=lambda pair: pair[0].shared, default=None)
    return Place(found[1].home, found[1].thread, leaving=found[0]) if found else None


def _tailed(places: Iterable[Place], one: Seen) -> Place | None:
    compacted = bool(one.turn and one.turn.compacted)
    fits = [(fit, place) for place in places if (fit := place.thread.tail(one.messages, compacted))]
    found = max(fits, key=lambda pair: pair[0].shared, default=None)
    return Place(found[1].home, found[1].thread, found[0]) if found else None
