"""Which exchanges belong to one conversation.

The front is the agent channel where it speaks, else the model's. A front request joins by an
explicit id (`x-abs-session`, a session the protocol names), else by the longest common history, else
by trace id (W3C traceparent), else it opens a conversation. What runs behind an agent joins the
conversation whose id it bears, within whose exchange it ran, whose thread it continues, or whose
words it carries, in that order, each rule choosing among what those before it left.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from abs_replay.decoders import Decoded, Message, Turn
from abs_replay.exchange import Exchange, Role, header
from abs_replay.pairing import Use, agreement
from abs_replay.threads import Thread, best, spoken


@dataclass(frozen=True, slots=True)
class Seen:
    """An exchange with what it says. Times are ms since the epoch; `end` is when its answer was there."""

    exchange: Exchange
    decoded: Decoded
    start: float
    end: float

    @property
    def turn(self) -> Turn | None:
        return self.decoded.turn

    @property
    def messages(self) -> tuple[Message, ...]:
        return spoken(self.turn.history) if self.turn else ()

    @property
    def key(self) -> str | None:
        """The id that names its conversation outright."""
        own = self.decoded.session if self.turn else None
        return header(self.exchange.request.headers, "x-abs-session") or own

    @property
    def trace_id(self) -> str | None:
        """The trace id of https://www.w3.org/TR/trace-context/#traceparent-header."""
        parts = (header(self.exchange.request.headers, "traceparent") or "").split("-")
        return parts[1] if len(parts) >= 4 and parts[1].strip("0") else None

    @property
    def retried(self) -> bool:
        """Whether the client says that it tried before (OpenAI's and Anthropic's SDKs do)."""
        count = header(self.exchange.request.headers, "x-stainless-retry-count") or "0"
        return count.isdigit() and int(count) > 0

    @property
    def uses(self) -> tuple[Use, ...]:
        plain = self.decoded.protocol == "rest"
        return tuple(Use(use, self.exchange.channel.name, plain) for use in self.decoded.uses)


def seen(exchange: Exchange, decoded: Decoded) -> Seen:
    """Date an exchange: its answer ends with its last chunk; clients may hold connections longer."""
    start = exchange.started_at * 1000
    chunks = exchange.response.body.chunks if exchange.response else ()
    took = chunks[-1].at_ms if chunks else exchange.ended_ms or 0.0
    return Seen(exchange, decoded, start, start + max(took, 0.0))


@dataclass(frozen=True, slots=True)
class Placed:
    """A turn in its conversation: what of its history is new, and whether it tries again what failed.

    `echoes` are the messages that repeat the reply before, as the client edited it.
    `thread` numbers the conversation's threads of that role; `opens` where it is the thread's first.
    """

    seen: Seen
    thread: int
    echoes: tuple[Message, ...]
    fresh: tuple[Message, ...]
    retry: bool
    opens: bool


@dataclass(slots=True)
class Conversation:
    """The exchanges of one conversation, in time order."""

    key: str | None
    front: Role
    turns: list[Placed] = field(default_factory=list)
    uses: list[Seen] = field(default_factory=list)
    threads: dict[Role, list[Thread]] = field(default_factory=dict)
    trace_ids: set[str] = field(default_factory=set)
    sessions: set[str] = field(default_factory=set)

    @property
    def members(self) -> list[Seen]:
        return sorted([*(turn.seen for turn in self.turns), *self.uses], key=_order)

    def place(self, seen: Seen) -> None:
        """Add a turn to the thread that it continues."""
        role = seen.exchange.channel.role
        threads = self.threads.setdefault(role, [])
        thread = self._thread(threads, role, seen)
        opens = thread is None
        if thread is None:
            threads.append(thread := Thread())
        retry = thread.failed or seen.retried
        retry = (
            retry and len(seen.messages) == len(thread.asked) and thread.fits(seen.messages, True) is not None
        )
        echoes = thread.echoes(seen.messages) if thread.fits(seen.messages) else ()
        fresh = thread.fresh(seen.messages, retry)
        number = next(i for i, one in enumerate(threads) if one is thread)
        self.turns.append(Placed(seen, number, echoes, fresh, retry, opens))
        turn = seen.turn
        thread.advance(seen.messages, turn.reply if turn else None, bool(turn and turn.error))
        self._note(seen)

    def _thread(self, threads: list[Thread], role: Role, seen: Seen) -> Thread | None:
        found = best(threads, seen.messages, seen.retried)
        if found:
            return found[0]
        # An agent that keeps the history itself is sent the new words only.
        return threads[-1] if threads and role is Role.AGENT else None

    def use(self, seen: Seen) -> None:
        """Add an exchange of a tool channel."""
        if seen.uses:
            self.uses.append(seen)
        self._note(seen)

    def _note(self, seen: Seen) -> None:
        if seen.trace_id:
            self.trace_ids.add(seen.trace_id)
        if seen.decoded.session and not seen.turn:
            self.sessions.add(seen.decoded.session)

    def before(self, moment: float) -> float:
        """Give when the last turn began that began before a moment."""
        return max((t.seen.start for t in self.turns if t.seen.start <= moment), default=float("-inf"))


def _order(seen: Seen) -> tuple[float, str]:
    return seen.start, seen.exchange.id


def group(everything: Iterable[Seen]) -> list[Conversation]:
    """Sort exchanges into conversations; those that say nothing are left out."""
    ordered = sorted(everything, key=_order)
    by_role = {role: [s for s in ordered if s.turn and s.exchange.channel.role is role] for role in Role}
    front = Role.AGENT if by_role[Role.AGENT] else Role.LLM
    found: list[Conversation] = []
    for one in by_role[front]:
        _join(found, one, front)
    agents = list(found)
    for one in by_role[Role.LLM] if front is Role.AGENT else ():
        home = _home_of_turn(agents, one)
        if home:
            home.place(one)
        else:
            _join([c for c in found if c.front is Role.LLM], one, Role.LLM, found)
    for one in (s for s in ordered if not s.turn and s.decoded.protocol):
        _place_use(found, one)
    return [conversation for conversation in found if conversation.members]


def _join(
    candidates: list[Conversation], one: Seen, front: Role, all_: list[Conversation] | None = None
) -> None:
    """Put a front turn into the conversation that it continues, or a new one."""
    home = _continued(candidates, one)
    if home is None:
        home = Conversation(one.key, front)
        (candidates if all_ is None else all_).append(home)
    home.place(one)


def _continued(candidates: Sequence[Conversation], one: Seen) -> Conversation | None:
    if one.key:
        return next((c for c in candidates if c.key == one.key), None)
    unnamed = [c for c in candidates if not c.key]
    role = one.exchange.channel.role
    by_history = _longest(unnamed, one, role)
    if by_history:
        return by_history
    return next((c for c in reversed(unnamed) if one.trace_id in c.trace_ids), None)


def _longest(candidates: Sequence[Conversation], one: Seen, role: Role) -> Conversation | None:
    """Give the conversation with the longest common history, the newest among equals."""
    fits = [
        (c, found[1])
        for c in candidates
        if (found := best(c.threads.get(role, []), one.messages, one.retried))
    ]
    return max(reversed(fits), key=lambda pair: pair[1])[0] if fits else None


type _Test = Callable[[Conversation], float]


def _narrow(pool: list[Conversation], *tests: _Test) -> tuple[list[Conversation], bool]:
    """Keep, test by test, those that score best; a test that none passes changes nothing."""
    told = False
    for test in tests:
        if told and len(pool) == 1:
            break
        scores = [test(conversation) for conversation in pool]
        highest = max(scores, default=0.0)
        if highest > 0:
            told = True
            pool = [c for c, score in zip(pool, scores, strict=True) if score == highest]
    return pool, told


def _open_to(found: Iterable[Conversation], one: Seen) -> list[Conversation]:
    """Give the conversations that an explicit id does not rule out."""
    return [c for c in found if not (one.key and c.key) or c.key == one.key]


def _home_of_turn(agents: Sequence[Conversation], one: Seen) -> Conversation | None:
    pool, told = _narrow(
        _open_to(agents, one),
        lambda c: bool(one.key and c.key == one.key),
        lambda c: one.trace_id in c.trace_ids,
        lambda c: _running(c, one),
        lambda c: _thread_fit(c, one),
        lambda c: _shared_words(c, one),
    )
    return max(pool, key=lambda c: c.before(one.start)) if told else None


def _running(conversation: Conversation, one: Seen) -> bool:
    """Say whether an exchange of the front was open when this one began."""
    return any(
        turn.seen.exchange.channel.role is conversation.front
        and turn.seen.start <= one.start <= turn.seen.end
        for turn in conversation.turns
    )


def _thread_fit(conversation: Conversation, one: Seen) -> float:
    found = best(conversation.threads.get(Role.LLM, []), one.messages, one.retried)
    return found[1][0] + found[1][1] / 10 if found else 0.0


def _shared_words(conversation: Conversation, one: Seen) -> float:
    """Give how much of the user's last words a model's request carries; being them is best."""
    asked = [turn.seen.messages for turn in conversation.turns if turn.seen.start <= one.start]
    said = next((text for text in _user_texts(asked[-1] if asked else ())), "")
    theirs = list(_user_texts(one.messages))
    if said and theirs and theirs[0] == said:
        return 1e9
    # One word alone ("yes") may stand in any prompt.
    return float(len(said)) if " " in said and any(said in text for text in theirs) else 0.0


def _user_texts(messages: Sequence[Message]) -> Iterator[str]:
    """Give a user's texts, the last one first."""
    for message in reversed(messages):
        if message.role == "user" and isinstance(message.content, str) and message.content.strip():
            yield message.content.strip()


def _place_use(found: list[Conversation], one: Seen) -> None:
    """Put an exchange of a tool channel where it belongs; it opens one only where no turns were seen."""
    pool, _ = _narrow(
        _open_to(found, one),
        lambda c: bool(one.key and c.key == one.key),
        lambda c: bool(c.trace_ids) and one.trace_id in c.trace_ids,
        lambda c: c.front is Role.AGENT and _running(c, one),
        lambda c: _carried_out(c, one),
        lambda c: one.decoded.session in c.sessions,
        lambda c: c.before(one.start) > float("-inf"),
    )
    if pool:
        max(pool, key=lambda c: c.before(one.start)).use(one)
    elif one.uses:
        found.append(Conversation(one.key, Role.TOOL))
        found[-1].use(one)


def _carried_out(conversation: Conversation, one: Seen) -> float:
    """Give how surely this carried out a call that the conversation had made by then."""
    calls = [
        call
        for placed in conversation.turns
        if placed.seen.start <= one.start and placed.seen.turn and placed.seen.turn.reply
        for call in placed.seen.turn.reply.calls
    ]
    return max((agreement(call, use)[0] for call in calls for use in one.uses), default=0)
