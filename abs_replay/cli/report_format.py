"""`--format` of commands that print a report: built in, or of an installed package."""

from typing import Any

import click

from abs_replay.reports import REPORTS, installed_formats


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
