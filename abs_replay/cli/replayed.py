"""What a replay plays: a cassette's file, or a recording of the store."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.errors import CassetteError, UsageError

if TYPE_CHECKING:
    from abs_replay.cassette import Cassette


def what(
    arguments: Sequence[str], recording: str | None, store: Path | None
) -> "tuple[Cassette, Sequence[str]]":
    """Give the cassette, and the command that stands behind it."""
    if recording is not None:
        return _from_store(recording, store), arguments
    if not arguments:
        raise UsageError("nothing to replay: say abs replay FILE.cassette.json, or --recording last")
    return from_file(Path(arguments[0])), arguments[1:]


def _from_store(recording: str, store: Path | None) -> "Cassette":
    from abs_replay.cassette import Cassette
    from abs_replay.store import Store, default_path

    stored = Store(default_path(store, os.environ))
    found = stored.recording(recording)
    exchanges = stored.exchanges(found.id)
    if not exchanges and stored.traces(found.id):
        raise UsageError(
            f"recording {found.name} holds traces and no exchanges: there is nothing to replay; abs grade "
            "judges it"
        )
    return Cassette(found, exchanges)


def from_file(path: Path) -> "Cassette":
    """Read a cassette; raises `CassetteError`."""
    from abs_replay.cassette import loads

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        hint = "the first argument is the cassette, unless --recording R is given"
        raise CassetteError(f"{path} can not be read: {error.strerror} ({hint})") from None
    except UnicodeDecodeError:
        raise CassetteError(f"{path} is no UTF-8 text, as cassettes are") from None
    return loads(text, str(path))
