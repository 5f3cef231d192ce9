"""What judges said, as the store keeps it; and what could not be written, set aside in a file beside it.

An answer was paid for. Where someone holds the store when a grading ends, its answers lie beside it, each
grading's in a file of its own that is there whole or not at all, until somebody writes answers again. Until
then they are read from there.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.judgement import Question
from abs_replay.store import answers, modes
from abs_replay.store.answers import KeptAnswer, Key, Rows
from abs_replay.store.held import Held

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Answering(Held):
    """What a store knows of judges' answers."""

    def keep_answers(
        self,
        questions: Iterable[Question],
        found: Sequence[KeptAnswer],
        patience: float | None = None,
    ) -> None:
        """Keep what judges said to these questions, in one transaction, after what was set aside."""
        with self._writing(patience, tidy=False) as connection:
            self._fold_answers(connection)
            answers.keep(connection, answers.rows_of(questions, found))

    def set_aside(self, questions: Iterable[Question], found: Sequence[KeptAnswer]) -> None:
        """Keep answers in a file beside the store, since that can not be written, and say so."""
        path = self.path.with_name(f"{self.path.name}.{secrets.token_hex(6)}{_SUFFIX}")
        aside = path.with_name(f"{path.name}.new")
        opener = partial(modes.open_beside, self.path)
        with open(aside, "x", encoding="ascii", opener=opener) as file:
            json.dump(answers.rows_of(questions, found), file)
            file.flush()
            os.fsync(file.fileno())
        aside.rename(path)
        self._say(
            f"someone else has {self.path}: answers of judges ({len(found)}) are in {path.name} beside it, "
            "count from there, and go into the store with the next grading"
        )

    def scores(self, questions: Sequence[str]) -> dict[tuple[str, str], tuple[float, ...]]:
        """Every score that judges, by their fingerprints, gave to these questions, by their digests."""
        with self._reading() as connection:
            return answers.scores(connection, questions)

    def answers(self, questions: Sequence[str], judges: Sequence[str]) -> dict[Key, KeptAnswer]:
        """What these judges, by their fingerprints, have said to these questions, by their digests."""
        with self._reading() as connection:
            found = answers.answers(connection, questions, judges)
        asked, by = set(questions), set(judges)
        for _, rows in self._waiting_answers():
            waiting = map(answers.answer_of, rows["answers"])
            mine = [each for each in waiting if each.settled and each.question in asked and each.judge in by]
            found |= {(each.question, each.judge, each.sample): each for each in mine}
        return found

    def _waiting_answers(self) -> Iterator[tuple[Path, Rows]]:
        """What was set aside, oldest first."""
        paths = [path for path in self.path.parent.glob(f"*{_SUFFIX}") if self._is_mine(path)]
        for path in sorted(paths, key=lambda path: path.stat().st_mtime):
            yield path, json.loads(path.read_bytes())

    def _is_mine(self, path: Path) -> bool:
        return path.name.startswith(f"{self.path.name}.")

    def _fold_answers(self, connection: DuckDBPyConnection) -> None:
        """Write what was set aside; nobody else does so meanwhile, since the store is held."""
        for path, rows in self._waiting_answers():
            answers.keep(connection, rows, once=True)
            path.unlink()


_SUFFIX = ".answers.json"
