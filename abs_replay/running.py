"""Which recordings run now: a note beside the store for each, so that other processes find its recorder.

A recorder notes itself when it begins and takes the note away when it ends. A note whose process is gone
counts for nothing; the next to begin takes it away, and so does who removes recordings. It names a listener
and a token, which whoever wants something of the recorder shows (`POST URL/__abs__/...`, header
`x-abs-token`): a page in a browser can reach loopback, but not read the note.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from abs_replay.errors import RecordingError

TOKEN_HEADER = "x-abs-token"


@dataclass(frozen=True, slots=True)
class Running:
    """One running recording: its id and name, the process, a listener's origin, the token it asks for."""

    recording: str
    name: str
    process: int
    url: str
    token: str


@contextmanager
def noted(store: Path, running: Running) -> Iterator[None]:
    """Keep the note while the block runs; raises `RecordingError` where it can not be written."""
    forget_gone(store)
    path = store.with_name(f"{store.name}.{running.recording[:12]}.running")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(asdict(running), file)
    except OSError as error:
        raise RecordingError(f"{path} can not be written: {error.strerror or error}") from error
    try:
        yield
    finally:
        with suppress(OSError):  # a folder that is gone took the note with it
            path.unlink(missing_ok=True)


def running(store: Path) -> tuple[Running, ...]:
    """The recordings of a store that run now, the latest to begin first; half-written notes are none."""
    notes = [(path, each) for path, each in _notes(store) if _is_alive(each.process)]
    return tuple(each for _, each in sorted(notes, key=lambda note: _written_at(note[0]), reverse=True))


def forget_gone(store: Path) -> None:
    """Take the notes away whose processes are gone: killed, they could not."""
    for path, each in _notes(store):
        if not _is_alive(each.process):
            with suppress(OSError):  # of someone else, or gone meanwhile
                path.unlink()


def _written_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0  # it ended meanwhile


def _notes(store: Path) -> Iterator[tuple[Path, Running]]:
    for path in store.parent.glob(f"{_escaped(store.name)}.*.running"):
        with suppress(OSError, ValueError, TypeError):  # it ended meanwhile, or is none of ours
            yield path, Running(**json.loads(path.read_bytes()))


def _escaped(name: str) -> str:
    return "".join(f"[{each}]" if each in "*?[" else each for each in name)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
