"""A conversation as its exchanges show it: its turns, each in the thread it continues, and tool uses."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Final

from abs_replay.assembly.pool import Aside
from abs_replay.assembly.sightings import Seen, by_time
from abs_replay.assembly.threads import Fit, Leaving, Thread, best, mark, opening
from abs_replay.decoders import Call, Message
from abs_replay.exchange import Role

_MOST_WORDS: Final = 21  # a user's texts that are looked for in a prompt


@dataclass(frozen=True, slots=True)
class Placed:
    """A turn in its conversation: what of its history is new, and whether it tries again what failed.

    What is `fresh` starts at `start`; the `echoed` messages before are `echoes`, which repeat the reply
    before, as the client edited it; `repeated` counts those that repeat what was said before that. `thread`
    numbers the conversation's threads of that role; `opens` where it is the thread's first. `resumed`,
    `segment` and `prelude` are those of `Fit`.
    """

    seen: Seen
    thread: int
    start: int
    echoed: int
    retry: bool
    opens: bool
    segment: str | None = None
    prelude: tuple[Message, ...] = ()
    repeated: int = 0
    resumed: bool = False

    @property
    def fresh(self) -> tuple[Message, ...]:
        return self.seen.line.between(self.start)

    @property
    def echoes(self) -> tuple[Message, ...]:
        return self.seen.line.between(self.start - self.echoed, self.start) if self.echoed else ()

    @property
    def asides(self) -> tuple[Aside, ...]:
        """What stands between the new messages, each with how many of them stand before it; where there
        are asides before them, their number is 0 or less."""
        return tuple((place - self.start, message) for place, message in self.seen.asides)


@dataclass(slots=True, eq=False)
class Conversation:
    """The exchanges of one conversation, in time order.

    A branch has those of its `parent` that began before `left_at`, and its own.
    """

    key: str | None
    front: Role
    turns: list[Placed] = field(default_factory=list)
    uses: list[Seen] = field(default_factory=list)
    threads: dict[Role, list[Thread]] = field(default_factory=dict)
    trace_ids: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)
    openings: set[tuple[str, str] | None] = field(default_factory=set)
    front_start: float = float("inf")
    front_end: float = float("-inf")
    called_until: float = float("-inf")  # when the last call ended that is known to be of it
    unasked: dict[str, str] = field(default_factory=dict)  # why a call that no model made is of it
    _fronts: list[Seen] = field(default_factory=list)
    # Turns are placed in time order, the front's before those behind it.
    _front_starts: list[float] = field(default_factory=list)
    _hidden_starts: list[float] = field(default_factory=list)
    _calls: dict[tuple[Role, int], tuple[list[float], list[tuple[Call, ...]]]] = field(default_factory=dict)
    _asked: tuple[int, tuple[str, ...]] = 0, ()  # by which of the fronts, which many turns run behind
    _known: dict[Role, set[int]] = field(default_factory=dict)  # made when it is asked for first
    _began: tuple[Message, ...] = ()  # what a branch begins with
    parent: "Conversation | None" = None
    left_at: float = 0.0

    def branch(self, thread: Thread, leaving: Leaving) -> tuple["Conversation", Thread, Fit]:
        """Make the conversation that leaves this one at a request of a thread, and how it goes on."""
        asking = thread.log[leaving.number]
        made = Conversation(self.key, self.front, parent=self, left_at=asking.made_at)
        made.trace_ids, made.openings = set(self.trace_ids), set(self.openings)
        line = Thread(thread.asked[: asking.start], log=thread.log[: leaving.number])
        made.threads[self.front] = [line]
        made._began = line.asked
        return made, line, Fit(leaving.shared, 0, asking.start)

    @property
    def all_turns(self) -> list[Placed]:
        if self.parent is None:
            return self.turns
        return [*(t for t in self.parent.all_turns if t.seen.start < self.left_at), *self.turns]

    @property
    def all_uses(self) -> list[Seen]:
        if self.parent is None:
            return self.uses
        return [*(use for use in self.parent.all_uses if use.start < self.left_at), *self.uses]

    @property
    def members(self) -> list[Seen]:
        return sorted([*(turn.seen for turn in self.all_turns), *self.all_uses], key=by_time)

    def place(self, seen: Seen, thread: Thread | None = None, fit: Fit | None = None) -> Thread:
        """Add a turn to the thread that it continues, and give that."""
        role, messages = seen.role, seen.messages
        threads = self.threads.setdefault(role, [])
        if thread is None:
            found = None if seen.onward else best(threads, messages, seen.retried, seen.begun)
            thread, fit = found or self._unfitting(threads, seen)
        elif fit and fit.segment and thread.asked:
            # The old line stays, for whoever goes back to it.
            thread = replace(thread, log=[], shortened=fit.segment == "compacted")
            threads.append(thread)
        placed = _placed(seen, self._number(threads, thread), fit, opens=not thread.log)
        self.turns.append(placed)
        self.openings.add(opening(messages))
        self._advance(seen, thread, fit)
        reply = seen.turn.reply if seen.turn else None
        self._note_times(placed, reply)
        if role in self._known:
            self._known[role].update(_marks(placed))
        self.note(seen)
        return thread

    def known(self, role: Role) -> set[int]:
        """Give the marks of what was said by and to a role."""
        if role not in self._known and (self.turns or self._began):
            began = map(mark, self._began if role is self.front else ())
            placed = (turn for turn in self.turns if turn.seen.role is role)
            self._known[role] = set(chain(began, chain.from_iterable(map(_marks, placed))))
        return self._known.get(role, set())

    def _note_times(self, placed: Placed, reply: Message | None) -> None:
        seen = placed.seen
        if seen.role is self.front:
            self.front_start = min(self.front_start, seen.start)
            self.front_end = max(self.front_end, seen.end)
            self._fronts.append(seen)
            self._front_starts.append(seen.start)
        else:
            self._hidden_starts.append(seen.start)
        starts, calls = self._calls.setdefault((seen.role, placed.thread), ([], []))
        starts.append(seen.start)
        calls.append(reply.calls if reply else ())

    @staticmethod
    def _number(threads: list[Thread], thread: Thread) -> int:
        return next(i for i, one in enumerate(threads) if one is thread)

    def _advance(self, seen: Seen, thread: Thread, fit: Fit | None) -> None:
        turn, messages = seen.turn, seen.messages
        onward = seen.onward or bool(fit and fit.onward)
        if onward and not (fit and fit.again):
            messages = (*thread.asked, *([thread.reply] if thread.reply else []), *messages)
            fit = Fit(0, 0, len(messages) - len(seen.messages), segment=fit.segment if fit else None)
        elif onward:
            messages = thread.asked
        failed = bool(turn and turn.error and seen.may_pass)
        thread.advance(messages, turn.reply if turn else None, failed, fit, seen.start)
        thread.parent = turn.parent_id if turn else None

    def _unfitting(self, threads: list[Thread], seen: Seen) -> tuple[Thread, Fit | None]:
        """Give the thread of a turn that continues none: a new one, but where the other side keeps the
        history itself and is sent what is new alone, and how the turn stands to what was said."""
        compacted = "compacted" if seen.turn and seen.turn.compacted else None
        known = self.known(seen.role) if seen.role is self.front else None
        fit = _beyond(known, seen.messages) if known else None
        kept = seen.onward or _is_kept(seen, fit)
        if not threads or not (kept or seen.role is Role.AGENT):
            threads.append(Thread())
        thread = threads[-1]
        if fit is None:
            return thread, Fit(0, 0, 0, segment=compacted) if compacted else None
        if kept:
            again = thread.is_tried_again(seen.messages, seen.retried)
            return thread, Fit(0, 0, 0, again=again, segment=compacted, onward=True)
        return thread, replace(fit, segment=compacted or ("rewritten" if fit.shared else "separate"))

    def use(self, seen: Seen, unasked: str = "") -> None:
        """Add an exchange of a tool channel; `unasked` says why, where no model asked for it."""
        if seen.uses:
            self.uses.append(seen)
        if unasked:
            self.unasked[seen.exchange.id] = unasked
        elif seen.uses:
            self.called_until = max(self.called_until, seen.end)
        self.note(seen)

    def note(self, seen: Seen) -> None:
        """Learn the ids that an exchange bears."""
        if seen.trace_id:
            self.trace_ids.add(seen.trace_id)
        if seen.decoded.session and not seen.turn:
            self.sessions.add(seen.decoded.session)

    def before(self, moment: float) -> float:
        """Give when the last turn began that began before a moment."""
        return max(_last(self._hidden_starts, moment), _last(self._front_starts, moment))

    def since(self, one: Seen) -> float:
        """Give when the front asked last before an exchange began."""
        return _last(self._front_starts, one.start)

    def asked_by(self, one: Seen) -> tuple[str, ...]:
        """Give the user's last words to the front when an exchange began, the very last first."""
        place = bisect_right(self._front_starts, one.start)
        if place and self._asked[0] != place:
            said = user_texts(self._fronts[place - 1].messages)
            self._asked = place, tuple(islice(said, _MOST_WORDS))
        return self._asked[1] if place else ()

    def ran_behind(self, one: Seen) -> bool:
        """Say whether anything ran behind the front since it asked last before an exchange began."""
        return bool(self._hidden_starts) and self._hidden_starts[-1] >= self.since(one)

    def open_calls(self, moment: float) -> list[Call]:
        """Give the calls that wait for an answer at a moment: those of each thread's last turn."""
        found: list[Call] = []
        for starts, calls in self._calls.values():
            place = bisect_right(starts, moment)
            if place:
                found += calls[place - 1]
        return found


def user_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Give a user's texts, the last one first."""
    for message in reversed(messages):
        if message.role == "user" and isinstance(message.content, str) and (text := message.content.strip()):
            yield text


def _last(starts: list[float], moment: float) -> float:
    place = bisect_right(starts, moment)
    return starts[place - 1] if place else float("-inf")


def _is_kept(seen: Seen, fit: Fit | None) -> bool:
    """Say whether the other side keeps the history: an agent that is sent words alone, a model whose API
    has conversations (https://platform.openai.com/docs/guides/conversation-state) and is sent nothing that
    is known, and whoever is told what a tool answered without the call."""
    if any(message.role == "assistant" for message in seen.messages):
        return False
    if seen.role is Role.AGENT or (seen.messages[:1] and seen.messages[0].role == "tool"):
        return True
    return bool(seen.decoded.session) and fit is not None and not fit.shared


def _beyond(known: set[int], messages: tuple[Message, ...]) -> Fit:
    """Say what is new where messages do not fit: what stands behind the last that was said before.

    `shared` counts those that were. The last message is news in any case: nobody asks without any.
    """
    old = [index for index, message in enumerate(messages[:-1]) if mark(message) in known]
    start = max(old) + 1 if old else 0
    prelude = tuple(m for index, m in enumerate(messages[:start]) if index not in old)
    return Fit(len(old), 0, start, prelude=prelude)


def _marks(placed: Placed) -> Iterator[int]:
    """Give the marks of what a turn told, and of its reply."""
    reply = placed.seen.turn.reply if placed.seen.turn else None
    return map(mark, (*placed.prelude, *placed.echoes, *placed.fresh, *([reply] if reply else [])))


def _placed(seen: Seen, number: int, fit: Fit | None, opens: bool) -> Placed:
    if fit is None:
        return Placed(seen, number, 0, 0, False, opens)
    if seen.onward or fit.onward:
        start = seen.line.length if fit.again else 0
        return Placed(seen, number, start, 0, fit.again, opens, fit.segment)
    repeated = fit.start - len(fit.echoes) - len(fit.prelude)
    return Placed(
        seen,
        number,
        fit.start,
        len(fit.echoes),
        fit.again,
        opens,
        fit.segment,
        fit.prelude,
        repeated,
        fit.resumed,
    )
