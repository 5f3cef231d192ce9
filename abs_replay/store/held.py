"""The file that a store holds: how each call opens it, with what waits beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.exchange import Recording
from abs_replay.store import opening, reading, writing
from abs_replay.store.spool import Spool
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
        self._spool = Spool(self.path)
        self._begun: dict[str, Recording] = {}
        self.begun_again: dict[str, int] = {}

    @contextmanager
    def _reading(self, settings: opening.Settings = opening.SETTINGS) -> Iterator[DuckDBPyConnection]:
        with opening.reading(self.path, self._patience, self._say, settings) as connection:
            rows = [*self._spool.rows(), *left_open(self.path)]
            reading.show_spooled(connection, rows, self._spool.marks())
            yield connection

    @contextmanager
    def _writing(self, patience: float | None = None, tidy: bool = True) -> Iterator[DuckDBPyConnection]:
        patience = self._patience if patience is None else patience
        with opening.writing(self.path, patience, tidy, self._say) as connection:
            gone = [each for each in self._begun.values() if writing.insert_recording(connection, each)]
            writing.fold(connection, self._spool)
            writing.fold_left_open(connection, self.path)
            self.begun_again |= {each.id: writing.count(connection, each.id) for each in gone}
            yield connection
