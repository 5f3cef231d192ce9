"""The file that a store holds: how each call opens it, with what waits beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

from abs_replay.exchange import Recording
from abs_replay.store import opening, reading, writing
from abs_replay.store.spool import Spool, Spooled
from abs_replay.store.unfinished import left_open

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Held:
    """One DuckDB file with its spool; what goes on being recorded is begun again in a new file."""

    def __init__(
        self,
        path: Path | str,
        patience: float = 5.0,
        say: Callable[[str], None] = opening.say_on_stderr,
    ) -> None:
        self.path, self._say = Path(path), say
        self._patience = patience
        self.spool = Spool(self.path)
        self._begun: dict[str, Recording] = {}
        self._to_begin: set[str] = set()  # of these, those that no file had yet
        self.begun_again: dict[str, int] = {}
        self._open: dict[int, DuckDBPyConnection] = {}  # by thread

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Read all that is read inside through one opening, of which each takes DuckDB 0.05 s.

        Let nothing else happen inside: until it is over nobody can write to the store, nor ask it in SQL.
        """
        thread = get_ident()
        if thread in self._open:
            yield
            return
        with self._reading() as connection:
            self._open[thread] = connection
            try:
                yield
            finally:
                del self._open[thread]

    @contextmanager
    def _reading(self, settings: opening.Settings = opening.TO_READ) -> Iterator[DuckDBPyConnection]:
        if settings is opening.TO_READ and get_ident() in self._open:
            yield self._open[get_ident()]
            return
        with opening.reading(self.path, self._patience, self._say, settings) as connection:
            reading.show_spooled(connection, self._beside())
            yield connection

    def _beside(self) -> Iterator[Spooled]:
        """What waits beside the file, some of it at a time."""
        yield from self.spool.batches()
        if rows := left_open(self.path):
            yield Spooled(exchanges=list(rows))

    @contextmanager
    def _writing(self, patience: float | None = None, tidy: bool = True) -> Iterator[DuckDBPyConnection]:
        patience = self._patience if patience is None else patience
        with opening.writing(self.path, patience, tidy, self._say) as connection:
            new = [each.id for each in self._begun.values() if writing.insert_recording(connection, each)]
            writing.fold(connection, self.path, self.spool)
            writing.fold_left_open(connection, self.path)
            gone = [id_ for id_ in new if id_ not in self._to_begin]
            self.begun_again |= {id_: writing.count(connection, id_) for id_ in gone}
            self._to_begin.clear()
            yield connection
