"""Tool exchanges joined to the calls that they carried out; the others stand as calls of their own.

Each use looks for a call that was made before it and not yet answered to the model, and takes the
surest by `pairing`, one that nothing carried out yet before one that something did. Several uses of
one call (polls, retries, an HTTP call that follows an id the one before gave) are sources of it. What
the tool said is the tool's own answer under MCP, where the call's name is the tool's; for plain HTTP
it is what the model was told, for that is the function's answer, else the last exchange's.
"""

from dataclasses import dataclass, field, replace

from abs_replay.assembly.conversations import Conversation
from abs_replay.assembly.drafts import Asked, Draft, Note
from abs_replay.assembly.ledger import Ledger
from abs_replay.assembly.pairing import Use, agreement, carried, same_use, scalars
from abs_replay.assembly.sightings import Seen
from abs_replay.decoders import Call
from abs_replay.trace import Source, Visibility

_MIN_ID = 2  # letters of a value in an answer that a later path may repeat by more than chance


@dataclass(slots=True, eq=False)
class _Served:
    """A call and what carried it out so far."""

    asked: Asked
    uses: list[tuple[Seen, Use]] = field(default_factory=list)
    own: bool = False  # seen on the tool's channel alone

    @property
    def last(self) -> tuple[Seen, Use]:
        return self.uses[-1]


def carry_out(conversation: Conversation, ledger: Ledger) -> None:
    """Join a conversation's tool exchanges to its calls, adding drafts for what no model called."""
    served = [_Served(asked) for asked in ledger.asked]
    for seen in conversation.all_uses:
        for number, use in enumerate(seen.uses):
            found = _find(served, seen, use)
            if found is None:
                found = _own(ledger, seen, use, number)
                served.append(found)
            found.uses.append((seen, use))
            found.asked.draft.show(_sources(seen, use, use.said.asked_at), _asked(found))
    for one in served:
        if one.uses:
            _answer(ledger, one)
    for asked in ledger.made_again():
        asked.draft.visibility = Visibility.INTERNAL


def _find(served: list[_Served], seen: Seen, use: Use) -> _Served | None:
    """Choose the call that this use carried out, the surest and least served first."""
    ranked = [(_rank(one, seen, use), one) for one in served if _open(one, seen)]
    # The first among equals: calls are carried out in the order in which they were made.
    return max((pair for pair in ranked if pair[0][0]), key=lambda pair: pair[0], default=(0, None))[1]


def _open(one: _Served, seen: Seen) -> bool:
    """Say whether a call was made before this use, and the model not yet told of its answer."""
    told = one.asked.told
    return one.asked.since <= seen.start and (told is None or seen.start <= told)


def _rank(one: _Served, seen: Seen, use: Use) -> tuple[float, bool, float]:
    if one.own:
        return (1 if _retries(one, seen, use) else 0), False, 0.0
    score, kin = agreement(one.asked.call, use)
    if not score and one.uses and _follows(one, use):
        score = 1
    return score, not one.uses, kin


def _follows(one: _Served, use: Use) -> bool:
    """Say whether a plain HTTP call goes on where the ones before stopped: a poll, or an id they gave."""
    if not use.plain:
        return False
    before = one.uses
    if any(_place(earlier) == _place(use) for _, earlier in before):
        return True
    given = {text for _, earlier in before for text in scalars(earlier.said.content) if len(text) >= _MIN_ID}
    return bool(given & carried(use))


def _place(use: Use) -> tuple[object, object]:
    arguments = use.said.arguments
    return (arguments.get("method"), arguments.get("path")) if isinstance(arguments, dict) else (None, None)


def _retries(one: _Served, seen: Seen, use: Use) -> bool:
    """Say whether this tries again what failed for a reason that passes (429, 5xx, no answer)."""
    before, earlier = one.last
    return before.may_pass and seen.start >= before.end and same_use(earlier, use)


def _own(ledger: Ledger, seen: Seen, use: Use, number: int) -> _Served:
    """Make a call of its own; it began when the request did."""
    said = use.said
    call_id = seen.exchange.id if len(seen.uses) == 1 else f"{seen.exchange.id}.{number}"
    draft = Draft("assistant", "calls", seen.start, said.name, None, said.arguments, call_id)
    ledger.drafts.append(draft)
    return _Served(Asked(Call(said.name, said.arguments, call_id), draft, seen.start), own=True)


def _asked(one: _Served) -> str:
    if one.own:
        return "the tool was asked" if len(one.uses) == 1 else "the tool was asked again"
    return "the tool was asked: it carries out the call"


def _answer(ledger: Ledger, one: _Served) -> None:
    """Tell what the tool said, when its last exchange ended."""
    (first, _), (last, use) = one.uses[0], one.last
    call, response = one.asked.draft, one.asked.response
    # A client may act on a streamed call before the stream has ended.
    call.time = min(call.time, first.start)
    if response is None:
        response = Draft("tool", "responds", last.end, call.target, use.said.content, call_id=call.call_id)
        ledger.drafts.append(response)
    elif not use.plain:
        response.content = use.said.content
    response.time = max(last.end, call.time)
    response.began = first.start
    response.error = use.said.error
    later, response.notes = response.notes, []
    _sightings(one, response)
    for note in later:
        response.notes.append(replace(note, kind="merged") if note.kind == "shown" else note)


def _sightings(one: _Served, response: Draft) -> None:
    """Note what the tool answered, attempt by attempt."""
    for index, (seen, use) in enumerate(one.uses):
        sources = (use.answer, *use.also) if use.answer else _sources(seen, use, use.said.answered_at)
        if index + 1 < len(one.uses) and _failed(seen, use, one.uses[index + 1][1]):
            response.retries += 1
            source = sources[0]
            text = f"{use.said.error}; it was tried again"
            response.notes.append(Note("retry", source.exchange, source.at, text))
        # A failed attempt stays a source, as what was asked is one.
        response.show(sources, "the tool's own answer")


def _failed(seen: Seen, use: Use, following: Use) -> bool:
    return use.said.error is not None and seen.may_pass and same_use(use, following)


def _sources(seen: Seen, use: Use, at: str) -> tuple[Source, ...]:
    """Name the exchange, and the channel whose name the step does not bear."""
    place = f"{seen.exchange.channel} {at}"
    if use.plain and at == "request":
        place = f"{seen.exchange.channel} {seen.exchange.request.method} {seen.exchange.request.target}"
    return (Source(seen.exchange.id, place), *use.also)
