"""`abs gradings`: the history of a store, a line each: when, who, with what, what it came to and took."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.ls import counted
from abs_replay.cli.saying import say

if TYPE_CHECKING:
    from abs_replay.exact_json import Json
    from abs_replay.store import GradingSummary
    from abs_replay.verdicts import Provenance

HEADINGS = (
    "ID",
    "MADE",
    "WHO",
    "RESULT",
    "RUNS",
    "EVALUATIONS",
    "CARRIED>",
    "ASKED>",
    "COST>",
    "COMMIT",
    "FILES",
)


@click.command()
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Only the last N.")
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(store: Path | None, last: int | None, format_: str) -> None:
    """List gradings, the oldest first: nothing of them is ever overwritten.

    \b
    abs gradings                     when, who, what it came to, what a judge was asked and what that cost
    abs gradings --last 5
    abs gradings --format json       with the hash of each file, the command, and every judge

    A commit with a + was not all: a file differed from it. See one whole with abs show, two with abs diff.
    """
    from abs_replay.cli.columns import columns
    from abs_replay.reports import Screen
    from abs_replay.reports.json_report import write
    from abs_replay.store import Store, default_path

    opened = Store(default_path(store, os.environ))
    found = opened.gradings()[-(last or 0) :]
    if format_ == "json":
        click.echo(write([_document(each) for each in found]), nl=False)
    elif found:
        click.echo(columns(HEADINGS, [_row(each) for each in found], Screen.of(sys.stdout)), nl=False)
    else:
        say(f"no gradings in {opened.path}: abs grade makes one")


def _row(each: "GradingSummary") -> tuple[str, ...]:
    from abs_replay.cli.columns import moment
    from abs_replay.reports.spending import dollars

    judging = each.judging
    return (
        each.id,
        moment(each.made_at),
        each.made_by.who or "",
        each.result.value + (", refused" if each.made_by.refused else ""),
        counted({result.value: count for result, count in each.runs.items()}),
        counted({status.value: count for status, count in each.verdicts.items()}),
        str(each.carried),
        str(judging.asked) if judging else "",
        dollars(judging.usage.cost) if judging and judging.usage.calls else "",
        commit_of(each.made_by),
        " ".join(f"{Path(file).name}@{digest[:8]}" for file, digest in each.files.items()),
    )


def commit_of(made_by: "Provenance") -> str:
    """The commit, shortened; with a + where files differed from it."""
    return f"{made_by.commit[:12]}{'+' if made_by.dirty else ''}" if made_by.commit else ""


def _document(each: "GradingSummary") -> dict[str, "Json"]:
    from abs_replay.reports import judging_json

    evaluations = {status.value: count for status, count in each.verdicts.items()}
    return {
        "id": each.id,
        "made_at": each.made_at,
        "result": each.result.value,
        "runs": {result.value: count for result, count in each.runs.items()},
        "evaluations": evaluations,
        "carried_over": each.carried,
        "judge": judging_json.judging(each.judging),
        **provenance_json(each.made_by, each.files),
    }


def provenance_json(made_by: "Provenance", files: Mapping[str, str]) -> dict[str, "Json"]:
    """Where a grading comes from; `files` have the sha256 of what was in them."""
    return {
        "who": made_by.who,
        "files": files,
        "git_commit": made_by.commit,
        "git_dirty": made_by.dirty,
        "version": made_by.version,
        "command": made_by.command,
        "judges": made_by.judges,
        "votes": made_by.votes,
        "refused": list(made_by.refused),
    }
