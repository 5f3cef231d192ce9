"""Labels: verdicts that people gave. They are only ever added; the last word of each person counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from abs_replay.labels import Evaluated, Label, Labelled, Opinion, Population
from abs_replay.store import views
from abs_replay.store.held import Held
from abs_replay.store.opening import transaction
from abs_replay.store.schema import LABEL_COLUMNS
from abs_replay.store.texts import plain
from abs_replay.store.writing import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_STANDING = """
    FROM current_verdicts UNION ALL BY NAME
    SELECT p.* EXCLUDE (part_of) FROM verdict_parts p
    SEMI JOIN (SELECT DISTINCT session, trace, grading FROM current_verdicts) USING (session, trace, grading)
"""
_POPULATIONS = f"""
    SELECT v.session, v."at", any_value(v.type) AS type, any_value(v.label) AS label, v.judge,
        v.judge_fingerprint, count(*) FILTER (v.status = 'passed') AS passed,
        count(*) FILTER (v.status IN ('passed', 'failed')) AS decided, any_value(l.traces) AS labelled
    FROM ({_STANDING}) v
    JOIN (SELECT session, "at", count(DISTINCT trace) AS traces FROM labels GROUP BY ALL) l
        ON l.session = v.session AND l."at" = v."at"
    GROUP BY v.session, v."at", v.judge, v.judge_fingerprint
"""


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

    def labelled(self, evaluated: bool = True) -> Labelled:
        """What stands, unless nobody needs it, what people said of it, and how the two compare."""
        standing = f'({_STANDING}) ORDER BY session, trace, "at"'
        with self._reading() as connection:
            labels = _labels(connection)  # before a view is in front of their table
            views.create(connection)
            return Labelled(
                tuple(_rows_of(Evaluated, connection, standing)) if evaluated else (),
                labels,
                tuple(_rows_of(Opinion, connection, 'judge_agreement ORDER BY session, "at", trace, who')),
                tuple(_rows_of(Population, connection, f"({_POPULATIONS}) ORDER BY ALL")),
            )


def _rows_of[Kind](kind: type[Kind], connection: DuckDBPyConnection, source: str) -> Iterator[Kind]:
    """Each row as the dataclass whose fields are its columns."""
    names = ", ".join(f'"{field.name}"' for field in fields(kind))  # type: ignore[arg-type]
    for row in connection.execute(f"SELECT {names} FROM {source}").fetchall():
        yield kind(*row)


def _row(label: Label) -> tuple[object, ...]:
    return tuple(
        plain(value) if isinstance(value, str) else value
        for value in (getattr(label, column) for column in LABEL_COLUMNS)
    )


def _labels(connection: DuckDBPyConnection) -> tuple[Label, ...]:
    names = ", ".join(f'"{name}"' for name in LABEL_COLUMNS)
    rows = connection.execute(f"SELECT {names} FROM labels ORDER BY made_at, rowid").fetchall()
    return tuple(Label(**dict(zip(LABEL_COLUMNS, row, strict=True))) for row in rows)
