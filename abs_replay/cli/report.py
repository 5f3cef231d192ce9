"""`abs report`: show a saved report again, in any format."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.cli.report_format import format_option
from abs_replay.errors import UsageError
from abs_replay.reports import PAPER, Screen, render

if TYPE_CHECKING:
    from abs_replay.verdicts import Report

FILE = click.Path(path_type=Path)
IN_PARTS = ("table", "markdown")


@click.command()
@click.argument("file", type=FILE, metavar="FILE.json")
@format_option
@click.option("--failed", is_flag=True, help="Only what failed, or could not be decided.")
@click.option(
    "--detail",
    type=click.IntRange(0, 2),
    help="Of each run: 0 one line, 1 what is not fine, 2 all. For table and markdown.",
)
@click.option("--ci", is_flag=True, help="Plain output: no colours, 100 columns.")
def command(file: Path, format_: str, failed: bool, detail: int | None, ci: bool) -> None:
    """Show a report that was saved with abs grade or abs run --format json --output FILE.json.

    \b
    abs report report.json --failed                     what went wrong
    abs report report.json --format junit > junit.xml   for a CI system
    abs report report.json --format markdown            for a pull request

    The exit status is 0 also where the report says that something failed; 2 if it can not be read.
    """
    from abs_replay.cli.diff import read_report
    from abs_replay.reports.cells import encodable

    if detail is not None and format_ not in IN_PARTS:
        raise UsageError(f"--detail is for {' and '.join(IN_PARTS)}: leave it out, {format_} has it all")
    report = read_report(file).report
    screen = replace((None if ci else Screen.of(sys.stdout)) or PAPER, failed=failed, detail=detail)
    text = _failed_json(report) if failed and format_ == "json" else render(format_, report, screen)
    click.echo(encodable(text, sys.stdout.encoding), nl=False)


def _failed_json(report: "Report") -> str:
    """The report with what is not fine alone; its totals are those of the whole."""
    from abs_replay.reports.json_report import as_json, write

    whole: dict[str, Any] = as_json(report)
    runs = [_failed_run(run) for run in whole["runs"] if not run["passed"]]
    return write({**whole, "runs": runs})


def _failed_run(run: dict[str, Any]) -> dict[str, Any]:
    steps = [{**step, "evaluations": _failed(step["evaluations"])} for step in run["steps"]]
    steps = [each for each in steps if each["failed"] or each["status"] == "error" or each["evaluations"]]
    return {**run, "steps": steps, "chain_evaluations": _failed(run["chain_evaluations"])}


def _failed(verdicts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    from abs_replay.reports.checks import FINE

    return [verdict for verdict in verdicts if verdict["status"] not in FINE]
