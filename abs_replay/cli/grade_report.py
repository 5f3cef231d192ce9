"""What becomes of a graded report: kept in the store, compared with a baseline, printed or written."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from abs_replay.cli.grade_options import Options, Work, store_of, store_to_keep_in
from abs_replay.cli.report_format import put_out
from abs_replay.cli.saying import say
from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.reports import PAPER, Screen, render
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.comparison import Comparison
    from abs_replay.verdicts import Grading, Report


def baseline_of(options: Options) -> "Grading | None":
    """What `--baseline` names; None without it, and where nothing was graded yet."""
    if options.baseline is None:
        return None
    from abs_replay.cli.diff import find_grading

    if options.baseline == "last" and not _has_gradings(options):
        say("warning: nothing to compare with, this is the first grading of the store")
        return None
    return find_grading(options.baseline, options.store)


def _has_gradings(options: Options) -> bool:
    store = store_of(options)
    return store.path.exists() and bool(store.gradings())


def kept(report: "Report", work: Work) -> "Grading":
    """The report as a grading; kept in the store where the traces come from it, or `--store` names it."""
    from abs_replay.verdicts import Grading

    store, sessions = store_to_keep_in(work.options), work.documents.sessions
    if store is None:
        return Grading("now", work.begun.timestamp(), report)
    from abs_replay.carrying import with_carried
    from abs_replay.cli.provenance import provenance_of
    from abs_replay.grading import files_of, keep

    made_by = provenance_of(files_of(sessions), work.judge)
    return keep(with_carried(report, store), store, sessions, work.begun, made_by, work.id)


def stopped(work: Work) -> int:
    """Say after Ctrl-C what is kept of it; gives the exit status."""
    panel = work.judge.panel
    count = panel.kept if panel else 0
    store = store_to_keep_in(work.options)
    if count and store is not None:
        say(f"abs: stopped; {plural(count, 'answer')} kept in {store.path}: the same command goes on there")
    else:
        say("abs: stopped; nothing is kept of it")
    return 130


def compared(baseline: "Grading | None", grading: "Grading") -> "Comparison | None":
    if baseline is None:
        return None
    from abs_replay.comparison import compare

    return compare(baseline, grading)


def print_(report: "Report", comparison: "Comparison | None", options: Options) -> None:
    screen = None if options.output or options.ci else Screen.of(sys.stdout)
    put_out_with(_written(report, comparison, options.format_, screen), report.warnings, options)
    if options.output:
        say(f"{report.result.value}: the report is in {options.output}")


def put_out_with(text: str, warnings: Sequence[Json], options: Options) -> None:
    """Say the warnings, unless they stand in the JSON, and then the text."""
    if options.format_ != "json":
        for warning in warnings:
            say(f"warning: {Problem(**warning)}")  # type: ignore[arg-type]
    put_out(text, options.output)


def _written(report: "Report", comparison: "Comparison | None", format_: str, screen: Screen | None) -> str:
    if comparison is None:
        return render(format_, report, screen)
    from abs_replay.reports import flips, flips_json, json_report, markdown

    if format_ == "json":
        return json_report.write(json_report.as_json(report) | {"comparison": flips_json.as_json(comparison)})
    shown, flipped = render(format_, report, screen), flips.render(comparison, screen or PAPER)
    return markdown.with_fence(shown, flipped) if format_ == "markdown" else f"{shown}\n{flipped}"
