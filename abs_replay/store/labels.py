"""Labels: verdicts that people gave. They are only ever added; the last word of each person counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from abs_replay.labels import Evaluated, Label, Opinion, Population
from abs_replay.store import views
from abs_replay.store.held import Held
from abs_replay.store.opening import transaction
from abs_replay.store.schema import LABEL_COLUMNS
from abs_replay.store.texts import plain
from abs_replay.store.writing import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_EVALUATED = tuple(field.name for field in fields(Evaluated))
_STANDING = """
    FROM current_verdicts UNION ALL BY NAME
    SELECT p.* EXCLUDE (part_of) FROM verdict_parts p
    SEMI JOIN (SELECT DISTINCT session, trace, grading FROM current_verdicts) USING (session, trace, grading)
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

    def evaluated(self) -> tuple[Evaluated, ...]:
        """Every verdict that stands, parts of compositions too, by trace and place."""
        names = ", ".join(f'"{name}"' for name in _EVALUATED)
        query = f'SELECT {names} FROM ({_STANDING}) ORDER BY session, trace, "at"'
        with self._reading() as connection:
            views.create(connection)
            rows = connection.execute(query).fetchall()
        return tuple(Evaluated(**dict(zip(_EVALUATED, row, strict=True))) for row in rows)

    def opinions(self) -> tuple[Opinion, ...]:
        """What people said beside what judges did; those that were asked first come first."""
        query = """
            SELECT session, trace, "at", type, label, judge, judge_fingerprint, who, human, status, score,
                stale, note, reason, current
            FROM judge_agreement ORDER BY session, "at", trace, who
        """
        with self._reading() as connection:
            views.create(connection)
            return tuple(Opinion(*row) for row in connection.execute(query).fetchall())

    def populations(self) -> tuple[Population, ...]:
        """How often each judge's answers, as they stand, passed each evaluation that has a label."""
        query = f"""
            SELECT v.session, v."at", any_value(v.type), any_value(v.label), v.judge, v.judge_fingerprint,
                count(*) FILTER (v.status = 'passed'),
                count(*) FILTER (v.status IN ('passed', 'failed')), any_value(l.traces)
            FROM ({_STANDING}) v
            JOIN (SELECT session, "at", count(DISTINCT trace) AS traces FROM labels GROUP BY ALL) l
                ON l.session = v.session AND l."at" = v."at"
            GROUP BY v.session, v."at", v.judge, v.judge_fingerprint
            ORDER BY ALL
        """
        with self._reading() as connection:
            views.create(connection)
            return tuple(Population(*row) for row in connection.execute(query).fetchall())


def _row(label: Label) -> tuple[object, ...]:
    return tuple(
        plain(value) if isinstance(value, str) else value
        for value in (getattr(label, column) for column in LABEL_COLUMNS)
    )


def _labels(connection: DuckDBPyConnection) -> tuple[Label, ...]:
    names = ", ".join(f'"{name}"' for name in LABEL_COLUMNS)
    rows = connection.execute(f"SELECT {names} FROM labels ORDER BY made_at, rowid").fetchall()
    return tuple(Label(**dict(zip(LABEL_COLUMNS, row, strict=True))) for row in rows)
