"""`abs sql`: questions in SQL, over documented views of the store, which is only read."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.report_format import put_out
from abs_replay.errors import UsageError
from abs_replay.reports import Screen

if TYPE_CHECKING:
    from abs_replay.store import Table

FORMATS = ("table", "json", "csv")
MEMORY = 2 << 30  # bytes that a query may take; DuckDB's own limit knows nothing of long texts
WHERE = click.Path(path_type=Path)


@click.command()
@click.argument("query", required=False)
@click.option("--file", type=WHERE, help="Ask what stands in this file, or - for standard input.")
@click.option("--schema", is_flag=True, help="List the views with their columns, and what they mean.")
@click.option("--store", type=WHERE, help="The store [default: ABS_STORE, or .abs/store.duckdb].")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--output", type=WHERE, help="Write the answer to this file.")
@click.option(
    "--time-limit",
    type=click.FloatRange(0, 86_400, min_open=True),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Give up after that long.",
)
def command(
    query: str | None,
    file: Path | None,
    schema: bool,
    store: Path | None,
    format_: str,
    output: Path | None,
    time_limit: float,
) -> None:
    """Ask the store in SQL: one SELECT over documented views, in DuckDB's dialect.

    \b
    abs sql "SELECT status, count(*) FROM current_verdicts GROUP BY status"
    abs sql "SELECT trace, text FROM steps WHERE text ILIKE '%refund%'" --format csv
    abs sql "SELECT * FROM flips WHERE direction = 'regression'" --format json
    abs sql --schema                               the views, and what their columns mean
    abs sql --file monthly.sql --output monthly.csv --format csv

    The store is only read, and nothing beside it can be reached: no files, no network, no extensions, no
    settings. Times are of UTC.
    """
    screen = None if output else Screen.of(sys.stdout)
    if schema:
        if query is not None or file is not None:
            raise UsageError("abs sql --schema lists the views: leave the query out")
        put_out(_schema(format_, screen), output)
        return
    put_out(_written(_ask(_query(query, file), store, time_limit), format_, screen), output)


def _query(query: str | None, file: Path | None) -> str:
    if (query is None) == (file is None):
        raise UsageError("abs sql: give one query, or the --file that it stands in; --schema lists the views")
    if file is None:
        return query or ""
    try:
        data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{file}: can not be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: is no UTF-8 text (byte {error.start})") from None


def _ask(sql: str, path: Path | None, limit_s: float) -> "Table":
    from abs_replay.cli.ls import say_what_is_not_derived
    from abs_replay.store import Store, default_path

    store = Store(default_path(path, os.environ))
    say_what_is_not_derived(store, None)
    with _bounded_memory():
        try:
            return store.ask(sql, limit_s)
        except UsageError as error:
            raise UsageError(f"abs sql: {error}") from None
        except MemoryError:
            raise UsageError(
                "abs sql: the answer does not fit into memory: narrow it, or add LIMIT"
            ) from None


@contextmanager
def _bounded_memory() -> Iterator[None]:
    """Let this process take `MEMORY` more than it has, where the system can say how much that is."""
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + MEMORY
    fitting = [limit for limit in (wanted, soft, hard) if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(fitting), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _written(answer: "Table", format_: str, screen: Screen | None) -> str:
    from abs_replay.cli import tabular
    from abs_replay.reports.json_report import write

    if format_ == "json":
        return write(tabular.as_json(answer))
    if format_ == "csv":
        return tabular.as_csv(answer, harmless=screen is not None)
    return tabular.table(answer, screen)


def _schema(format_: str, screen: Screen | None) -> str:
    from abs_replay.store import Table
    from abs_replay.store.views import described

    views = described()
    if format_ == "table":
        from abs_replay.cli.columns import columns

        return "\n".join(
            f"{view.name}: {view.about}\n"
            + columns(
                ("COLUMN", "TYPE", "MEANING"), [(c.name, c.type, c.about) for c in view.columns], screen
            )
            for view in views
        )
    names = (("view", ""), ("column", ""), ("type", ""), ("meaning", ""))
    rows = [(view.name, column.name, column.type, column.about) for view in views for column in view.columns]
    return _written(Table(names, tuple(rows)), format_, screen)
