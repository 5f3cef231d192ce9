"""The documented views (`abs sql --schema`), made anew over a store each time it is asked.

They are temporary ones, of the connection and not of the file: whatever views somebody put into a store,
a question is answered by these. What they are made of may change with any version; they do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from abs_replay.store import graded_views, recorded_views
from abs_replay.store.schema import EXCHANGE_TABLES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

VIEWS = (*recorded_views.VIEWS, *graded_views.VIEWS)
_SPOOLED = "SELECT table_name FROM duckdb_tables() WHERE temporary"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a view, with its type in DuckDB."""

    name: str
    type: str
    about: str


@dataclass(frozen=True, slots=True)
class Described:
    """A view as people read of it."""

    name: str
    about: str
    columns: tuple[Column, ...]


def create(connection: DuckDBPyConnection) -> None:
    """Make the views over the store that is open."""
    ((database,),) = connection.execute("SELECT current_database()").fetchall()
    quoted = database.replace('"', '""')
    spooled = {table for (table,) in connection.execute(_SPOOLED).fetchall()}
    tables = [f'"{quoted}".main.{table}' for table in EXCHANGE_TABLES]
    tables += ["temp.main.spooled"] * ("spooled" in spooled)
    every = " UNION ALL BY NAME ".join(f"SELECT * FROM {table}" for table in tables)
    instead = {"exchanges": f"({every})"}
    for table in spooled - {"spooled"}:  # which stand before the store's own, and would before the view
        connection.execute(f"ALTER TABLE temp.main.{table} RENAME TO spooled_{table}")
        instead[table] = f"temp.main.spooled_{table}"
    for view in VIEWS:
        connection.execute(view.sql(database, instead))


def described() -> tuple[Described, ...]:
    """Every view with its columns; no store is needed."""
    import duckdb

    from abs_replay.store import migrations

    with duckdb.connect(":memory:") as connection:
        migrations.migrate(connection, 0)
        create(connection)
        return tuple(
            Described(
                view.name,
                view.about,
                tuple(
                    Column(name, str(row[1]), meaning)
                    for (name, _, meaning), row in zip(
                        view.columns,
                        connection.execute(f'DESCRIBE "{view.name}"').fetchall(),
                        strict=True,
                    )
                ),
            )
            for view in VIEWS
        )
