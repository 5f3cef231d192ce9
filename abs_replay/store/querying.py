"""Questions in SQL over the documented views, shut in: nothing but the store can be reached or changed.

The store is opened read-only. That alone would not do, since `COPY .. TO` writes files and a view that
somebody put into the store can read them: so external access is off before the first statement, no
extension can be loaded, no Python variable is taken for a table, the configuration is locked, and only one
SELECT (or EXPLAIN) is run, within bounds of memory and time.
https://duckdb.org/docs/stable/operations_manual/securing_duckdb/overview
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from abs_replay.errors import UsageError
from abs_replay.store import migrations, opening, traces, views
from abs_replay.store.held import Held
from abs_replay.trace import Trace

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SHUT_IN: opening.Settings = opening.TO_READ | {
    "lock_configuration": "false",  # until all is set
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "python_enable_replacements": "false",
    "memory_limit": "1GB",
    "temp_directory": "",  # what does not fit into memory is not put on the disk either
}
TIME_LIMIT_S = 60.0
MOST_ROWS = 1_000_000  # of one answer
_AT_ONCE = 10_000
_AGAIN_S = 0.05  # how soon a query that goes on is told again to end: it may not have begun before


@dataclass(frozen=True, slots=True)
class Table:
    """An answer: the columns, as (name, DuckDB's type), and the rows."""

    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Any, ...], ...]


class Querying(Held):
    """What a store can be asked in SQL."""

    def ask(self, sql: str, limit_s: float = TIME_LIMIT_S) -> Table:
        """Run one SELECT over the documented views. Raises `UsageError` in one line, `StoreError`."""
        with self.shut_in() as connection:
            return run(connection, sql, limit_s)

    def traces_where(self, condition: str, limit_s: float = TIME_LIMIT_S) -> dict[tuple[str, str], bool]:
        """Every trace as (recording, id), and whether a condition over the view `traces` holds of it.

        Raises `UsageError` in one line.
        """
        with self.shut_in() as connection:
            return fitting(connection, condition, limit_s)

    @contextmanager
    def shut_in(self) -> Iterator[DuckDBPyConnection]:
        """The store to read from, with the views, and nothing that can be set from here on."""
        with self._reading(SHUT_IN) as connection:
            shut(connection)
            yield connection


def shut(connection: DuckDBPyConnection) -> None:
    """Make the views, and let nothing be set from here on."""
    views.create(connection)
    connection.execute("SET TimeZone = 'UTC'")
    # DuckDB tells its settings to whoever asks, and takes these from the environment: a proxy's password, the
    # user's home. Not in `SHUT_IN`: whether its parts are set before all is shut is chance.
    connection.execute("SET http_proxy = ''")
    connection.execute("SET secret_directory = 'none'")
    connection.execute("SET lock_configuration = true")


def where(
    given: Sequence[Trace], condition: str, limit_s: float = TIME_LIMIT_S
) -> dict[tuple[str, str], bool]:
    """The same of traces that are in no store; the other views are empty."""
    import duckdb

    recordings: dict[str, list[Trace]] = {}
    for trace in given:
        recordings.setdefault(trace.recording or "", []).append(trace)
    with duckdb.connect(":memory:", config=SHUT_IN) as connection:
        migrations.migrate(connection, 0)
        for recording, its in recordings.items():
            traces.save(connection, recording, its, "", "")
        shut(connection)
        return fitting(connection, condition, limit_s)


def fitting(connection: DuckDBPyConnection, condition: str, limit_s: float) -> dict[tuple[str, str], bool]:
    """The traces with whether the condition, which has to be one expression, holds of each."""
    import duckdb

    with _explaining(limit_s):
        if not condition.strip() or not _is_text(condition):
            raise UsageError("it says nothing that could hold: give a condition, such as steps > 3")
        duckdb.SQLExpression(condition)
    # The line break ends a comment that the condition may end in.
    found = run(connection, f"SELECT recording, id, ({condition}\n)::BOOLEAN FROM traces", limit_s)
    return {(recording, id_): holds is True for recording, id_, holds in found.rows}


def run(connection: DuckDBPyConnection, sql: str, limit_s: float) -> Table:
    """Run one SELECT; raises `UsageError` in one line."""
    with _explaining(limit_s):
        return _interruptible(connection, lambda: _answer(connection, sql), limit_s)


def _interruptible(connection: DuckDBPyConnection, answer: Callable[[], Table], limit_s: float) -> Table:
    """What a thread beside this one finds, which is ended after `limit_s`, and by Ctrl-C at once.

    In this thread DuckDB would look for Ctrl-C between its tasks only, and one task of a large join may
    take minutes; what another thread tells it is heard within each.
    """
    with ThreadPoolExecutor(1) as beside:
        found = beside.submit(answer)
        try:
            wait((found,), limit_s)
        finally:
            while not found.done():
                connection.interrupt()
                wait((found,), _AGAIN_S)
        return found.result()


def _answer(connection: DuckDBPyConnection, sql: str) -> Table:
    connection.execute(_only_statement(connection, sql))
    columns = tuple((name, str(kind)) for name, kind, *_ in connection.description or ())
    return Table(columns, tuple(_rows(connection)))


def _rows(connection: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    count = 0
    while rows := connection.fetchmany(_AT_ONCE):
        count += len(rows)
        if count > MOST_ROWS:
            raise UsageError(f"the answer has more than {MOST_ROWS:,} rows: narrow it, or add LIMIT")
        yield from rows


def _only_statement(connection: DuckDBPyConnection, sql: str) -> Any:
    if not _is_text(sql):
        raise UsageError("the query has a character that is none: half of a surrogate pair")
    statements: Sequence[Any] = connection.extract_statements(sql)
    if len(statements) != 1:
        many = f"{len(statements)} statements" if statements else "no statement"
        raise UsageError(f"{many} where there has to be one: ask one SELECT")
    (statement,) = statements
    if (kind := _kind(statement)) not in ("SELECT", "EXPLAIN"):
        raise UsageError(f"a statement of type {kind}: the store is only read, ask one SELECT")
    return statement


def _kind(statement: Any) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB's Python has no name for some, `UPDATE EXTENSIONS` for one
        return "that is not known"


def _is_text(sql: str) -> bool:
    try:
        sql.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def _explaining(limit_s: float) -> Iterator[None]:
    """Say in one line what DuckDB says of a query, which is the user's."""
    import duckdb

    try:
        yield
    except duckdb.InterruptException:
        raise UsageError(
            f"it took longer than {limit_s:g} s: narrow the query, or raise --time-limit"
        ) from None
    except duckdb.OutOfMemoryException:
        raise UsageError(f"it took more than {SHUT_IN['memory_limit']} of memory: narrow the query") from None
    except duckdb.Error as error:
        raise UsageError(one_line(str(error))) from None


def one_line(message: str) -> str:
    """DuckDB's words in one line, with the line of the query where it has several."""
    head, _, place = message.partition("\nLINE ")
    said = " ".join(line.strip() for line in head.splitlines() if line.strip())
    said = re.sub(r"^\w+(?: \w+)? Error: ", "", said) or "DuckDB says nothing more"
    number = place.partition(":")[0]
    return f"{said} (line {number})" if number.isdecimal() and number != "1" else said
