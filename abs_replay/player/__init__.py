"""A cassette being played: each request gets the recorded exchange that answers it, or a miss.

Play state is kept per scope (a test, an MCP session, or the whole server): within a scope each recorded
exchange answers once, the same request in recorded order. State is all this module has; no I/O, no clock.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from abs_replay.cassette import Cassette
from abs_replay.exchange import Channel, Exchange, Outcome, Request, header
from abs_replay.matching import Candidate, Group, Index, Match, credential
from abs_replay.matching.canonical import Canonical
from abs_replay.matching.echo import SESSION_HEADER, call_ids, follow, with_session
from abs_replay.matching.renaming import CLOCKS, Bindings, Pair
from abs_replay.player.dialogue import Dialogue
from abs_replay.player.missing import Missing
from abs_replay.player.results import KEPT_MISSES, How, Miss, Played, Reason, Summary
from abs_replay.player.streams import LAST_EVENT, Cause, Streams
from abs_replay.spec.ignoring import Ignore

__all__ = ["KEPT_MISSES", "How", "Miss", "Played", "Player", "Reason", "Summary", "refused_channels"]


@dataclass(slots=True)
class _Scope:
    used: set[int] = field(default_factory=set)
    bindings: Bindings = field(default_factory=Bindings)
    verbatim: set[Group] = field(default_factory=set)  # asked as they were recorded
    calls: dict[int, tuple[object, ...]] = field(default_factory=dict)  # the ids that calls had

    def admits(self, pairs: Iterable[Pair], known: Callable[[str], bool]) -> bool:
        """Say whether this renaming agrees with all that was played: what stood for itself still does."""
        renamed = [then for kind, then, now in pairs if then != now and kind not in CLOCKS]
        itself = any(
            then in of.form.target or then in of.form.body for of in self.verbatim for then in renamed
        )
        return not itself and self.bindings.admit(pairs, known)


def refused_channels(exchanges: Iterable[Exchange]) -> frozenset[Channel]:
    """Channels on which every connection was refused: nobody listened there, and nobody will."""
    outcomes: dict[Channel, set[Outcome]] = {}
    for exchange in exchanges:
        outcomes.setdefault(exchange.channel, set()).add(exchange.outcome)
    return frozenset(channel for channel, seen in outcomes.items() if seen == {Outcome.REFUSED})


class Player:
    """Answers requests from a cassette."""

    def __init__(
        self,
        cassette: Cassette,
        match: Match = Match.CANONICAL,
        ignore: Sequence[Ignore] = (),
        missing: type[Missing] = Missing,
    ) -> None:
        self.cassette = cassette
        self._exchanges = cassette.exchanges
        self._match, self._ignore = match, tuple(ignore)
        self._index = Index(cassette.exchanges, ignore)
        self._missing = missing(self._index, cassette.exchanges, match, ignore)
        self._recorded_sessions = {session for session in map(_session, self._exchanges) if session}
        self._streams = Streams(cassette.exchanges)
        self._scopes: dict[str, _Scope] = {}
        self._sessions: dict[str, str] = {}  # session as handed out -> as recorded
        self._played: set[int] = set()
        self._missed = 0
        self._misses: list[Miss] = []

    def reset(self) -> None:
        """Begin again: no scope has played anything. What was used and missed so far stays counted."""
        self._scopes.clear()
        self._sessions.clear()

    def play(self, request: Request, channel: Channel, scope: str = "") -> Played | Miss:
        """Answer one request of a channel, in a scope."""
        result = self._play(request, channel, scope)
        if isinstance(result, Played) and result.exchange.websocket is not None:
            return self._miss(self._missing.websocket(request, channel, result.number))
        return result

    def open(self, request: Request, channel: Channel, scope: str = "") -> Played | Miss:
        """Answer one request for a WebSocket; what is played may be one, or what else was answered."""
        return self._play(request, channel, scope)

    def dialogue(self, played: Played) -> Dialogue:
        """Begin a WebSocket that was opened."""
        assert played.exchange.websocket is not None
        return Dialogue(played.exchange.websocket, played.exchange.channel, self._ignore)

    def miss_message(self, played: Played, request: Request, dialogue: Dialogue, said: bytes) -> Miss:
        """Count a client's message on a WebSocket that is not what the dialogue awaits."""
        awaited = dialogue.awaited
        recorded = None if awaited is None else awaited.data
        return self._miss(self._missing.message(played, request, recorded, said))

    def _play(self, request: Request, channel: Channel, scope: str) -> Played | Miss:
        state = self._scopes.get(scope)
        if state is None:
            state = self._scopes[scope] = _Scope()
        event = header(request.headers, LAST_EVENT) if request.method == "GET" else None
        if event is not None and not self._streams.is_recorded(channel, event):
            resumed = self._resume(request, channel, event, state)
            if resumed is not None:
                return resumed
        group, form = self._index.same_bytes(request, channel), None
        if group is None:
            form = self._index.form(request, channel)
            group = self._index.same_form(form, channel)
        if group is not None:
            number = self._next(group, request, state)
            if number is None:
                return self._miss(self._missing.used_up(group, request, channel))
            state.verbatim.add(group)
            how = How.SAME_BYTES if form is None else How.SAME_MEANING
            return self._take(number, Candidate(group), request, state, how)
        assert form is not None
        return self._play_alike(request, channel, form, state)

    def waits_for(self, number: int) -> tuple[Cause, ...]:
        """What an exchange's answer comes after; see `was_asked`."""
        return self._streams.causes.get(number, ())

    def was_asked(self, number: int, scope: str = "") -> bool:
        """Say whether an exchange was played in a scope."""
        return scope in self._scopes and number in self._scopes[scope].used

    def give_back(self, played: Played, scope: str = "") -> None:
        """Let an exchange answer once more in its scope: its answer did not arrive as it was recorded."""
        self._scopes[scope].used.discard(played.number)

    def spare(self, miss: Miss) -> None:
        """Let a miss not count: it is answered elsewhere."""
        self._missed -= 1
        self._misses = [kept for kept in self._misses if kept is not miss]

    def unreadable(self, channel: Channel) -> Miss:
        """Count what came on a channel and was no request."""
        return self._miss(Miss(Reason.UNREADABLE, Request("", ""), channel))

    def not_asked_live(self, request: Request, channel: Channel) -> Miss:
        """Count a WebSocket that was to be opened on a channel which is asked live."""
        return self._miss(self._missing.live_websocket(request, channel))

    def summary(self) -> Summary:
        """Say what was used, what never was (but for refused channels), and what was missed."""
        refused = refused_channels(self._exchanges)
        numbered = list(enumerate(self._exchanges))
        return Summary(
            tuple(exchange for number, exchange in numbered if number in self._played),
            tuple(e for number, e in numbered if number not in self._played and e.channel not in refused),
            self._missed,
            tuple(self._misses),
        )

    # -- choosing

    def _play_alike(
        self, request: Request, channel: Channel, form: Canonical, state: _Scope
    ) -> Played | Miss:
        candidates: list[Candidate] = []
        if self._match is not Match.STRICT:
            renamed = self._index.renamed(request, form, channel)
            candidates = [one for one in renamed if state.admits(one.pairs, self._index.known)]
        how = How.RENAMED
        if not candidates and self._match is Match.LOOSE:
            candidates, how = list(self._index.same_turn(form, channel)), How.SAME_TURN
        fitting = [(self._next(one.group, request, state), one) for one in candidates]
        free = [(number, one) for number, one in fitting if number is not None]
        if not free:
            if candidates:
                return self._miss(self._missing.used_up(candidates[0].group, request, channel))
            return self._miss(self._missing.unknown(request, channel, form, state.admits))
        if len({self._answer(number) for number, _ in free}) > 1:
            numbers = tuple(number for number, _ in free)
            return self._miss(self._missing.ambiguous(request, channel, form, numbers))
        number, chosen = min(free, key=lambda one: one[0])
        state.bindings.keep(chosen.pairs)
        return self._take(number, chosen, request, state, how)

    def _next(self, group: Group, request: Request, state: _Scope) -> int | None:
        """The first member not yet played in this scope, of the request's own MCP session and key."""
        free: Iterator[int] = (number for number in group.members if number not in state.used)
        if request.method == "GET":
            free = self._of_event(list(free), header(request.headers, LAST_EVENT))
        if self._recorded_sessions:
            recorded = self._sessions.get(header(request.headers, SESSION_HEADER) or "")
            if recorded is not None:
                free = (number for number in free if _asked_session(self._exchanges[number]) == recorded)
        if group.credentials is None:
            return next(free, None)
        known = group.credentials.__contains__
        return next((n for n in free if state.bindings.admit([self._keys(n, request)], known)), None)

    def _of_event(self, free: list[int], event: str | None) -> Iterator[int]:
        """Those first that resumed a stream after the same event, or began one as this request does."""
        return iter(
            sorted(free, key=lambda n: header(self._exchanges[n].request.headers, LAST_EVENT) != event)
        )

    def _resume(self, request: Request, channel: Channel, event: str, state: _Scope) -> Played | None:
        """The rest of a stream for a client that lost it, where nobody did when it was recorded."""
        session = header(request.headers, SESSION_HEADER) or ""
        found = self._streams.holding(channel, event, self._sessions.get(session))
        if found is None:
            return None
        number, response = found
        exchange = self._exchanges[number]
        response = follow(response, call_ids(exchange.request.body.data), state.calls.get(number, ()))
        if _session(exchange) and session:
            response = with_session(response, session)
        return Played(number, exchange, response, How.RESUMED)

    def _keys(self, number: int, request: Request) -> Pair:
        recorded = credential(self._exchanges[number].request.headers)
        return "credential", recorded, credential(request.headers)

    def _answer(self, number: int) -> object:
        exchange = self._exchanges[number]
        response = exchange.response
        if response is None:
            return exchange.outcome
        # Two answers may be empty but for where they send the client.
        return exchange.outcome, response.status, response.body.data, header(response.headers, "location")

    def _take(self, number: int, chosen: Candidate, request: Request, state: _Scope, how: How) -> Played:
        group = chosen.group
        state.used.add(number)
        self._played.add(self._counted(number, group))
        if group.credentials is not None:
            state.bindings.add([self._keys(number, request)])
        exchange = self._exchanges[number]
        response = exchange.response
        if response is not None and request.body.data != exchange.request.body.data:
            asked = call_ids(request.body.data)
            if asked:
                state.calls[number] = asked
                response = follow(response, call_ids(exchange.request.body.data), asked)
        event = header(exchange.request.headers, LAST_EVENT) if request.method == "GET" else None
        origin = event and self._streams.holding(exchange.channel, event, _asked_session(exchange))
        if response is not None and origin:
            recorded = call_ids(self._exchanges[origin[0]].request.body.data)
            response = follow(response, recorded, state.calls.get(origin[0], ()))
        if response is not None and self._recorded_sessions and _session(exchange):
            response = with_session(response, self._session_for(exchange, request))
        return Played(number, exchange, response, how, chosen.pairs)

    def _counted(self, number: int, group: Group) -> int:
        """Which exchange counts as used: in another scope, an equal one that nobody has played yet."""
        if number not in self._played:
            return number
        twins = (other for other in group.members if other not in self._played)
        return next((twin for twin in twins if self._answer(twin) == self._answer(number)), number)

    def _session_for(self, exchange: Exchange, request: Request) -> str:
        """The session id to answer with: the request's, or for a new session one not handed out before."""
        asked, recorded = header(request.headers, SESSION_HEADER), _session(exchange)
        assert recorded is not None
        if asked is not None:
            return asked
        names = itertools.chain([recorded], (f"{recorded}-{count}" for count in itertools.count(2)))
        fresh = next(name for name in names if name not in self._sessions)
        self._sessions[fresh] = recorded
        return fresh

    # -- missing

    def _miss(self, miss: Miss) -> Miss:
        self._missed += 1
        if len(self._misses) < KEPT_MISSES:
            self._misses.append(miss)
        return miss


def _session(exchange: Exchange) -> str | None:
    """The MCP session that an exchange's answer names."""
    return None if exchange.response is None else header(exchange.response.headers, SESSION_HEADER)


def _asked_session(exchange: Exchange) -> str | None:
    return header(exchange.request.headers, SESSION_HEADER)
