"""Steps in the making, and the order in which a conversation's turns are told."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from abs_replay.assembly.conversations import Conversation, Placed
from abs_replay.decoders import Call
from abs_replay.exact_json import Json
from abs_replay.trace import Source, Usage, Visibility


@dataclass(frozen=True, slots=True)
class Note:
    """Why a step stands as it does: an exchange, the place in it, and what that shows.

    `kind` is `shown` (it is what the step tells), `merged` (it shows the same once more, and is a source
    too), `echo` (a later request repeats it) or `retry` (an attempt that was dropped).
    """

    kind: str
    exchange: str
    at: str
    text: str


@dataclass(slots=True, eq=False)
class Draft:
    """A step in the making; times are ms since the epoch. `began` is when what it reports began."""

    actor: str
    action: str
    time: float
    target: str | None = None
    content: Json = None
    arguments: Json = None
    call_id: str | None = None
    began: float | None = None
    visibility: Visibility = Visibility.USER
    group: str | None = None
    notes: list[Note] = field(default_factory=list)
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    retries: int = 0
    segment: str | None = None

    @property
    def sources(self) -> tuple[Source, ...]:
        """What shows this, each place once."""
        shown = (Source(note.exchange, note.at) for note in self.notes if note.kind in ("shown", "merged"))
        return tuple(dict.fromkeys(shown))

    def show(self, sources: Iterable[Source], text: str) -> None:
        """Note what shows this: what is noted first is what is told, the others show it once more."""
        for source in sources:
            kind = "merged" if any(note.kind in ("shown", "merged") for note in self.notes) else "shown"
            self.notes.append(Note(kind, source.exchange, source.at, text))


@dataclass(slots=True, eq=False)
class Asked:
    """A call with its drafts. It could be carried out from `since` on, until it was `told` about.

    `ids` are all that it goes by: clients make up ids when they repeat a call. `cut` where the client left
    it out of what it repeats.
    """

    call: Call
    draft: Draft
    since: float
    told: float | None = None
    response: Draft | None = None
    shown: bool = False  # by the front
    cut: bool = False
    ids: set[str] = field(default_factory=set)

    def goes_by(self, call_id: str | None) -> bool:
        return call_id is not None and (call_id == self.call.call_id or call_id in self.ids)


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """When to tell which part of a turn."""

    time: float
    placed: Placed
    reply: bool = False


def moments(conversation: Conversation) -> Iterator[Moment]:
    """Give the order of telling: a front's reply comes after all that ran within its exchange, and
    before the next request of its thread, even where the connection was closed later than that."""
    waiting: list[Moment] = []
    for placed in sorted(conversation.all_turns, key=lambda turn: turn.seen.start):
        start, front = placed.seen.start, placed.seen.role is conversation.front
        ready = [m for m in waiting if m.time < start or (front and _precedes(m, placed))]
        waiting = [moment for moment in waiting if moment not in ready]
        for moment in sorted(ready, key=lambda moment: moment.time):
            yield Moment(min(moment.time, start), moment.placed, moment.reply)
        yield Moment(start, placed)
        if front:
            waiting.append(Moment(placed.seen.end, placed, reply=True))
    yield from sorted(waiting, key=lambda moment: moment.time)


def _precedes(moment: Moment, placed: Placed) -> bool:
    return moment.time <= placed.seen.start or moment.placed.thread == placed.thread
