"""Labels: verdicts that people gave. They are only ever added; the last word of each person counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from abs_replay.store.held import Held
from abs_replay.store.opening import transaction
from abs_replay.store.schema import LABEL_COLUMNS
from abs_replay.store.texts import plain
from abs_replay.store.writing import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Label:
    """What `who` said of the evaluation `at` of a session, judging a trace: `pass`, `fail` or `unsure`.

    It is about a rule as it was: `question` is the digest of what a judge was asked, None where none was,
    `fingerprint` the rule's. `grading` is that whose verdict was looked at, None where that is not known.
    """

    id: str
    made_at: float
    who: str
    session: str
    trace: str
    at: str
    verdict: str
    note: str | None = None
    question: str | None = None
    fingerprint: str = ""
    grading: str | None = None


class Labelling(Held):
    """What a store can do with labels."""

    def add_labels(self, labels: Sequence[Label]) -> int:
        """Keep labels, all or nothing, but for those that are there; gives how many are new."""
        with self._writing() as connection:
            known = {id_ for (id_,) in connection.execute("SELECT id FROM labels").fetchall()}
            new = {label.id: label for label in labels if label.id not in known}
            with transaction(connection):
                insert(connection, "labels", [_row(label) for label in new.values()])
            return len(new)

    def labels(self) -> tuple[Label, ...]:
        """Every label, the oldest first."""
        with self._reading() as connection:
            return _labels(connection)


def _row(label: Label) -> tuple[object, ...]:
    return tuple(
        plain(value) if isinstance(value, str) else value
        for value in (getattr(label, column) for column in LABEL_COLUMNS)
    )


def _labels(connection: DuckDBPyConnection) -> tuple[Label, ...]:
    names = ", ".join(f'"{name}"' for name in LABEL_COLUMNS)
    rows = connection.execute(f"SELECT {names} FROM labels ORDER BY made_at, rowid").fetchall()
    return tuple(Label(**dict(zip(LABEL_COLUMNS, row, strict=True))) for row in rows)
