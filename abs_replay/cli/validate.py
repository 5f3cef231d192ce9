"""`abs validate`: check session documents and say all that is wrong."""

from pathlib import Path

import click

from abs_replay.cli.saying import say
from abs_replay.exact_json import Json
from abs_replay.reports.json_report import write
from abs_replay.spec.configuration import find
from abs_replay.spec.loader import Documents, load


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="How to print the result.",
)
def command(paths: tuple[Path, ...], format_: str) -> None:
    """Check session documents, and all of a directory's; nothing is sent or graded.

    Every problem is one line, FILE:LINE: PATH: message, and the exit status is 2. Warnings go to
    standard error and change nothing.

    \b
    abs validate order.abs.yaml
    abs validate tests/sessions --format json
    """
    documents = load(paths, find(Path.cwd()))
    if format_ == "json":
        click.echo(_as_json(documents), nl=False)
        return
    for warning in documents.warnings:
        say(f"warning: {warning}")
    click.echo(_summary(documents))


def _summary(documents: Documents) -> str:
    sessions = documents.sessions
    files = {session.file for session in sessions}
    behaviors = sum(len(session.behaviors) for session in sessions)
    return ", ".join(
        (
            f"{_count(len(sessions), 'session')} in {_count(len(files), 'file')}",
            _count(behaviors, "behavior"),
            _count(len(documents.warnings), "warning"),
        )
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _as_json(documents: Documents) -> str:
    sessions: list[Json] = [
        {"session": session.name, "file": session.file, "behaviors": len(session.behaviors)}
        for session in documents.sessions
    ]
    warnings: list[Json] = [
        {"file": found.file, "line": found.line, "path": found.path, "message": found.message}
        for found in documents.warnings
    ]
    return write({"result": "valid", "sessions": sessions, "warnings": warnings})
