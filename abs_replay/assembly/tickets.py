"""Answers that came in another exchange than the call: put to the call, under its ticket.

A stream that broke is taken up again, an older server answers every POST on one stream, a task's result
is fetched, a tool that wanted input is asked again: one use, in several exchanges of one channel.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from abs_replay.assembly.pairing import Use
from abs_replay.assembly.sightings import Seen, by_time
from abs_replay.decoders import Answer
from abs_replay.exchange import Channel, Exchange
from abs_replay.trace import Source


@dataclass(slots=True, eq=False)
class _Came:
    """An answer, and the exchange that brought it; `time` is None where that is not known."""

    answer: Answer
    seen: Seen
    time: float | None
    taken: bool = False

    @property
    def source(self) -> Source:
        exchange = self.seen.exchange
        return Source(exchange.id, f"{exchange.channel} {self.answer.use.answered_at}")


type _Known = dict[tuple[Channel, str], list[_Came]]


@dataclass(slots=True, eq=False)
class _Filled:
    """The uses of one exchange, and what else shows them."""

    uses: list[Use] = field(default_factory=list)
    others: list[Exchange] = field(default_factory=list)
    end: float = 0.0
    open: bool = False


def answered(everything: Iterable[Seen]) -> list[Seen]:
    """Give all, each use with its answer where that was seen."""
    ordered = sorted(everything, key=by_time)
    known = _known(ordered)
    return [_filled(one, known) for one in ordered] if known else ordered


def _known(everything: Sequence[Seen]) -> _Known:
    known: _Known = {}
    for one in everything:
        for answer in one.decoded.answers:
            time = None if answer.at_ms is None else one.start + answer.at_ms
            came = known.setdefault((one.exchange.channel, answer.ticket), [])
            came.append(_Came(answer, one, time))
    return known


def _filled(one: Seen, known: _Known) -> Seen:
    """Fill an exchange's uses; what it asked again stands here where it was first asked unseen."""
    if not one.uses and not one.decoded.answers:
        return one
    channel = one.exchange.channel
    tickets = dict.fromkeys(answer.ticket for answer in one.decoded.answers if answer.asked)
    uses = list(one.uses)
    for came in (came for ticket in tickets for came in known[channel, ticket]):
        if came.answer.asked and came.seen is one and not came.taken:
            came.taken = True
            uses.append(Use(came.answer.use, channel.name, plain=False))
    filled = _Filled(end=one.end)
    for use in uses:
        _fill(one, use, known, filled)
    # A stream that broke and was taken up again came to its end.
    resumed = bool(filled.others) and not filled.open
    return replace(
        one,
        uses=tuple(filled.uses),
        end=filled.end,
        others=(*one.others, *dict.fromkeys(filled.others)),
        decoded=replace(one.decoded, complete=None if resumed else one.decoded.complete),
    )


def _fill(one: Seen, use: Use, known: _Known, filled: _Filled) -> None:
    """Follow a use's ticket, from answer to answer where one is only a further ticket."""
    while use.said.ticket:
        came = _take(known.get((one.exchange.channel, use.said.ticket), ()), one)
        if came is None:
            filled.open = True
            break
        said = came.answer.use
        told = replace(
            use.said,
            content=said.content,
            error=said.error,
            answered_at=said.answered_at,
            ticket=said.ticket,
        )
        use = replace(use, said=told, answer=came.source)
        filled.others.append(came.seen.exchange)
        filled.end = max(filled.end, one.end if came.time is None else came.time)
    filled.uses.append(use)


def _take(found: Sequence[_Came], one: Seen) -> _Came | None:
    """Take the first answer that came after the call, one that says something before one that does not."""
    later = [came for came in found if not came.taken and (came.time is None or came.time >= one.start)]
    best = min(later, key=lambda came: came.answer.use.content is None, default=None)
    if best:
        best.taken = True
    return best
