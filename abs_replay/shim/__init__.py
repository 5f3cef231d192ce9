"""Stands where an MCP client's configuration names a server of standard input and output, and records it.

Two processes: in this one `passing` and `process` make as if nothing stood there, and `feed` carries a copy
to the one `apart`. There `talk` makes exchanges of it, which `places` keeps.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from abs_replay.shim.apart import begin
from abs_replay.shim.feed import Feed, Intake, Kind
from abs_replay.shim.passing import Pump
from abs_replay.shim.process import end_like, start

if TYPE_CHECKING:
    from abs_replay.redact import Redactor

_PATIENCE_S: Final = 1.0  # for the end of the recording; clients give a server two seconds to end


def run(
    name: str,
    command: Sequence[str],
    store: Path | None,
    own_name: str | None,
    *,
    redactor: Callable[[], "Redactor"],
    say: Callable[[str], None],
) -> int:
    """Run a server until it ends, and give its status. Where a signal ended it, so does it end us.

    `redactor` is called in the process that records, where it writes a recording of its own.
    """
    server = start(command)

    def record(reader: int) -> None:
        intake = Intake(reader)
        # Loaded here: what it needs takes longer to load than many servers take to start.
        from abs_replay.shim import places, recording, talk

        place = talk.Place(name, os.path.basename(command[0]))
        wanted = places.wanted(store, own_name, place, os.environ, Path.cwd())
        recording.record(intake, server.pid, place, places.Keeper(wanted, redactor, say))

    feed = Feed(begin(record, (server.stdin, server.stdout), say), say)
    server.hand_on_signals()
    Pump(
        0, server.stdin, _noting(feed, Kind.CLIENT, Kind.CLIENT_ENDED), _ending(feed, Kind.SERVER_DEAF)
    ).start()
    outward = Pump(
        server.stdout, 1, _noting(feed, Kind.SERVER, Kind.SERVER_ENDED), _ending(feed, Kind.CLIENT_DEAF)
    )
    outward.start()
    status = server.wait()
    outward.drain()
    feed.finish(_PATIENCE_S)
    return end_like(status)


def _noting(feed: Feed, kind: Kind, ended: Kind) -> Callable[[bytes], None]:
    return lambda data: feed.put(kind if data else ended, data)


def _ending(feed: Feed, kind: Kind) -> Callable[[], None]:
    return lambda: feed.put(kind)
