"""`abs calibrate`: how far judges agree with the people who labelled what they judged."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.report_format import put_out
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.labels import Labelled

FILE = click.Path(path_type=Path)


@click.command()
@click.option("--session", metavar="NAME", help="Only evaluations of that session.")
@click.option("--evaluation", metavar="AT", help="Only that evaluation: behaviors[1].evaluations[0].")
@click.option(
    "--worst", type=click.IntRange(0), default=5, show_default=True, help="How many to show of each."
)
@click.option("--store", type=FILE, help="The store [default: ABS_STORE, or .abs/store.duckdb].")
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@click.option("--output", type=FILE, help="Write the report to this file.")
def command(
    session: str | None,
    evaluation: str | None,
    worst: int,
    store: Path | None,
    format_: str,
    output: Path | None,
) -> None:
    """Say how far each judge agrees with people, by evaluation, and correct its pass rates by that.

    \b
    abs label --sample 100                       first, labels
    abs calibrate                                and then
    abs calibrate --session Refund --evaluation "evaluations[0]" --format json

    Agreement, Cohen's kappa, Gwet's AC1, the rates of true passes and fails with 95 % intervals, the table,
    the worst disagreements. A label is of the question as it was: after the rule, or what it looks at, was
    changed it is stale, and counts for nothing but is counted. The last word of each person counts, and of
    several people what most of them say.
    """
    from abs_replay.comparison.agreement import calibrations
    from abs_replay.reports import calibration
    from abs_replay.reports.json_report import write
    from abs_replay.store import Store, default_path

    opened = Store(default_path(store, os.environ))
    kept = opened.labelled(evaluated=False)
    if not kept.labels:
        raise UsageError(f"no labels in {opened.path}: give some with abs label, or abs label --import CSV")
    found = [
        each
        for each in calibrations(kept.opinions, kept.populations)
        if session in (None, each.session) and evaluation in (None, each.at)
    ]
    unjudged = _unjudged(kept)
    if not found and not unjudged:
        known = sorted({f"{label.at} of {label.session}" for label in kept.labels})
        raise UsageError(f"no labels of these evaluations; there are some of {', '.join(known[:5])}")
    if format_ == "json":
        put_out(write(calibration.as_json(found, unjudged)), output)
    else:
        put_out(calibration.render(found, worst, unjudged), output)


def _unjudged(kept: "Labelled") -> int:
    """How many places were labelled of which no judge said anything."""
    from abs_replay.labels import Place

    judged = {Place(each.session, each.trace, each.at) for each in kept.opinions}
    return len({label.place for label in kept.labels} - judged)
