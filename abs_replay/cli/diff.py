"""`abs diff`: what flipped between two gradings, kept in a store or saved as JSON reports."""

import os
import sys
from pathlib import Path

import click

from abs_replay import exact_json
from abs_replay.errors import UsageError
from abs_replay.verdicts import Grading

FORMATS = ("table", "json")
FAIL_ON = ("regression", "any")


@click.command()
@click.argument("before", required=False, default="last~1", metavar="[A]")
@click.argument("after", required=False, default="last", metavar="[B]")
@click.option("--store", type=click.Path(path_type=Path), help="The store that keeps the gradings.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option(
    "--fail-on", type=click.Choice(FAIL_ON), help="Exit with 1 if something flipped (to the worse)."
)
def command(before: str, after: str, store: Path | None, format_: str, fail_on: str | None) -> int:
    """List what flipped from grading A to grading B (by default from the last but one to the last).

    \b
    abs diff                                   since the rubric was edited
    abs diff g-2026 last --fail-on regression  a gate; A and B by id, or its beginning
    abs diff old.json new.json                 saved with abs grade --format json --output

    A and B are gradings in the store (an id, its beginning, last, last~1) or saved reports.
    """
    from abs_replay.comparison import compare
    from abs_replay.reports import PAPER, Screen, flips, flips_json
    from abs_replay.reports.cells import encodable
    from abs_replay.reports.json_report import write

    compared = compare(find_grading(before, store), find_grading(after, store))
    screen = Screen.of(sys.stdout) or PAPER
    text = write(flips_json.as_json(compared)) if format_ == "json" else flips.render(compared, screen)
    click.echo(encodable(text, sys.stdout.encoding), nl=False)
    failing = {"regression": compared.regressions, "any": compared.all_flips}
    return 1 if fail_on and failing[fail_on] else 0


def find_grading(ref: str, store: Path | None) -> Grading:
    """The grading that a reference names: a saved report's file, or one in the store."""
    if Path(ref).is_file():
        return read_report(Path(ref))
    if ref.lower().endswith(".json"):
        raise UsageError(f"{ref}: no such file; save one with abs grade --format json --output {ref}")
    from abs_replay.store import Store, default_path

    return Store(default_path(store, os.environ)).grading(ref)


def read_report(path: Path) -> Grading:
    """A report that was saved as JSON, as a grading; its id, or the file's name where it has none."""
    from abs_replay.reports.json_report import from_json
    from abs_replay.reports.saved import checked

    try:
        report = checked(from_json(exact_json.loads(path.read_bytes().decode("utf-8-sig"))))
    except OSError as error:
        raise UsageError(f"{path}: can not be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}; save one with abs grade --format json --output FILE") from None
    return Grading(report.grading or str(path), path.stat().st_mtime, report)
