"""Misses made: the nearest recorded request, what differs, and which ignore rules would have helped.

What a client sends may be secret where a cassette's own text no longer is: it goes through redaction first.
"""

from collections.abc import Callable, Iterable, Sequence

from abs_replay.exchange import Channel, Exchange, Request
from abs_replay.matching import Group, Index, Match
from abs_replay.matching.canonical import Canonical, canonical
from abs_replay.matching.differences import Difference, differences, nearest
from abs_replay.matching.renaming import Pair, correspond, is_secret, shape
from abs_replay.matching.suggesting import fewest, proposed
from abs_replay.player.dialogue import as_request
from abs_replay.player.results import Miss, Played, Reason
from abs_replay.redact import Redactor
from abs_replay.spec.ignoring import Ignore

type Admits = Callable[[Iterable[Pair], Callable[[str], bool]], bool]

_MOST_COMPARED = 1000  # recorded requests that a suggested rule is tried on


class Missing:
    """Makes the misses of a player."""

    def __init__(
        self, index: Index, exchanges: Sequence[Exchange], match: Match, ignore: Sequence[Ignore]
    ) -> None:
        self._index, self._exchanges = index, exchanges
        self._match, self._ignore = match, tuple(ignore)
        self._redactor = Redactor()

    def used_up(self, group: Group, request: Request, channel: Channel) -> Miss:
        masked = self._masked(request, channel)
        return Miss(Reason.USED_UP, masked, channel, group.members[-1], recorded=len(group.members))

    def live_websocket(self, request: Request, channel: Channel) -> Miss:
        """Of a request for a WebSocket on a channel that is asked live."""
        return Miss(Reason.LIVE_WEBSOCKET, self._masked(request, channel), channel)

    def websocket(self, request: Request, channel: Channel, number: int) -> Miss:
        return Miss(Reason.WEBSOCKET, self._masked(request, channel), channel, nearest=number)

    def message(self, played: Played, request: Request, recorded: bytes | None, said: bytes) -> Miss:
        """A client's message on a WebSocket that is not the one that was recorded there, if one was."""
        channel = played.exchange.channel
        masked = self._masked(as_request(said), channel)
        form = None if recorded is None else self._index.form(as_request(recorded), channel)
        found = () if form is None else self._differences(form, masked, channel)
        return Miss(Reason.MESSAGE, self._masked(request, channel), channel, played.number, found)

    def unknown(self, request: Request, channel: Channel, form: Canonical, admits: Admits) -> Miss:
        masked = self._masked(request, channel)
        groups = self._index.groups(channel)
        index = nearest([group.form for group in groups], form)
        if index is None:
            return Miss(Reason.UNKNOWN, masked, channel)
        group = groups[index]
        found = differences(group.form, form)

        def enough(rules: tuple[Ignore, ...]) -> bool:
            return self._would_match(group, request, channel, rules, admits)

        rules = fewest(proposed(found, form), enough)
        if rules and self._merges(group, channel, rules):
            rules = ()
        shown = self._differences(group.form, masked, channel)
        return Miss(Reason.UNKNOWN, masked, channel, group.members[0], shown, ignoring=rules)

    def ambiguous(
        self, request: Request, channel: Channel, form: Canonical, numbers: tuple[int, ...]
    ) -> Miss:
        masked = self._masked(request, channel)
        first = self._index.form(self._exchanges[numbers[0]].request, channel)
        why = self._differences(first, masked, channel)
        return Miss(Reason.AMBIGUOUS, masked, channel, numbers[0], why, numbers)

    def _masked(self, request: Request, channel: Channel) -> Request:
        return self._redactor.redact(Exchange("", channel, 0.0, request)).request

    def _differences(self, recorded: Canonical, masked: Request, channel: Channel) -> tuple[Difference, ...]:
        """Two placeholders of a kind are the same to a reader; their ordinals count each its own run."""
        found = differences(recorded, self._index.form(masked, channel))
        return tuple(one for one in found if not is_secret(one.recorded, one.asked))

    def _would_match(
        self, group: Group, request: Request, channel: Channel, rules: tuple[Ignore, ...], admits: Admits
    ) -> bool:
        ignore = (*self._ignore, *rules)
        recorded, asked = (canonical(one, channel, ignore) for one in (group.request, request))
        if recorded.key == asked.key:
            return True
        if self._match is Match.STRICT:
            return False
        pairs = correspond(shape(group.request, recorded), shape(request, asked))
        return pairs is not None and admits(pairs, self._index.known)

    def _merges(self, group: Group, channel: Channel, rules: tuple[Ignore, ...]) -> bool:
        """Say whether the rules would make two recorded requests one: then what they ignore has a meaning."""
        ignore = (*self._ignore, *rules)
        key = canonical(group.request, channel, ignore).key
        others = [one for one in self._index.groups(channel) if one.form.path == group.form.path]
        return any(
            canonical(other.request, channel, ignore).key == key
            for other in others[:_MOST_COMPARED]
            if other is not group
        )
