"""From exchanges to traces: one trace a conversation, each thing that happened one step.

A call may be seen three times: in the agent's answer, in its model's answer, and on the tool's own
channel. It becomes one step, under the name that the model used, with every sighting among its
sources; the channel's name stands in the source. (An author who writes that other name gives it as
an alias in the configuration: aliases rename what is written, never what was seen.)

A step's `at_ms` is when it was complete, `duration_ms` how long it took until then: a reply from its
request on, a tool's answer from its call on.
"""

import hashlib
from collections.abc import Iterable, Sequence

from abs_replay.assembly.conversations import Conversation, seen
from abs_replay.assembly.drafts import Draft
from abs_replay.assembly.grouping import group
from abs_replay.assembly.narration import Narrator
from abs_replay.assembly.tool_use import carry_out
from abs_replay.decoders import decode
from abs_replay.exchange import Exchange, Recording
from abs_replay.trace import Step, Trace


def assemble(exchanges: Sequence[Exchange], recording: Recording | None = None) -> tuple[Trace, ...]:
    """Give the traces of a recording's exchanges, in the order in which they began."""
    unique = {exchange.id: exchange for exchange in exchanges}.values()
    conversations = group(seen(exchange, decode(exchange)) for exchange in unique)
    traces = [_trace(conversation, recording) for conversation in conversations]
    return tuple(sorted((t for t in traces if t.steps), key=lambda t: (t.started_at or 0.0, t.id)))


def _trace(conversation: Conversation, recording: Recording | None) -> Trace:
    exchanges = [member.exchange for member in conversation.members]
    start = exchanges[0].started_at
    narrator = Narrator(conversation)
    carry_out(conversation, narrator)
    tags = dict(recording.tags) if recording else {}
    return Trace(
        id=_identify(exchanges),
        steps=_steps(narrator.drafts, start * 1000),
        session=recording.session if recording else None,
        recording=recording.id if recording else None,
        started_at=start,
        tags=tags,
        agent_version=tags.get("agent_version"),
    )


def _identify(exchanges: Iterable[Exchange]) -> str:
    digest = hashlib.sha256()
    for exchange in exchanges:
        digest.update(f"{exchange.id}\n{exchange.started_at!r}\n".encode())
    return f"t-{digest.hexdigest()[:12]}"


def _steps(drafts: Iterable[Draft], start: float) -> tuple[Step, ...]:
    # Sorting is stable: what came at one time keeps the order in which it was told.
    ordered = sorted(drafts, key=lambda draft: draft.time)
    return tuple(_step(seq, draft, start) for seq, draft in enumerate(ordered, 1))


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
        sources=tuple(dict.fromkeys(draft.sources)),
        model=draft.model,
        usage=draft.usage,
        error=draft.error,
    )
