"""Our own cassettes, back into a store."""

from abs_replay import cassette
from abs_replay.errors import CassetteError, UsageError
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source


def recognises(source: Source) -> bool:
    """Whether the file is called `.cassette.json`, or is an object with `abs_cassette`."""
    if source.name.endswith(".cassette.json"):
        return True
    return '"abs_cassette"' in (source.text or "")[:4096] and isinstance(source.json, dict)


def read(source: Source) -> Imported:
    """Read a cassette with its channels, ids and times; raises `UsageError`."""
    try:
        found = cassette.loads(source.need_text(), str(source.path))
    except CassetteError as error:
        raise UsageError(str(error)) from None
    recording = found.recording
    return Imported(
        exchanges=found.exchanges,
        id=recording.id,
        name=recording.name,
        session=recording.session,
        tags=recording.tags,
        upstreams=recording.upstreams,
        marks=recording.marks,
        started_at=recording.started_at,
        ended_at=recording.ended_at,
    )
