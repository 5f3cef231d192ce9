"""What two recordings of the same conversation teach: which differences of their requests have no meaning.

The second one's requests are played against the first one's answers. Those that miss are paired with the
nearest that was not played, and what differs is judged (`meaning`). What an answer brought needs no rule:
in replay it is the recorded answer that brings it. Of the rules that take out the rest the fewest are kept
that make the pairs match. Pure: no I/O, no clock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from abs_replay.cassette import Cassette
from abs_replay.exact_json import dumps, loads
from abs_replay.exchange import Body, Channel, Exchange, Request, Role
from abs_replay.learning.heard import Heard
from abs_replay.learning.meaning import Side, Verdict, verdict
from abs_replay.learning.pairing import Unexplained, merged, paired, play
from abs_replay.learning.places import Place, Spot, made, spots
from abs_replay.learning.proposing import Judged, Rule, path_text, rules, shown
from abs_replay.learning.texts import Part
from abs_replay.matching import Match
from abs_replay.matching.canonical import Canonical, canonical
from abs_replay.player import Player
from abs_replay.redact import Redactor
from abs_replay.spec.ignoring import Ignore

EXAMPLES = 2

type Example = tuple[str | None, str | None]  # recorded and asked, secrets masked; None: no such value


@dataclass(frozen=True, slots=True)
class Proposal:
    """A rule as it is written in `match.ignore`.

    `pairs` is in how many pairs it takes something out, `settled` how many of these match with all rules.
    `merged` recorded requests with different answers are equal once it holds: they answer in recorded order.
    """

    rule: Mapping[str, str]
    pairs: int
    settled: int
    merged: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Doubt:
    """What differs and is not proposed, and why."""

    channel: Channel
    where: str
    why: str
    pairs: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What two recordings came to.

    `pairs` counts the pairs, `alike` those that matched as they are, `echoed` those in which something
    differs that an answer brought. `left` are the numbers of the second one's exchanges that would miss
    still, `alone` those of them that the first has no exchange for, `unasked` those of the first that
    the second never asked for.
    """

    pairs: int
    alike: int
    echoed: int
    proposals: tuple[Proposal, ...]
    doubts: tuple[Doubt, ...]
    left: tuple[int, ...]
    alone: tuple[int, ...]
    unasked: tuple[int, ...]


def learn(
    recorded: Cassette, asked: Cassette, mode: Match = Match.CANONICAL, ignore: Sequence[Ignore] = ()
) -> Lesson:
    """Compare two recordings of the same conversation; `ignore` are the rules that hold already."""
    return _Comparison(recorded, asked, mode, tuple(ignore)).lesson()


class _Comparison:
    def __init__(self, recorded: Cassette, asked: Cassette, mode: Match, ignore: tuple[Ignore, ...]) -> None:
        self._cassette, self._mode, self._ignore = recorded, mode, ignore
        # A WebSocket is matched message by message, which no ignore rule changes.
        self._asked = tuple(each for each in asked.exchanges if each.websocket is None)
        self._numbers = [n for n, each in enumerate(asked.exchanges) if each.websocket is None]
        self._then, self._now = Heard(recorded.exchanges), Heard(self._asked)
        self._alike = self._play(ignore, {})
        self._pairs = self._paired()
        self._differing: dict[int, tuple[Spot, ...]] = {}
        self._judged = tuple(each for number in self._pairs for each in self._judge(number))

    def lesson(self) -> Lesson:
        kept = self._fewest(rules(self._judged, self._equal_places()))
        ignore = self._applied(kept)
        played = self._play(ignore, self._as_asked({Verdict.ECHO}))
        left = [number for number in range(len(self._asked)) if number not in played]
        unasked = self._unplayed({*self._alike.values(), *self._pairs.values()})
        return Lesson(
            len(self._alike) + len(self._pairs),
            len(self._alike),
            len({each.pair for each in self._judged if each.verdict is Verdict.ECHO}),
            tuple(self._proposal(rule, kept, played) for rule in kept),
            self._doubts(kept),
            tuple(self._numbers[number] for number in left),
            tuple(self._numbers[n] for n in left if n not in self._pairs and n not in self._alike),
            tuple(unasked),
        )

    # -- playing

    def _play(self, ignore: Sequence[Ignore], changed: Mapping[int, Request]) -> dict[int, int]:
        player = Player(self._cassette, self._mode, ignore, Unexplained)
        return play(player, [(e, changed.get(n, e.request)) for n, e in enumerate(self._asked)])

    def _applied(self, kept: Collection[Rule]) -> tuple[Ignore, ...]:
        return (*self._ignore, *(rule.applied for rule in kept))

    def _as_asked(self, as_recorded: Collection[Verdict]) -> dict[int, Request]:
        """The paired requests as they were asked, but for such differences."""
        kept = {
            (each.pair, each.spot.where, each.spot.place, each.part)
            for each in self._judged
            if each.verdict not in as_recorded
        }
        return {number: self._made(number, kept) for number in self._pairs}

    def _made(self, number: int, kept: Collection[tuple[int, str, Place, Part | None]]) -> Request:
        then = self._cassette.exchanges[self._pairs[number]]

        def chosen(spot: Spot, part: Part | None) -> bool:
            return (number, spot.where, spot.place, part) in kept

        request = made(then.request, self._form(then), self._differing[number], chosen)
        return replace(request, headers=self._asked[number].request.headers)

    def _fewest(self, found: tuple[Rule, ...]) -> tuple[Rule, ...]:
        """The rules without which more would miss, judged on requests in which only what is fresh differs."""
        requests = self._as_asked({each for each in Verdict if each is not Verdict.FRESH})
        best = len(self._play(self._applied(found), requests))
        kept = found
        for rule in found:
            fewer = tuple(each for each in kept if each is not rule)
            if len(self._play(self._applied(fewer), requests)) >= best:
                kept = fewer
        return kept

    # -- comparing

    def _form(self, exchange: Exchange) -> Canonical:
        return canonical(exchange.request, exchange.channel, self._ignore)

    def _unplayed(self, played: Collection[int]) -> list[int]:
        exchanges = enumerate(self._cassette.exchanges)
        return [n for n, each in exchanges if n not in played and each.websocket is None]

    def _paired(self) -> dict[int, int]:
        recorded = {n: self._cassette.exchanges[n] for n in self._unplayed({*self._alike.values()})}
        asked = {n: each for n, each in enumerate(self._asked) if n not in self._alike}
        with_forms = ({n: (e, self._form(e)) for n, e in side.items()} for side in (recorded, asked))
        return dict(sorted(paired(*with_forms).items()))

    def _judge(self, number: int) -> list[Judged]:
        then, now = self._cassette.exchanges[self._pairs[number]], self._asked[number]
        form, other = self._form(then), self._form(now)
        self._differing[number] = spots(form, other)
        sides = (
            Side(self._then, self._pairs[number], then, form.document),
            Side(self._now, number, now, other.document),
        )
        return [
            Judged(number, now.channel, spot, part, verdict(spot, part, *sides))
            for spot in self._differing[number]
            for part in spot.parts or (None,)
        ]

    def _equal_places(self) -> set[tuple[Channel, Place]]:
        """Places of the paired requests in which there are values that do not differ."""
        found = set()
        for number in self._pairs:
            differing = {spot.place for spot in self._differing[number]}
            document = self._form(self._asked[number]).document
            channel = self._asked[number].channel
            found |= {(channel, place) for place in _places(document) if place not in differing}
        return found

    # -- telling

    def _proposal(self, rule: Rule, kept: Sequence[Rule], played: Collection[int]) -> Proposal:
        fewer = self._applied([each for each in kept if each is not rule])
        return Proposal(
            rule.written,
            len(rule.pairs),
            sum(pair in played for pair in rule.pairs),
            merged(self._cassette.exchanges, self._applied(kept), fewer),
            _examples(rule.seen),
        )

    def _doubts(self, kept: Collection[Rule]) -> tuple[Doubt, ...]:
        """What has meaning, and what is fresh and no rule can say."""
        groups: dict[tuple[Channel, str, str], list[Judged]] = {}
        covered = {id(each) for rule in rules(self._judged, self._equal_places()) for each in rule.seen}
        for each in self._judged:
            if each.verdict is not Verdict.ECHO and id(each) not in covered:
                why = _NO_RULE if each.verdict is Verdict.FRESH else each.verdict.value
                groups.setdefault((each.channel, _where(each.spot), why), []).append(each)
        return tuple(
            Doubt(*key, len({each.pair for each in seen}), _examples(seen)) for key, seen in groups.items()
        )


_NO_RULE = "made afresh, and nothing around it that a rule could name"


def _places(value: object, at: Place = ()) -> list[Place]:
    match value:
        case dict():
            return [place for key, item in value.items() for place in _places(item, (*at, str(key)))]
        case list():
            return [place for n, item in enumerate(value) for place in _places(item, (*at, n))]
    return [at]


def _where(spot: Spot) -> str:
    if spot.where == "json":
        return path_text(spot.place) or "$"
    return f"query {spot.place[0]}" if spot.place else str(spot.where)


def _examples(seen: Sequence[Judged]) -> tuple[Example, ...]:
    texts = ((each.spot.key, shown(each.values)) for each in seen)
    masked = ((_masked(name, then), _masked(name, now)) for name, (then, now) in texts)
    return tuple(dict.fromkeys(masked))[:EXAMPLES]


def _masked(name: str, value: str | None) -> str | None:
    """The value without secrets: those that look like one, and what a name calls one."""
    if value is None:
        return None
    body = Body(dumps({name or "value": value}).encode("utf-8", "surrogatepass"))
    request = Request("POST", "/", (("content-type", "application/json"),), body)
    clean = Redactor().redact(Exchange("", Channel(Role.AGENT, "shown"), 0.0, request))
    if clean.request.body == body:
        return value
    found = loads(clean.request.body.data.decode("utf-8", "replace"))
    return str(next(iter(found.values()))) if isinstance(found, dict) else "(hidden)"
