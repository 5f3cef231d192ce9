"""`abs export`: write a recording as a cassette."""

import os
import re
from collections import Counter
from pathlib import Path

import click

from abs_replay.errors import UsageError


@click.command()
@click.argument("recording", default="last")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file to write [default: NAME.cassette.json].",
)
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def command(recording: str, store: Path | None, output: Path | None, force: bool) -> None:
    """Write RECORDING (a name, an id, last, last~1; last if none is given) as a cassette.

    \b
    abs export                                     the last recording, as NAME.cassette.json
    abs export refund --output tests/refund.cassette.json
    """
    from abs_replay.cassette import Cassette, dumps
    from abs_replay.reports.totals import plural
    from abs_replay.store import Store, default_path

    stored = Store(default_path(store, os.environ))
    found = stored.recording(recording)
    exchanges = stored.exchanges(found.id)
    path = output or Path(f"{_file_name(found.name)}.cassette.json")
    _write(path, dumps(Cassette(found, exchanges)), force)
    counts = Counter(str(exchange.channel) for exchange in exchanges)
    shown = ", ".join(f"{channel} {count}" for channel, count in sorted(counts.items()))
    click.echo(f"{path}: {plural(len(exchanges), 'exchange')}{f' ({shown})' if shown else ''}")
    if not exchanges:
        click.echo(f"warning: recording {found.name} holds no exchange that ended", err=True)


def _file_name(name: str) -> str:
    """A recording's name as one that leads out of no folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "recording"


def _write(path: Path, text: str, force: bool) -> None:
    if path.exists() and not force:
        raise UsageError(f"{path} exists: say --force to write over it, or --output FILE")
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_text(text, encoding="utf-8", newline="\n")
        else:
            _replace(path.resolve(), text)
    except OSError as error:
        raise UsageError(f"{path} can not be written: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all: the one before it may be the only copy."""
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
