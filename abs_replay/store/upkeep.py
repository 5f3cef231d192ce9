"""What is done with a store when its recordings are over: annotating, removing, merging, compacting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from abs_replay.exchange import Exchange
from abs_replay.store import merging, notes, opening, redacting, removing, writing
from abs_replay.store.held import Held
from abs_replay.store.merging import Merged
from abs_replay.store.notes import Note
from abs_replay.store.removing import Single
from abs_replay.store.summaries import Found


class Upkeep(Held):
    """What a store can do for its upkeep."""

    def annotate(self, found: Found, name: str | None, change: Note) -> None:
        """Name, tag or note what `find` found; a recording's name and tags themselves change."""
        with self._writing() as connection:
            notes.annotate(connection, found, name, change)

    def note(self, trace_id: str, recording_id: str, tags: Mapping[str, str]) -> None:
        """Add tags to a trace, which keeps them when it is derived again."""
        self.annotate(Found("trace", trace_id, recording_id), None, Note(tags))

    def notes(self, kind: str, recording_id: str | None = None) -> dict[tuple[str | None, str], Note]:
        """What was added to recordings, traces or exchanges, by recording and id."""
        with self._reading() as connection:
            return notes.notes(connection, kind, recording_id)

    def remove(
        self, recordings: Sequence[str], gradings_: Sequence[str] = (), traces: Sequence[Single] = ()
    ) -> None:
        """Remove recordings with all they hold, gradings, and single traces, all or nothing."""
        with self._writing() as connection:
            removing.remove(connection, recordings, gradings_, traces)

    def gradings_of(self, recordings: Sequence[str], traces: Sequence[str] = ()) -> tuple[str, ...]:
        """The gradings that judged traces of these recordings, or these traces."""
        with self._reading() as connection:
            return tuple(removing.gradings_of(connection, recordings, traces))

    def merge(self, other: Path) -> Merged:
        """Take over what another store holds and this one does not, all or nothing."""
        source = Held(other, self._patience, self._say)
        with source._reading():  # it is there, and in the current format
            pass
        if not source.spool.is_empty:
            with source._writing():
                pass
        with self._writing() as connection:
            with opening.attached(connection, other, self._patience) as name:
                merged = merging.merge(connection, name)
            writing.compress(connection)
        return merged

    def change(
        self, exchange: Callable[[Exchange], Exchange], text: Callable[[str], str], keep: bool = True
    ) -> redacting.Changed:
        """Change every exchange and text by these, a batch a transaction; without `keep`, only count."""
        if not keep:
            with self._reading() as connection:
                return redacting.change(connection, exchange, text, keep)
        with self._reading():  # there is a store
            pass
        with self._writing() as connection:
            changed = redacting.change(connection, exchange, text, keep)
            writing.compress(connection)
            return changed

    def compact(self) -> tuple[int, int]:
        """Give back what deleted things take up, and leave nothing of them; gives the bytes before and after.

        Not while a recorder runs: it would spool as long as this takes.
        """
        with self._reading():  # there is a store
            pass
        with self._writing():  # what is spooled comes along
            pass
        before = self.path.stat().st_size
        opening.compact(self.path, self._patience)
        return before, self.path.stat().st_size
