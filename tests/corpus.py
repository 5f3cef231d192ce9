"""The shared corpus of real recordings, as imported, each exchange on the channel that it is placed on."""

from dataclasses import replace
from functools import cache
from pathlib import Path

from abs_replay import importers
from abs_replay.errors import UsageError
from abs_replay.exchange import Exchange
from abs_replay.importers import placing


@cache
def recordings(corpus: Path) -> dict[Path, tuple[Exchange, ...]]:
    """Give the exchanges of every file that an importer reads; files broken on purpose are left out."""
    found = {path: read(path) for path in sorted(corpus.rglob("*")) if path.is_file()}
    return {path: exchanges for path, exchanges in found.items() if exchanges}


@cache
def read(path: Path) -> tuple[Exchange, ...]:
    """Give the exchanges of one file, one a second; none where no importer reads it."""
    try:
        source = importers.open_source(path)
        name = importers.recognise(source)
        exchanges = importers.read(name, source).exchanges if name else ()
    except UsageError:
        return ()
    placed, _ = placing.place(exchanges, ())
    return tuple(replace(one, id=f"x{i}", started_at=float(i)) for i, one in enumerate(placed))
