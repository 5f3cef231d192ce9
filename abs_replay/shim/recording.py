"""The process that records: it reads what passed from its feed, and ends when the feed does.

It is a process of its own because reading a message of 10 MB, or taking the secrets out of it, keeps a
process's other threads from running, those that pass on; and so that it can still write down what passed
when the other was killed.
"""

import os
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from abs_replay.exchange import Outcome
from abs_replay.shim.feed import Feed, Kind, frames
from abs_replay.shim.lines import Line, Lines
from abs_replay.shim.places import Keeper, Say
from abs_replay.shim.talk import Place, Talk


def begin(
    server: int, not_ours: Sequence[int], place: Place, open_keeper: Callable[[], Keeper], say: Say
) -> Feed:
    """Start the process that records; `not_ours` are descriptors that it must not keep open.

    Call it before any thread is started. Raises `OSError` where there can be no further process.
    """
    reader, writer = os.pipe()
    if os.fork() == 0:
        status = 1
        try:
            _leave(*not_ours, writer)
            _record(reader, server, Talker(place, open_keeper()))
            status = 0
        except Exception as error:
            say(f"nothing is recorded any more: {error!r}")
        finally:
            os._exit(status)
    os.close(reader)
    return Feed(writer, say)


def _leave(*not_ours: int) -> None:
    """Take no part in what ends the client's processes, nor hold what they wait for to be closed."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nowhere, descriptor)
    for descriptor in (*not_ours, nowhere):
        os.close(descriptor)


class Talker:
    """Makes lines of the bytes of both sides, and keeps what they come to."""

    def __init__(self, place: Place, keeper: Keeper) -> None:
        self.keeper = keeper
        self._talk = Talk(place, time.time(), keeper.put)
        self._client, self._server = Lines(), Lines()
        self._outcome = Outcome.UPSTREAM_CLOSED
        self._is_open = True

    def take(self, kind: Kind, at: float, data: bytes) -> None:
        """Take a frame of the feed."""
        match kind:
            case Kind.CLIENT:
                self._from_client(self._client.feed(data), at)
            case Kind.SERVER:
                self._from_server(self._server.feed(data), at)
            case Kind.CLIENT_ENDED:
                self._from_client(self._client.end(), at)
                if self._is_open:
                    self._outcome = Outcome.CLIENT_CLOSED
            case Kind.SERVER_ENDED:
                self._from_server(self._server.end(), at)
                self._is_open = False
            case Kind.CLIENT_MISSED:
                self._client.miss()
            case Kind.SERVER_MISSED:
                self._server.miss()
            case Kind.OVER:
                self._is_open = False

    def close(self, at: float) -> None:
        """Nothing comes any more."""
        self._from_client(self._client.end(), at)
        self._from_server(self._server.end(), at)
        self._talk.end(self._outcome, at)
        self.keeper.close()

    def _from_client(self, lines: Sequence[Line], at: float) -> None:
        for line in lines:
            self._talk.from_client(line, at)

    def _from_server(self, lines: Sequence[Line], at: float) -> None:
        for line in lines:
            self._talk.from_server(line, at)


def _record(reader: int, server: int, talker: Talker) -> None:
    is_over = False
    for kind, at, data in frames(reader, talker.keeper.rest):
        talker.take(kind, at, data)
        if is_over := kind is Kind.OVER:
            break
    if not is_over:  # we alone know that the shim was killed; without it, its server would have been
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGKILL)
    talker.close(time.time())
