"""Answers that wait for what was asked before they came: messages of MCP servers (`player.streams`)."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from abs_replay.player import Played, Player
from abs_replay.player.streams import Cause
from abs_replay.server.requests import Receive, gone

# A client that never answers what the server asks it, as it did when it was recorded, shall not hang.
PATIENCE_S = 2.0


class Waits:
    """Who waits for what in a replay."""

    def __init__(self, player: Player, closing: asyncio.Event) -> None:
        self.player, self.closing = player, closing
        self.turns: set[asyncio.Future[None]] = set()

    def played(self) -> None:
        """Let those who wait look again."""
        for turn in self.turns:
            if not turn.done():
                turn.set_result(None)

    def of(self, played: Played, scope: str, receive: Receive) -> "Waiting | None":
        """What an answer waits for; None where it waits for nothing."""
        causes = self.player.waits_for(played.number)
        return Waiting(self, causes, played, scope, receive) if causes else None


class Waiting:
    """What one answer waits for. A stream on which a client listens waits as long as the client does."""

    def __init__(
        self, waits: Waits, causes: Sequence[Cause], played: Played, scope: str, receive: Receive
    ) -> None:
        self._waits, self._causes, self._scope, self._receive = waits, causes, scope, receive
        self._patience = None if played.exchange.request.method == "GET" else PATIENCE_S

    async def until(self, at_ms: float) -> None:
        """Wait until what came before this moment of the recording was asked, or the client has left."""
        for cause in self._causes:
            if cause.at_ms <= at_ms and not self._is_asked(cause):
                with suppress(TimeoutError):  # see `PATIENCE_S`
                    async with asyncio.timeout(self._patience):
                        await self._asked(cause)

    def _is_asked(self, cause: Cause) -> bool:
        return self._waits.player.was_asked(cause.number, self._scope)

    async def _asked(self, cause: Cause) -> None:
        ends = {asyncio.ensure_future(end) for end in (gone(self._receive), self._waits.closing.wait())}
        turn = asyncio.get_running_loop().create_future()
        try:
            while not self._is_asked(cause) and not any(end.done() for end in ends):
                turn = asyncio.get_running_loop().create_future()
                self._waits.turns.add(turn)
                await asyncio.wait({turn, *ends}, return_when=asyncio.FIRST_COMPLETED)
                self._waits.turns.discard(turn)
        finally:
            self._waits.turns.discard(turn)
            for end in ends:
                end.cancel()
