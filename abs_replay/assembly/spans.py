"""What agents report of their own work (OpenTelemetry), beside what the wire shows.

A span is a turn or a use with times of its own. Where the wire shows the same work, by the answer's id,
or by the same words or call within the same times, the span is one more source of it; and so is a
span that only wraps another one.
"""

from collections.abc import Iterable
from dataclasses import replace

from abs_replay.assembly.pairing import Use, agreement
from abs_replay.assembly.pool import Line, Pool
from abs_replay.assembly.sightings import Seen
from abs_replay.assembly.threads import mark, plain
from abs_replay.decoders import Call, Span, Turn
from abs_replay.exchange import Channel, Role
from abs_replay.trace import Source

_SLACK_MS = 1000.0  # clocks of two machines, and what lies between a call in code and its bytes
_SURE = 3  # of `agreement`: by values, not by a name alone


def reported(everything: Iterable[Seen], pool: Pool) -> list[Seen]:
    """Give all that are no spans, with those spans as sources that report them, and the other spans."""
    ordered = list(everything)
    if not any(one.decoded.spans for one in ordered):
        return ordered
    seen = _Work([one for one in ordered if not one.decoded.spans])
    spans = [(span, one) for one in ordered for span in one.decoded.spans]
    # The inner ones first: what wraps them says the same once more.
    for span, one in sorted(spans, key=lambda pair: pair[0].ended_at - pair[0].started_at):
        if span.turn:
            _turn(seen, span, span.turn, one, pool)
        if span.use:
            _use(seen, span, Use(span.use, one.exchange.channel.name, plain=False), one)
    return seen.all


class _Work:
    """What was seen so far, by what it says."""

    def __init__(self, wire: list[Seen]) -> None:
        self.all: list[Seen] = []
        self._answers: dict[str, int] = {}
        self._replies: dict[int, list[int]] = {}
        self._uses: list[int] = []
        for one in wire:
            self.add(one)

    def add(self, one: Seen) -> None:
        number = len(self.all)
        self.all.append(one)
        if one.turn and one.turn.response_id:
            self._answers[one.turn.response_id] = number
        for said in _marks(one.turn):
            self._replies.setdefault(said, []).append(number)
        if one.uses:
            self._uses.append(number)

    def turn(self, turn: Turn, start: float, end: float) -> int | None:
        """Find the turn that is this one."""
        known = self._answers.get(turn.response_id) if turn.response_id else None
        if known is not None:
            return known
        found = [number for said in _marks(turn) for number in self._replies.get(said, ())]
        same = [n for n in found if not _is_other(self.all[n].turn, turn) and _meets(self.all[n], start, end)]
        # The same words may be said twice within the slack: the nearer in time.
        return min(same, key=lambda number: abs(self.all[number].start - start), default=None)

    def use(self, use: Use, start: float, end: float) -> tuple[int, int] | None:
        """Find the use that is this one: its sighting, and its place in that."""
        call = Call(use.said.name, use.said.arguments)
        near = [number for number in self._uses if _meets(self.all[number], start, end)]
        found = [
            (agreement(call, other), number, place)
            for number in near
            for place, other in enumerate(self.all[number].uses)
        ]
        best = max(found, key=lambda item: item[0], default=None)
        return (best[1], best[2]) if best and best[0][0] >= _SURE else None


def _marks(turn: Turn | None) -> list[int]:
    reply = turn.reply if turn else None
    if reply is None or not (reply.calls or plain(reply.content) is not None):
        return []
    nameless = replace(reply, calls=tuple(replace(call, call_id=None) for call in reply.calls))
    return list(dict.fromkeys((mark(reply), mark(nameless))))


def _is_other(left: Turn | None, right: Turn) -> bool:
    """Say whether two turns bear ids of different answers, which may be in the same words."""
    ids = {left.response_id if left else None, right.response_id} - {None}
    return len(ids) > 1


def _meets(one: Seen, start: float, end: float) -> bool:
    if one.part:  # another span, of the same clock: this one wraps it
        return start <= one.start and one.end <= end
    return one.start <= end + _SLACK_MS and one.end >= start - _SLACK_MS


def _times(span: Span) -> tuple[float, float]:
    return span.started_at * 1000, max(span.ended_at, span.started_at) * 1000


def _turn(seen: _Work, span: Span, turn: Turn, one: Seen, pool: Pool) -> None:
    start, end = _times(span)
    number = seen.turn(turn, start, end)
    if number is None:
        line, asides = pool.heard(turn.history)
        made = _sighting(one, span, Role.LLM, pool.told(turn), line)
        seen.add(replace(made, asides=asides))
        return
    known = seen.all[number]
    reply = known.turn.reply if known.turn else None
    elsewhere = known.elsewhere
    if reply is not None:
        shown = (*known.sources(reply), Source(one.exchange.id, turn.reply.at if turn.reply else ""))
        elsewhere = {**elsewhere, id(reply): tuple(dict.fromkeys(shown))}
    seen.all[number] = replace(known, elsewhere=elsewhere, others=(*known.others, one.exchange))


def _use(seen: _Work, span: Span, use: Use, one: Seen) -> None:
    found = seen.use(use, *_times(span))
    if found is None:
        seen.add(replace(_sighting(one, span, Role.TOOL, None, Line()), uses=(use,)))
        return
    number, place = found
    known = seen.all[number]
    other = known.uses[place]
    reporting = replace(other, also=(*other.also, Source(one.exchange.id, use.said.asked_at)))
    uses = (*known.uses[:place], reporting, *known.uses[place + 1 :])
    seen.all[number] = replace(known, uses=uses, others=(*known.others, one.exchange))


def _sighting(one: Seen, span: Span, role: Role, turn: Turn | None, line: Line) -> Seen:
    start, end = _times(span)
    channel = Channel(role, one.exchange.channel.name)
    return replace(
        one,
        exchange=replace(one.exchange, channel=channel),
        decoded=replace(one.decoded, spans=()),
        turn=turn,
        start=start,
        end=end,
        line=line,
        key=span.session or one.key,
        trace_id=span.trace_id,
        part=span.span_id,
    )
