"""`abs merge`: recordings, traces and gradings of other stores, taken over into one."""

import os
from pathlib import Path

import click

from abs_replay.cli.saying import say
from abs_replay.errors import UsageError


@click.command()
@click.argument("stores", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="STORE...")
@click.option(
    "--into",
    "--store",
    "into",
    type=click.Path(path_type=Path),
    help="The store that takes them, made where there is none [default: ABS_STORE, or .abs/store.duckdb].",
)
def command(stores: tuple[Path, ...], into: Path | None) -> None:
    """Take over recordings, with their traces, marks and notes, and gradings of other stores.

    \b
    abs merge ann.duckdb ben.duckdb --into team.duckdb
    abs merge ci/store.duckdb                               into the store of this folder

    What has an id that is there already is left out, so a merge can be repeated. The other stores stay as
    they are, but for their format: one of an older abs-replay is brought to today's, after a copy was made.
    """
    from abs_replay.cli.rm import refuse_running
    from abs_replay.reports.totals import plural
    from abs_replay.store import Store, default_path

    opened = Store(default_path(into, os.environ))
    for other in stores:
        if other.absolute() == opened.path.absolute() or (opened.path.exists() and _same(other, opened.path)):
            raise UsageError(f"{other} is the store that takes the others: leave it out")
        refuse_running(Store(other))
    for other in stores:
        merged = opened.merge(other)
        taken = (
            f"{plural(merged.recordings, 'recording')} and {plural(merged.gradings, 'grading')} taken over"
        )
        say(f"{other}: {taken}, {merged.there} were there already")


def _same(one: Path, other: Path) -> bool:
    return one.exists() and one.samefile(other)
