"""Which conversations to ask about an exchange, so that not all are asked about each.

A pre-selection that changes no answer: it gives, in their order, the conversations that can pass a
test at a moment. Moments come in time order.
"""

import heapq
from collections.abc import Sequence

from abs_replay.assembly.conversations import Conversation
from abs_replay.exchange import Role


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
