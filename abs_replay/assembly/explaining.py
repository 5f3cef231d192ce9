"""Why a trace is as it is: what shows each step, and what became of every exchange.

`abs show TRACE --why` prints it. Nothing here is found out afterwards: steps bring their notes, and
conversations their exchanges, from where they were put together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from abs_replay.assembly.conversations import Conversation, Placed
from abs_replay.assembly.drafts import Note
from abs_replay.decoders import Decoded
from abs_replay.trace import Trace


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of an exchange: the traces that it is in, and, where it is in none, or said what was
    known, why; and what its decoder remarked. `protocol` is None where no decoder could read it."""

    exchange: str
    protocol: str | None
    traces: tuple[str, ...] = ()
    why: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Account:
    """The traces of some exchanges; by trace, the notes of each of its steps; every exchange's fate."""

    traces: tuple[Trace, ...]
    notes: Mapping[str, tuple[tuple[Note, ...], ...]]
    fates: tuple[Fate, ...]


def fates(decoded: Mapping[str, Decoded], told: Iterable[tuple[Trace, Conversation]]) -> tuple[Fate, ...]:
    """Say of every exchange, by id, where it went."""
    homes: dict[str, list[str]] = {}
    words: dict[str, str] = {}
    for trace, conversation in told:
        for member in conversation.members:
            for exchange in (member.exchange, *member.others):
                homes.setdefault(exchange.id, []).append(trace.id)
        words |= {p.seen.exchange.id: text for p in conversation.all_turns if (text := _repeats(p))}
        words |= conversation.unasked
    return tuple(
        Fate(
            id_,
            one.protocol,
            tuple(dict.fromkeys(homes.get(id_, ()))),
            words.get(id_) or _why(one, homes, id_),
            one.remarks,
        )
        for id_, one in decoded.items()
    )


def settle(left: dict[str, Decoded], conversation: Conversation, told: bool) -> None:
    """Take the exchanges of a conversation out of those that are in no trace, or put them there."""
    for member in conversation.members:
        for exchange in (member.exchange, *member.others):
            left.pop(exchange.id, None)
        if not told:
            left[member.exchange.id] = member.decoded


def _why(one: Decoded, homes: Mapping[str, list[str]], id_: str) -> str:
    if one.protocol is None:
        return one.reason or "no decoder could read it"
    if id_ in homes:
        return ""
    if one.uses:
        return f"{one.protocol}: no model asked for it, and no conversation is near it in time"
    return f"{one.protocol}: says nothing of a conversation"


def _repeats(placed: Placed) -> str:
    """Say what of a request's history was known."""
    if placed.retry:
        return "the same request again"
    if placed.resumed:
        return "it goes on from the answer before, which was cut short"
    parts = [f"{_messages(placed.repeated)} told before, dropped"] if placed.repeated > 0 else []
    if placed.segment:
        parts.append(f"its history is {placed.segment}")
    if placed.prelude:
        parts.append(f"{_messages(len(placed.prelude))} in place of the history before")
    return "; ".join(parts)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"
