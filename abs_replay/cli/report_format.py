"""`--format` and `--output` of commands that print a report."""

import sys
from pathlib import Path
from typing import Any

import click

from abs_replay.errors import UsageError
from abs_replay.reports import REPORTS, installed_formats
from abs_replay.reports.cells import encodable


class ReportFormat(click.Choice[str]):
    """A choice that looks at installed packages only for a name that is not built in."""

    def __init__(self) -> None:
        super().__init__(list(REPORTS))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if value in REPORTS:
            return str(value)
        return click.Choice([*REPORTS, *installed_formats()]).convert(value, param, ctx)


format_option = click.option(
    "--format", "format_", type=ReportFormat(), default="table", show_default=True, help="How it is written."
)


def put_out(text: str, output: Path | None) -> None:
    """Write a report to the file that was named, or print it; raises `UsageError`."""
    if output is None:
        click.echo(encodable(text, sys.stdout.encoding), nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--output {output}: can not be written ({error.strerror})") from None
