"""Which conversations to ask about an exchange, so that not all are asked about each.

A pre-selection that changes no answer: it gives, in their order, the conversations that can pass a
test at a moment. Moments come in time order.
"""

import heapq
from collections.abc import Sequence
from typing import Final

from abs_replay.assembly.conversations import Conversation
from abs_replay.assembly.sightings import Seen
from abs_replay.exchange import Role

NEAR_MS: Final = 300_000.0  # further away, what no model asked for is somebody else's
_WITHIN, _BEFORE, _AFTER = "within", "before", "after"


class Running:
    """The conversations whose front has an exchange open at a moment."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._coming = [
            (turn.seen.start, turn.seen.end, number)
            for number, one in enumerate(conversations)
            for turn in one.turns
            if turn.seen.role is one.front
        ]
        self._coming.sort(reverse=True)
        self._open: list[tuple[float, int]] = []
        self._conversations = conversations

    def at(self, moment: float) -> list[Conversation]:
        while self._coming and self._coming[-1][0] <= moment:
            _, end, number = self._coming.pop()
            heapq.heappush(self._open, (end, number))
        while self._open and self._open[0][0] < moment:
            heapq.heappop(self._open)
        return [self._conversations[number] for number in sorted({number for _, number in self._open})]


class Awaiting:
    """The conversations that wait for a call's answer at a moment: a thread's last reply has calls."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._coming = [
            (turn.seen.start, number, (turn.seen.role, turn.thread), bool(reply and reply.calls))
            for number, one in enumerate(conversations)
            for turn in one.turns
            for reply in (turn.seen.turn.reply if turn.seen.turn else None,)
        ]
        # Popped from the end: the first in time first, and those of one time as they were placed.
        self._coming.sort(key=lambda item: item[0])
        self._coming.reverse()
        self._open: dict[int, set[tuple[Role, int]]] = {}
        self._conversations = conversations

    def at(self, moment: float) -> list[Conversation]:
        while self._coming and self._coming[-1][0] <= moment:
            _, number, thread, waits = self._coming.pop()
            threads = self._open.setdefault(number, set())
            (threads.add if waits else threads.discard)(thread)
            if not threads:
                del self._open[number]
        return [self._conversations[number] for number in sorted(self._open)]


class Times:
    """When conversations ran, by the turns that were seen in them and by what they called."""

    def __init__(self, conversations: Sequence[Conversation]) -> None:
        self._spans = {
            id(c): (min(turn.seen.start for turn in c.turns), max(turn.seen.end for turn in c.turns))
            for c in conversations
            if c.turns
        }

    def are_known(self, pool: Sequence[Conversation]) -> bool:
        """Say whether any of some conversations has turns."""
        return any(id(c) in self._spans for c in pool)

    def within(self, pool: Sequence[Conversation], one: Seen) -> list[Conversation]:
        """Give the conversations that ran when an exchange began."""
        return [c for c in pool if id(c) in self._spans and self._gap(c, one)[1] == _WITHIN]

    def nearest(self, pool: Sequence[Conversation], one: Seen) -> tuple[Conversation, float, str]:
        """Give the conversation that an exchange lies in, or is nearest to, how many ms away, and on which
        side of it; of two as near the one that begins next, of several that run the one that spoke last."""
        order = (_WITHIN, _BEFORE, _AFTER)
        gaps = [(c, *self._gap(c, one)) for c in pool if id(c) in self._spans]
        return min(gaps, key=lambda gap: (gap[1], order.index(gap[2]), -gap[0].before(one.start)))

    def _gap(self, conversation: Conversation, one: Seen) -> tuple[float, str]:
        first, last = self._spans[id(conversation)]
        last = max(last, conversation.called_until)
        if first <= one.start <= last:
            return 0.0, _WITHIN
        return (max(first - one.end, 0.0), _BEFORE) if one.start < first else (one.start - last, _AFTER)


def why_near(gap: float, side: str) -> str:
    """Say why what no model asked for belongs to a conversation."""
    where = "lies" if side == _WITHIN else f"came {gap / 1000:.1f} s"
    return f"no model asked for it: it {where} {side} the conversation"
