"""Stands where an MCP client's configuration names a server of standard input and output, and records it.

Three duties, apart from each other: `passing` and `process` make as if nothing stood there; `feed` carries a
copy to a process of its own; there `talk` makes exchanges of it, which `places` keeps.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from abs_replay.exchange import Upstream
from abs_replay.shim.feed import Feed, Kind
from abs_replay.shim.passing import Pump
from abs_replay.shim.places import Keeper, Say, Wanted, store_path
from abs_replay.shim.process import end_like, start
from abs_replay.shim.recording import begin
from abs_replay.shim.talk import Place

_PATIENCE_S: Final = 1.0  # for the end of the recording; clients give a server two seconds to end


def run(name: str, command: Sequence[str], store: Path | None, own_name: str | None, say: Say) -> int:
    """Run a server until it ends, and give its status. Where a signal ended it, so does it end us."""
    place = Place(name, os.path.basename(command[0]))

    def open_keeper() -> Keeper:
        path = store_path(store, os.environ, Path.cwd())
        upstream = Upstream(place.channel, place.url)
        return Keeper(Wanted(path, os.environ.get("ABS_RECORDING") or None, own_name, upstream), say)

    server = start(command)
    feed = begin(server.pid, (server.stdin, server.stdout), place, open_keeper, say)
    server.hand_on_signals()
    inward = Pump(0, server.stdin, _noting(feed, Kind.CLIENT, Kind.CLIENT_ENDED))
    outward = Pump(server.stdout, 1, _noting(feed, Kind.SERVER, Kind.SERVER_ENDED))
    inward.start()
    outward.start()
    status = server.wait()
    outward.drain()
    feed.finish(_PATIENCE_S)
    return end_like(status)


def _noting(feed: Feed, kind: Kind, ended: Kind) -> Callable[[bytes], None]:
    def note(data: bytes) -> None:
        feed.put(kind if data else ended, data)

    return note
