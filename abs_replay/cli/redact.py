"""`abs redact`: rules applied afterwards to what a store or a cassette holds."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.redaction import configured_rules
from abs_replay.cli.saying import say
from abs_replay.errors import UsageError
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.redact import Redactor
    from abs_replay.store.redacting import Changed

CASSETTE = ".json"


@click.command()
@click.argument("path", required=False, type=click.Path(path_type=Path), metavar="[STORE|CASSETTE]")
@click.option(
    "--rules",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Take `redact:` from that file [default: the nearest abs.config.yaml].",
)
@click.option(
    "--output", type=click.Path(path_type=Path), help="Write a cassette there [default: in its place]."
)
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if anything would change.")
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(path: Path | None, rules: Path | None, output: Path | None, check: bool, format_: str) -> int:
    """Take secrets, and what `redact:` names, out of all that a store or a cassette holds.

    \b
    abs redact                                   the store [ABS_STORE, or .abs/store.duckdb]
    abs redact --check order.cassette.json       for a job that guards a repository
    abs redact --rules pii.yaml .abs/store.duckdb

    In a store, exchanges are rewritten, and names, tags, notes, and the texts of traces and gradings; traces
    are derived anew when they are read next. Then the file is copied and the copy put in its place, so that
    nothing of what was there is left in it; copies that were made before a format changed (`.bak`) are
    not touched. Not while a recording runs.
    """
    from abs_replay.redact import Redactor
    from abs_replay.store import default_path

    redactor = Redactor(configured_rules(say, rules), say)
    if path is not None and path.suffix == CASSETTE:
        changed = _cassette(path, output or path, redactor, check)
    elif output is not None:
        raise UsageError("--output is for cassettes: a store is changed in its place; copy it before")
    else:
        path = default_path(path, os.environ)
        changed = _store(path, redactor, check)
    _tell(path, changed, check, format_)
    return int(check and bool(changed.exchanges or changed.texts))


def _store(path: Path, redactor: "Redactor", check: bool) -> "Changed":
    from abs_replay.cli.rm import refuse_running
    from abs_replay.store import Store

    store = Store(path)
    if not check:
        refuse_running(store)
    changed = store.change(redactor.redact, redactor.text, keep=not check)
    if not check:
        store.compact()
    return changed


def _cassette(path: Path, output: Path, redactor: "Redactor", check: bool) -> "Changed":
    from abs_replay import cassette
    from abs_replay.cli.writing import write
    from abs_replay.store.redacting import Changed

    try:
        found = cassette.loads(path.read_bytes().decode(), str(path))
    except OSError as error:
        raise UsageError(f"{path}: can not be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is no cassette: it is not UTF-8") from None
    exchanges = tuple(map(redactor.redact, found.exchanges))
    recording = redactor.recording(found.recording)
    changed = sum(new != old for new, old in zip(exchanges, found.exchanges, strict=True))
    texts = int(recording != found.recording)
    if not check and (changed or texts or output != path):
        written = cassette.dumps(replace(found, recording=recording, exchanges=exchanges))
        write(output, written.encode(), force=True)
    return Changed(changed, len(exchanges), texts)


def _tell(path: Path, changed: "Changed", check: bool, format_: str) -> None:
    if format_ == "json":
        from abs_replay.reports.json_report import write

        click.echo(write({"path": str(path), "check": check, **asdict(changed)}), nl=False)
        return
    would = "would be changed" if check else "changed"
    others = f", and {plural(changed.texts, 'other text')}" if changed.texts else ""
    say(f"{path}: {changed.exchanges} of {plural(changed.of, 'exchange')}{others} {would}", err=False)
