"""From exchanges to traces: one trace a conversation, each thing that happened one step.

A call may be seen three times: in the agent's answer, in its model's answer, and on the tool's own
channel. It becomes one step, under the name that the model used, with every sighting among its
sources; the channel's name stands in the source. (An author who writes that other name gives it as
an alias in the configuration: aliases rename what is written, never what was seen.)

A step's `at_ms` is when it was complete, `duration_ms` how long it took until then: a reply from its
request on, a tool's answer from its call on.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from operator import itemgetter

from abs_replay.assembly.conversations import Conversation
from abs_replay.assembly.dialogues import each_round
from abs_replay.assembly.drafts import Draft, Note
from abs_replay.assembly.explaining import Account, Fate, fates, settle
from abs_replay.assembly.folding import polled, posted
from abs_replay.assembly.grouping import group
from abs_replay.assembly.keys import ConversationKey
from abs_replay.assembly.narration import Narrator
from abs_replay.assembly.pool import Pool
from abs_replay.assembly.sightings import Seen, seen
from abs_replay.assembly.spans import reported
from abs_replay.assembly.tickets import answered
from abs_replay.assembly.tool_use import carry_out
from abs_replay.decoders import Decoded, Shelf, decode, forget
from abs_replay.decoders.twice import with_twice
from abs_replay.exchange import Exchange, Recording
from abs_replay.trace import Branch, Step, Trace

type _Notes = tuple[tuple[Note, ...], ...]
type _Told = tuple[Trace, Conversation, _Notes]


def assemble(
    exchanges: Iterable[Exchange],
    recording: Recording | None = None,
    by: ConversationKey | None = None,
    failed: Callable[[Decoded], None] | None = None,
    left_out: Callable[[Fate], None] | None = None,
) -> tuple[Trace, ...]:
    """Give the traces of a recording's exchanges at once, as `each_trace` does one by one."""
    return tuple(each_trace(exchanges, recording, by, failed, left_out))


def each_trace(
    exchanges: Iterable[Exchange],
    recording: Recording | None = None,
    by: ConversationKey | None = None,
    failed: Callable[[Decoded], None] | None = None,
    left_out: Callable[[Fate], None] | None = None,
    shelf: Shelf | None = None,
) -> Iterator[Trace]:
    """Give the traces of a recording's exchanges, in the order in which they began.

    Each exchange's bytes are let go when it was read, and each conversation when it was told: who keeps
    no trace has one in memory at a time. What was said waits on the `shelf` until then, if there is one.
    `failed` is told of each exchange whose decoder raised, `left_out`, at the end, of each that is in no
    trace.
    """
    silent: dict[str, Decoded] = {}
    for trace, conversation, _ in _told(
        _read(_decoded(exchanges, failed, shelf), by, silent, _is_silent, shelf), recording
    ):
        settle(silent, conversation, bool(trace.steps))
        if trace.steps:
            yield trace
    if left_out:
        for fate in fates(silent, ()):
            left_out(fate)


def explain(
    exchanges: Iterable[Exchange], recording: Recording | None = None, by: ConversationKey | None = None
) -> Account:
    """Give the same traces, with what shows each step, and what became of every exchange."""
    decoded = ((exchange, with_twice(one, exchange)) for exchange, one in _decoded(exchanges))
    return explain_decoded(decoded, recording, by)


def explain_decoded(
    exchanges: Iterable[tuple[Exchange, Decoded]],
    recording: Recording | None = None,
    by: ConversationKey | None = None,
) -> Account:
    """Give the traces of exchanges with what each of them says."""
    said: dict[str, Decoded] = {}
    told = [one for one in _told(_read(exchanges, by, said, lambda _: True), recording) if one[0].steps]
    notes = {trace.id: noted for trace, _, noted in told}
    where = fates(said, [(trace, conversation) for trace, conversation, _ in told])
    return Account(tuple(trace for trace, _, _ in told), notes, where)


def _decoded(
    exchanges: Iterable[Exchange],
    failed: Callable[[Decoded], None] | None = None,
    shelf: Shelf | None = None,
) -> Iterator[tuple[Exchange, Decoded]]:
    for exchange in exchanges:
        decoded = decode(exchange, shelf)
        if failed and decoded.failed:
            failed(decoded)
        yield exchange, decoded
    forget()


def _read(
    exchanges: Iterable[tuple[Exchange, Decoded]],
    by: ConversationKey | None,
    said: dict[str, Decoded],
    is_kept: Callable[[Decoded], bool],
    shelf: Shelf | None = None,
) -> list[Seen]:
    """Read exchanges, each once; `said` gets what each says that is to be kept."""
    pool = Pool(shelf)
    found: dict[str, Seen] = {}
    for exchange, decoded in exchanges:
        if exchange.id not in found:
            found[exchange.id] = one = seen(exchange, decoded, pool, by)
            if is_kept(decoded):
                said[exchange.id] = one.decoded
    everything = each_round(found.values(), pool)
    found.clear()
    return posted(polled(reported(answered(everything), pool)))


def _told(everything: list[Seen], recording: Recording | None) -> Iterator[_Told]:
    """Tell each conversation, in the order in which they began, and let it go."""
    waiting = sorted(((_order(one), one) for one in group(everything)), key=itemgetter(0))
    waiting.reverse()
    everything.clear()
    left = {id(one.parent): one.parent for _, one in waiting if one.parent}
    parents = {id_: _Left(one, recording) for id_, one in left.items()}
    while waiting:
        (_, _, id_), conversation = waiting.pop()
        trace, noted = _trace(id_, conversation, recording)
        if conversation.parent:
            trace = replace(trace, branch_of=parents[id(conversation.parent)].branch(trace))
        yield trace, conversation, noted


class _Left:
    """A conversation that others leave: its trace's id, and what of its steps they are compared by."""

    def __init__(self, conversation: Conversation, recording: Recording | None) -> None:
        trace, _ = _trace(_identify(conversation.members), conversation, recording)
        self._id = trace.id
        self._steps = tuple((step.seq, _compared(step)) for step in trace.steps)

    def branch(self, trace: Trace) -> Branch:
        """Say where a trace left: behind the last step that both begin with."""
        last = None
        for (seq, one), other in zip(self._steps, trace.steps, strict=False):
            if one != _compared(other):
                break
            last = seq
        return Branch(self._id, last)


def _compared(step: Step) -> tuple[object, ...]:
    return step.actor, step.action, step.target, step.at_ms


def _is_silent(decoded: Decoded) -> bool:
    """Say whether an exchange may be in no trace: it says nothing of its own, or no model asked for it."""
    return decoded.turn is None


def _order(conversation: Conversation) -> tuple[float, float, str]:
    """Order conversations by when they began; a branch comes behind what it left."""
    members = conversation.members
    return _began(members[0]), conversation.left_at, _identify(members)


def _began(first: Seen) -> float:
    return first.start / 1000 if first.part else first.exchange.started_at


def _trace(id_: str, conversation: Conversation, recording: Recording | None) -> tuple[Trace, _Notes]:
    start = _began(conversation.members[0])
    ledger = Narrator(conversation).ledger
    carry_out(conversation, ledger)
    # Sorting is stable: what came at one time keeps the order in which it was told. (Of a time in ms since
    # the epoch, a double keeps no more than the first three decimals.)
    drafts = sorted(ledger.drafts, key=lambda draft: (round(draft.time, 2), not _ends(draft)))
    tags = dict(recording.tags) if recording else {}
    trace = Trace(
        id=id_,
        steps=tuple(_step(seq, draft, start * 1000) for seq, draft in enumerate(drafts, 1)),
        session=recording.session if recording else None,
        recording=recording.id if recording else None,
        started_at=start,
        tags=tags,
        agent_version=tags.get("agent_version"),
    )
    return trace, tuple(tuple(draft.notes) for draft in drafts)


def _ends(draft: Draft) -> bool:
    """Say whether this ends what began before: at one time, that comes before what begins then."""
    return draft.actor == "tool" and draft.began is not None and draft.began < draft.time


def _identify(members: Iterable[Seen]) -> str:
    digest = hashlib.sha256()
    for member in members:
        exchange, part = member.exchange, f"{member.part}\n" if member.part else ""
        digest.update(f"{exchange.id}\n{exchange.started_at!r}\n{part}".encode())
    return f"t-{digest.hexdigest()[:12]}"


def _step(seq: int, draft: Draft, start: float) -> Step:
    took = None if draft.began is None else round(max(draft.time - draft.began, 0.0), 3)
    return Step(
        seq=seq,
        actor=draft.actor,
        action=draft.action,
        target=draft.target,
        content=draft.content,
        arguments=draft.arguments,
        call_id=draft.call_id,
        at_ms=round(draft.time - start, 3),
        duration_ms=took,
        visibility=draft.visibility,
        parallel_group=draft.group,
        sources=draft.sources,
        model=draft.model,
        usage=draft.usage,
        error=draft.error,
        retries=draft.retries,
        segment=draft.segment,
    )


__all__ = [
    "Account",
    "ConversationKey",
    "Fate",
    "Note",
    "assemble",
    "each_trace",
    "explain",
    "explain_decoded",
]
