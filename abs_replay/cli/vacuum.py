"""`abs vacuum`: old recordings removed, and the file no larger than what it holds."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.saying import say
from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.store import RecordingSummary


@click.command()
@click.option(
    "--older-than",
    metavar="D",
    help="Remove recordings that ended before a date, a time, or 12h, 30d, 8w ago.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(older_than: str | None, dry_run: bool, store: Path | None, format_: str) -> None:
    """Remove old recordings, and give back the room of all that was removed.

    \b
    abs vacuum                                    only give back the room
    abs vacuum --older-than 30d --dry-run         what would be removed
    abs vacuum --older-than 30d                   for a nightly job

    The file is copied without what was deleted, and the copy put in its place at once, so nothing is lost if
    this is interrupted; it needs as much room on the disk as the store holds. Not while a recording runs.
    Gradings stay, as with `abs rm`.
    """
    from abs_replay.cli.columns import size
    from abs_replay.cli.rm import refuse_running, told
    from abs_replay.reports.json_report import write
    from abs_replay.running import forget_gone
    from abs_replay.store import Store, default_path

    opened = Store(default_path(store, os.environ))
    old = _old(opened.recordings(), older_than)
    before = after = opened.path.stat().st_size
    if not dry_run:
        refuse_running(opened)
        opened.remove([each.recording.id for each in old])
        forget_gone(opened.path)
        _, after = opened.compact()
    if format_ == "json":
        removed: list[Json] = [_json(each) for each in old]
        facts: dict[str, Json] = {"removed": removed, "dry_run": dry_run, "before": before, "after": after}
        click.echo(write(facts), nl=False)
        return
    for each in old:
        say(f"{'would remove' if dry_run else 'removed'} {told(each)}", err=False)
    shrunk = f"{size(before)}" if dry_run else f"{size(before)} before, {size(after)} after"
    say(f"store {opened.path}: {shrunk}", err=False)


def _old(summaries: "Sequence[RecordingSummary]", older_than: str | None) -> "list[RecordingSummary]":
    """Those that ended before; one that was killed, and noted no end, counts from its beginning."""
    from abs_replay.cli.since import since

    if older_than is None:
        return []
    before = since(older_than, datetime.now().astimezone(), "--older-than")
    return [each for each in summaries if (each.recording.ended_at or each.recording.started_at) < before]


def _json(summary: "RecordingSummary") -> Json:
    recording = summary.recording
    return {
        "id": recording.id,
        "name": recording.name,
        "started_at": recording.started_at,
        "exchanges": summary.exchanges,
        "bytes": summary.bytes,
    }
