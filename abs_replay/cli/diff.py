"""`abs diff`: what flipped between two gradings, kept in a store or saved as JSON reports."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay import exact_json
from abs_replay.cli.gates import gate_options, gates_of
from abs_replay.cli.report_format import put_out
from abs_replay.cli.saying import say
from abs_replay.errors import UsageError
from abs_replay.verdicts import Grading

if TYPE_CHECKING:
    from abs_replay.comparison import Comparison
    from abs_replay.store import Store

FORMATS = ("table", "json", "markdown", "github")


@click.command()
@click.argument("before", required=False, metavar="[A]")
@click.argument("after", required=False, default="last", metavar="[B]")
@click.option("--store", type=click.Path(path_type=Path), help="The store that keeps the gradings.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--output", type=click.Path(path_type=Path), help="Write it to this file.")
@click.option("--ci", is_flag=True, help="Plain output: no colours, 100 columns.")
@gate_options("--bound")
def command(
    before: str | None,
    after: str,
    store: Path | None,
    format_: str,
    output: Path | None,
    ci: bool,
    fail_on: str | None,
    min_pass_rate: float | None,
    bound: str | None,
    margin: float | None,
) -> int:
    """List what flipped from grading A to grading B: by default to the last one, from the one of the same
    sessions before it.

    \b
    abs diff                                   since the rubric was edited
    abs diff g-2026 last --fail-on regression  a gate; A and B by id, or its beginning
    abs diff --margin 0.02 --format markdown   as a comment on a pull request
    abs diff old.json new.json                 saved with abs grade --format json --output

    A and B are gradings in the store (an id, its beginning, last, last~1) or saved reports. The exit status
    is 0, or 1 when a gate (--fail-on, --min-pass-rate, --margin) does not hold, 2 for wrong usage.
    """
    from abs_replay.comparison.gates import failures

    gates = gates_of(fail_on, min_pass_rate, bound, margin)
    saved = all(ref and Path(ref).is_file() for ref in (before, after))
    named = find_grading(before, store) if before else None
    last = find_grading(after, store)
    gradings = named or one_before(last, store), last
    compared = compare_kept(*gradings, None if saved else store_of(store))
    failed = failures(gates, compared.rate_after, compared)
    put_out(_written(compared, failed, gates.given, format_, paper=ci or output is not None), output)
    for line in failed:
        say(f"failed: {line}")
    return 1 if failed else 0


def _written(compared: "Comparison", failed: Sequence[str], gated: bool, format_: str, paper: bool) -> str:
    from abs_replay.reports import PAPER, Screen, flips, flips_github, flips_json, flips_markdown
    from abs_replay.reports.json_report import write

    if format_ == "markdown":
        return flips_markdown.render(compared, failed, gated)
    if format_ == "github":
        return flips_github.render(compared, failed)
    if format_ == "json":
        return write(flips_json.as_json(compared) | flips_json.gates(gated, failed))
    return flips.render(compared, (None if paper else Screen.of(sys.stdout)) or PAPER)


def one_before(last: Grading, store: Path | None) -> Grading:
    """The grading that was made before it of the same sessions; says which, where others lie between."""
    opened, runs = store_of(store), last.report.runs
    sessions, traces = {run.session for run in runs}, {run.trace for run in runs}
    found = opened.last_comparable(sessions, traces, last.id)
    if found is None:
        names = ", ".join(map(repr, sorted(sessions)[:3]))
        raise UsageError(f"no grading before {last.id} judged {names or 'anything'}: name two, abs diff A B")
    made = [each.id for each in opened.gradings()]
    if others := made.index(last.id) - made.index(found) - 1:
        say(f"{found} is the one before of the same sessions ({others} of others between are left out)")
    return opened.grading(found)


def find_grading(ref: str, store: Path | None) -> Grading:
    """The grading that a reference names: a saved report's file, or one in the store."""
    if Path(ref).is_file():
        return read_report(Path(ref))
    if ref.lower().endswith(".json"):
        raise UsageError(f"{ref}: no such file; save one with abs grade --format json --output {ref}")
    return store_of(store).grading(ref)


def store_of(store: Path | None) -> "Store":
    """The store that the flag names, `ABS_STORE`, or the usual one."""
    from abs_replay.store import Store, default_path

    return Store(default_path(store, os.environ))


def compare_kept(before: Grading, after: Grading, store: "Store | None") -> "Comparison":
    """Compare two gradings; the store, if there is one, knows what judges said at other times."""
    from abs_replay.comparison import compare
    from abs_replay.comparison.repeats import asked, with_repeats

    compared = compare(before, after)
    questions = {question for question, _ in asked(compared)}
    if not questions or store is None or not store.path.exists():
        return compared
    return with_repeats(compared, store.scores(list(questions)))


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
