"""What the process apart does: it reads what passed from its feed, and ends when the feed does."""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from abs_replay.exchange import Exchange, Outcome
from abs_replay.shim.feed import Intake, Kind
from abs_replay.shim.lines import Line, Lines
from abs_replay.shim.places import Keeper
from abs_replay.shim.talk import Place, Talk

_SOON_S: Final = 1.0  # what is answered within it is not written twice
_NEXT_S: Final = 1e-6  # between two lines that came in one piece, which are told apart by their time


def record(intake: Intake, server: int, place: Place, keeper: Keeper) -> None:
    """Keep what the feed brings until it ends; `server` is the server's process."""
    talker, is_over = Talker(place, keeper), False

    def rest() -> None:
        keeper.rest()
        keeper.leave(talker.unanswered(time.time() - _SOON_S))

    for kind, at, data in intake.frames(rest):
        talker.take(kind, at, data)
        if is_over := kind is Kind.OVER:
            break
    if not is_over:  # we alone know that the shim was killed; without it, its server would have been
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)
    talker.close(time.time())
    keeper.close()


class Talker:
    """Makes lines of the bytes of both sides, and exchanges of them, which `keeper` gets."""

    def __init__(self, place: Place, keeper: Keeper) -> None:
        self._talk = Talk(place, time.time(), keeper.put)
        self._client, self._server = Lines(), Lines()
        self._outcome: Outcome | None = None
        self._last = 0.0

    def take(self, kind: Kind, at: float, data: bytes) -> None:
        """Take a frame of the feed."""
        match kind:
            case Kind.CLIENT:
                self._from_client(self._client.feed(data), at)
            case Kind.SERVER:
                self._from_server(self._server.feed(data), at)
            case Kind.CLIENT_ENDED:
                self._from_client(self._client.end(), at)
                self._end(Outcome.CLIENT_CLOSED)
            case Kind.CLIENT_DEAF:
                self._end(Outcome.CLIENT_CLOSED)
            case Kind.SERVER_ENDED:
                self._from_server(self._server.end(), at)
                self._end(Outcome.UPSTREAM_CLOSED)
            case Kind.SERVER_DEAF | Kind.OVER:
                self._end(Outcome.UPSTREAM_CLOSED)
            case Kind.CLIENT_MISSED:
                self._client.miss()
            case Kind.SERVER_MISSED:
                self._server.miss()

    def unanswered(self, before: float) -> tuple[Exchange, ...]:
        """What was asked before a moment and waits for its answer."""
        return self._talk.unanswered(before)

    def close(self, at: float) -> None:
        """Nothing comes any more."""
        self._from_client(self._client.end(), at)
        self._from_server(self._server.end(), at)
        self._talk.end(self._outcome or Outcome.CLIENT_CLOSED, at)

    def _end(self, outcome: Outcome) -> None:
        """The first to end is who ended the talk."""
        self._outcome = self._outcome or outcome

    def _from_client(self, lines: Sequence[Line], at: float) -> None:
        for line in lines:
            self._talk.from_client(line, self._moment(at))

    def _from_server(self, lines: Sequence[Line], at: float) -> None:
        for line in lines:
            self._talk.from_server(line, self._moment(at))

    def _moment(self, at: float) -> float:
        self._last = max(at, self._last + _NEXT_S)
        return self._last
