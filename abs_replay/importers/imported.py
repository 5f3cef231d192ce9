"""What an importer makes of a file: exchanges, or traces where the file kept no bytes, and remarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from abs_replay.exchange import Channel, Exchange, Mark, Role, Upstream
from abs_replay.trace import Trace

# The channel of an exchange from a tool that knows none: where it belongs is found by what it holds.
UNPLACED: Final = Channel(Role.TOOL, "")


@dataclass(frozen=True, slots=True)
class Imported:
    """The content of one file, which becomes one recording.

    `exchanges` stand in the order in which they were recorded; one on the channel `UNPLACED` is given one by
    what it holds, and one whose id is empty gets one by its content. `traces` are for formats that kept words
    and no bytes: they stay as they are, since nothing can derive them again. `id` is for formats that name a
    recording for ever. `name` is the file's where none is given; times are Unix seconds. `remarks` say what
    is not as it was on the wire, one sentence a thing: equal ones are counted, so put no number or name of
    one exchange into them.
    """

    exchanges: tuple[Exchange, ...] = ()
    traces: tuple[Trace, ...] = ()
    id: str = ""
    name: str | None = None
    session: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    upstreams: tuple[Upstream, ...] = ()
    marks: tuple[Mark, ...] = ()
    started_at: float | None = None
    ended_at: float | None = None
    remarks: tuple[str, ...] = ()
