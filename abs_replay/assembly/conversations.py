"""A conversation as its exchanges show it: its turns, each in the thread it continues, and tool uses."""

from dataclasses import dataclass, field

from abs_replay.assembly.pairing import Use
from abs_replay.assembly.threads import Thread, best, opening, spoken
from abs_replay.decoders import Call, Decoded, Message, Turn
from abs_replay.exchange import Exchange, Headers, Role, header


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """An exchange with what it says. Times are ms since the epoch; `end` is when its answer was there.

    `key` is the id that names its conversation outright; `retried` whether its client says that it
    tried before.
    """

    exchange: Exchange
    decoded: Decoded
    start: float
    end: float
    messages: tuple[Message, ...]
    uses: tuple[Use, ...]
    key: str | None
    trace_id: str | None
    retried: bool

    @property
    def turn(self) -> Turn | None:
        return self.decoded.turn

    @property
    def role(self) -> Role:
        return self.exchange.channel.role

    @property
    def may_pass(self) -> bool:
        """Whether a failure of this may pass, so that the same again is another try (429, 5xx, no answer)."""
        response = self.exchange.response
        if response is None or self.decoded.complete is False:
            return True
        return response.status in (408, 425, 429) or response.status >= 500


def seen(exchange: Exchange, decoded: Decoded) -> Seen:
    """Read and date an exchange: its answer ends with its last chunk, whenever the connection does."""
    start = exchange.started_at * 1000
    chunks = exchange.response.body.chunks if exchange.response else ()
    took = chunks[-1].at_ms if chunks else exchange.ended_ms or 0.0
    turn, channel = decoded.turn, exchange.channel
    plain = decoded.protocol == "rest"
    headers = exchange.request.headers
    return Seen(
        exchange,
        decoded,
        start,
        start + max(took, 0.0),
        messages=spoken(turn.history) if turn else (),
        uses=tuple(Use(use, channel.name, plain) for use in decoded.uses),
        key=header(headers, "x-abs-session") or (decoded.session if turn else None),
        trace_id=_trace_id(headers),
        # OpenAI's and Anthropic's SDKs count their attempts in this header.
        retried=(header(headers, "x-stainless-retry-count") or "0") not in ("0", ""),
    )


def by_time(seen: Seen) -> tuple[float, str]:
    """Order exchanges by when they began."""
    return seen.start, seen.exchange.id


def _trace_id(headers: Headers) -> str | None:
    """Give the trace id of https://www.w3.org/TR/trace-context/#traceparent-header."""
    parts = (header(headers, "traceparent") or "").split("-")
    return parts[1] if len(parts) >= 4 and parts[1].strip("0") else None


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
    openings: set[tuple[str, str] | None] = field(default_factory=set)
    front_start: float = float("inf")
    front_end: float = float("-inf")

    @property
    def members(self) -> list[Seen]:
        return sorted([*(turn.seen for turn in self.turns), *self.uses], key=by_time)

    def place(self, seen: Seen) -> None:
        """Add a turn to the thread that it continues."""
        role, messages = seen.role, seen.messages
        threads = self.threads.setdefault(role, [])
        found = best(threads, messages, seen.retried)
        thread = found[0] if found else self._unfitting(threads, role)
        fit = found[1] if found else None
        fresh = messages[fit.start :] if fit else thread.beyond(messages)
        retry = fit is not None and fit.again
        number = next(i for i, one in enumerate(threads) if one is thread)
        opens = not thread.asked
        self.turns.append(Placed(seen, number, fit.echoes if fit else (), fresh, retry, opens))
        self.openings.add(opening(messages))
        if role is self.front:
            self.front_start = min(self.front_start, seen.start)
            self.front_end = max(self.front_end, seen.end)
        turn = seen.turn
        thread.advance(messages, turn.reply if turn else None, bool(turn and turn.error and seen.may_pass))
        self._note(seen)

    def _unfitting(self, threads: list[Thread], role: Role) -> Thread:
        """Give the thread of a turn that continues none: a new one, but for an agent that keeps the
        history itself and is sent the new words alone."""
        if not threads or role is not Role.AGENT:
            threads.append(Thread())
        return threads[-1]

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

    def _fronts(self, moment: float) -> list[Seen]:
        """Give the front's exchanges that began before a moment."""
        return [t.seen for t in self.turns if t.seen.role is self.front and t.seen.start <= moment]

    def asked_by(self, one: Seen) -> tuple[Message, ...]:
        """Give what the front had asked last when an exchange began."""
        fronts = self._fronts(one.start)
        return max(fronts, key=by_time).messages if fronts else ()

    def since(self, one: Seen) -> float:
        """Give when the front asked last before an exchange began."""
        return max((seen.start for seen in self._fronts(one.start)), default=float("-inf"))

    def open_calls(self, moment: float) -> list[Call]:
        """Give the calls that wait for an answer at a moment: those of each thread's last turn."""
        found: dict[tuple[Role, int], tuple[Call, ...]] = {}
        threads = sum(map(len, self.threads.values()))
        for placed in reversed(self.turns):
            key = placed.seen.role, placed.thread
            if placed.seen.start <= moment and key not in found:
                reply = placed.seen.turn.reply if placed.seen.turn else None
                found[key] = reply.calls if reply else ()
            if len(found) == threads:
                break
        return [call for calls in found.values() for call in calls]
