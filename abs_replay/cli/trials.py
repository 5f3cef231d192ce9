"""`abs trials`: how reliably sessions pass that were played several times."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.report_format import put_out
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.comparison.trials import Trials

FORMATS = ("table", "json")


@click.command()
@click.argument("grading", required=False, default="last")
@click.option("--store", type=click.Path(path_type=Path), help="The store that keeps the gradings.")
@click.option("--k", metavar="K,K,..", help="The k of pass@k and pass^k [default: 1,2,4,8,16].")
@click.option(
    "--by",
    type=click.Choice(("words", "row")),
    default="words",
    show_default=True,
    help="What makes traces trials of one scenario: that the user says the same, or session and row alone.",
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
def command(grading: str, store: Path | None, k: str | None, by: str, format_: str) -> int:
    """Show how often each scenario passed: a session, with one row of its data, and all trials of it.

    \b
    abs trials                        of the last grading
    abs trials g-2026 --k 1,5,10      at other k
    abs trials report.json            saved with abs grade --format json --output
    abs trials --by row               whatever the users said, as where a model plays them

    Traces that nobody played by a session are trials where the user says the same in them; others are no
    repetitions, and that many of them pass says nothing of reliability.

    pass@k is the chance that one of k trials passes, pass^k that all k do. GRADING is one in the store (an
    id, its beginning, last, last~1) or a saved report.
    """
    from abs_replay.cli.diff import find_grading
    from abs_replay.comparison.trials import are_trials, trials_of, usual_ks

    ks = None if k is None else _ks(k)
    found = trials_of(find_grading(grading, store).report.runs, by == "row")
    usual = usual_ks(found) if are_trials(found) else ()
    put_out(_written(found, usual if ks is None else ks, format_), None)
    return 0


def _written(found: "tuple[Trials, ...]", ks: tuple[int, ...], format_: str) -> str:
    from abs_replay.reports import PAPER, Screen, trials
    from abs_replay.reports.json_report import write

    if format_ == "json":
        return write(trials.as_json(found, ks))
    return trials.render(found, ks, (Screen.of(sys.stdout) or PAPER).width)


def _ks(text: str) -> tuple[int, ...]:
    """Read `1,2,4`."""
    parts = text.split(",")
    if not all(
        part.strip().isascii() and part.strip().isdecimal() and 0 < int(part) < 10**6 for part in parts
    ):
        raise UsageError(f"--k {text}: say numbers from 1 on, with commas between them: --k 1,2,4")
    return tuple(dict.fromkeys(sorted(int(part) for part in parts)))
