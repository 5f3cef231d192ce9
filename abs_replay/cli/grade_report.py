"""What becomes of a graded report: kept in the store, compared with a baseline, printed or written."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from abs_replay.cli.grade_baseline import NO_PLACE
from abs_replay.cli.grade_options import Options, Work, store_to_keep_in
from abs_replay.cli.report_format import put_out
from abs_replay.cli.saying import say
from abs_replay.errors import Problem
from abs_replay.exact_json import Json
from abs_replay.reports import PAPER, Screen, render
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.comparison import Comparison
    from abs_replay.verdicts import Grading, Report


def made(report: "Report", work: Work) -> "Grading":
    """The report as a grading, which is not kept yet."""
    from abs_replay.verdicts import Grading

    store, sessions = store_to_keep_in(work.options), work.documents.sessions
    if store is None:
        return Grading("now", work.begun.timestamp(), report)
    from abs_replay import grading
    from abs_replay.carrying import with_carried
    from abs_replay.cli.provenance import provenance_of

    made_by = provenance_of(grading.files_of(sessions), work.judge)
    return grading.made(with_carried(report, store), sessions, work.begun, made_by, work.id)


def keep(grading: "Grading", refused: Sequence[str], work: Work) -> None:
    """Keep it in the store where the traces come from that, or `--store` names it, with what it was refused
    by: in one step, so that none is ever there without."""
    store = store_to_keep_in(work.options)
    if store is not None:
        store.save_grading(replace(grading, provenance=replace(grading.provenance, refused=tuple(refused))))


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


def print_(
    report: "Report", comparison: "Comparison | None", failures: Sequence[str] | None, options: Options
) -> None:
    """Print or write it; `failures` are the gates that do not hold, None where there were none."""
    if options.format_ == "json":
        text = _as_json(report, comparison, failures)
    else:
        screen = None if options.output or options.ci else Screen.of(sys.stdout)
        text = _written(report, comparison, options.format_, screen)
    put_out_with(text, report.warnings, options)
    if options.output:
        say(f"{report.result.value}: the report is in {options.output}")


def put_out_with(text: str, warnings: Sequence[Json], options: Options) -> None:
    """Say the warnings, unless they stand in the JSON, and then the text."""
    if options.format_ != "json":
        for warning in warnings:
            say(f"warning: {Problem(**warning)}")  # type: ignore[arg-type]
    put_out(text, options.output)


def _as_json(report: "Report", comparison: "Comparison | None", failures: Sequence[str] | None) -> str:
    if comparison is None and failures is None:
        return render("json", report, None)
    from abs_replay.reports import flips_json, json_report

    compared = {} if comparison is None else {"comparison": flips_json.as_json(comparison)}
    gates = {} if failures is None else flips_json.gates(True, failures)
    return json_report.write(json_report.as_json(report) | compared | gates)


def _written(report: "Report", comparison: "Comparison | None", format_: str, screen: Screen | None) -> str:
    if comparison is None or format_ in NO_PLACE:
        return render(format_, report, screen)
    if format_ == "markdown":
        return _markdown(report, comparison, screen or PAPER)
    from abs_replay.reports import flips

    return f"{render(format_, report, screen)}\n{flips.render(comparison, screen or PAPER)}"


def _markdown(report: "Report", comparison: "Comparison", screen: Screen) -> str:
    """Both in one comment: the report takes half of it at most."""
    from abs_replay.reports import flips_markdown, markdown
    from abs_replay.reports.markdown_text import LARGEST, length

    graded = markdown.display(report, screen, LARGEST // 2)
    heading = "### Since the baseline\n\n"
    room = LARGEST - length(graded) - length(heading) - 1
    return f"{graded}\n{heading}{flips_markdown.render(comparison, most=room)}"
