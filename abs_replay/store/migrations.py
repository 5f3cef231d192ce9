"""The versions of the store's format, in order. A store is brought up to the last when it is opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from abs_replay.errors import StoreError
from abs_replay.store.schema import (
    ANSWERS,
    BRANCHES,
    BROKEN_OFF,
    FIRST,
    LABELS,
    LEFT_OUT,
    LIVING,
    REFUSED,
    SAID,
    TOKENS,
    WEBSOCKETS,
)

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Migration(NamedTuple):
    """What leads from the version before to this one."""

    version: int
    name: str
    statements: tuple[str, ...]


# Only ever append: stores in the field have run what stands here.
MIGRATIONS = (
    Migration(1, "recordings, exchanges, traces, gradings", FIRST),
    Migration(2, "retries, segments and branches of traces", BRANCHES),
    Migration(3, "why runs broke off", BROKEN_OFF),
    Migration(4, "the messages of WebSockets", WEBSOCKETS),
    Migration(5, "marks and notes", LIVING),
    Migration(6, "what is in no trace", LEFT_OUT),
    Migration(7, "questions, answers, and where gradings come from", ANSWERS),
    Migration(8, "what people said of evaluations", LABELS),
    Migration(9, "tokens from a cache, and of thinking", TOKENS),
    Migration(10, "what the user says in runs", SAID),
    Migration(11, "which gates refused gradings", REFUSED),
)
CURRENT = MIGRATIONS[-1].version

_VERSIONS = "CREATE TABLE schema_versions (version INTEGER, name VARCHAR)"


def version(connection: DuckDBPyConnection, path: Path) -> int:
    """The format's version, 0 for an empty file; raises `StoreError` for a newer or a foreign one."""
    import duckdb

    try:
        (found,) = connection.execute("SELECT max(version) FROM schema_versions").fetchall()[0]
    except duckdb.CatalogException:  # to list the tables first would be a fifth of what each opening takes
        if connection.execute("SELECT 1 FROM duckdb_tables()").fetchall():
            raise StoreError(
                f"{path} is a DuckDB file, but no store: name another with --store or ABS_STORE"
            ) from None
        return 0
    if found > CURRENT:
        raise StoreError(
            f"store {path} has format {found}, this abs-replay knows formats up to {CURRENT}: "
            "upgrade abs-replay, or name another store with --store or ABS_STORE"
        )
    return int(found)


def migrate(connection: DuckDBPyConnection, found: int) -> None:
    """Bring a store from version `found` to the current one, all or nothing."""
    connection.begin()
    if found == 0:
        connection.execute(_VERSIONS)
    for migration in MIGRATIONS[found:]:
        for statement in migration.statements:
            connection.execute(statement)
        connection.execute("INSERT INTO schema_versions VALUES (?, ?)", [migration.version, migration.name])
    connection.commit()
