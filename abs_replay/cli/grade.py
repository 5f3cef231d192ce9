"""`abs grade`: judge stored traces, or those of files, by sessions; nothing is run."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.grade_options import Options
from abs_replay.cli.grade_report import baseline_of, compared, kept, print_, put_out_with
from abs_replay.cli.grade_traces import selected
from abs_replay.cli.judge import answers_option, judge_of, unused_of
from abs_replay.cli.report_format import format_option
from abs_replay.errors import Problem, UsageError
from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.grading import Selection, Settings
    from abs_replay.spec.loader import Documents
    from abs_replay.verdicts import Report, Run


FILE = click.Path(path_type=Path)


@click.command()
@click.argument("sessions", nargs=-1, required=True, type=FILE, metavar="SESSION...")
@click.option("--traces", multiple=True, type=FILE, help="Judge the traces of this file; repeatable.")
@click.option("--store", type=FILE, help="The store [default: ABS_STORE, or .abs/store.duckdb].")
@click.option("--recording", metavar="R", help="Traces of this recording only: name, id, last, last~1.")
@click.option("--trace", metavar="T", help="This trace only: its id, or the beginning of it.")
@click.option("--session-for", metavar="NAME", help="The session that judges every trace, whatever it names.")
@click.option("--var", multiple=True, metavar="NAME=VALUE", help="A variable; NAME:=JSON gives another type.")
@click.option("--since", metavar="D", help="Traces begun since a date, a time, or 30m, 12h, 7d ago.")
@click.option(
    "--baseline", metavar="last|ID|FILE", help="Show what flipped since that grading, or saved report."
)
@format_option
@click.option("--output", type=FILE, help="Write the report to this file.")
@click.option("--strict-user", is_flag=True, help="Fail where the user's words differ from the session's.")
@click.option("--no-require-match", is_flag=True, help="Report behaviors without a step, but don't fail.")
@answers_option
@click.option("--dry-run", is_flag=True, help="Only say how many questions a judge would be asked.")
@click.option("--ci", is_flag=True, help="Plain output: no colours, no questions, 100 columns.")
def command(**options: object) -> int:
    """Judge stored traces by sessions: what the agent did, against what was expected.

    \b
    abs grade order.abs.yaml                            what was recorded
    abs grade order.abs.yaml --baseline last            and what flipped since last time
    abs grade order.abs.yaml --traces trace.json        a file; no store is read or written
    abs grade order.abs.yaml --dry-run --format json --output answers.json    to be filled in, and then:
    abs grade order.abs.yaml --judge-answers answers.json

    The exit status is 0 when every session passed, 1 when not, 2 for wrong usage or an invalid document.
    """
    return run(Options(**options))  # type: ignore[arg-type]


def run(options: Options) -> int:
    """Grade, print, keep; gives the exit status."""
    with _seldom_collected():
        return _run(options)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Look for garbage less often: nearly all that is made here stays to the end, modules above all, and to
    look through it takes a tenth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _run(options: Options) -> int:
    from abs_replay.grading import grade
    from abs_replay.spec.configuration import find
    from abs_replay.spec.loader import load
    from abs_replay.verdicts import Result

    _refuse_mixed(options)
    documents = load(options.sessions, find(Path.cwd()))
    settings = _settings(options)
    baseline = baseline_of(options)
    selection = selected(options, documents)
    if options.dry_run:
        return _dry_run(documents, selection, settings, options)
    report = _report(documents, selection, grade(selection, settings), settings)
    grading = kept(report, documents, options)
    print_(grading.report, compared(baseline, grading), options)
    return 0 if report.result is Result.PASSED else 1


def _dry_run(documents: "Documents", selection: "Selection", settings: "Settings", options: Options) -> int:
    from abs_replay.cli import dry_run
    from abs_replay.grading import unanswered

    found = unanswered(selection, settings)
    warnings = _report(documents, selection, (), settings).warnings
    put_out_with(dry_run.written(found, options.format_, warnings), warnings, options)
    return 0


def _refuse_mixed(options: Options) -> None:
    if options.dry_run and options.baseline:
        raise UsageError("--dry-run judges nothing that --baseline could be compared with: leave one out")
    if options.baseline and options.format_ in ("junit", "github"):
        raise UsageError(f"--format {options.format_} has no place for what --baseline finds: use abs diff")
    if options.traces and (options.recording or options.since):
        flag = "--recording" if options.recording else "--since"
        raise UsageError(f"{flag} chooses among stored traces: leave it out, or leave --traces out")
    if options.traces and options.baseline == "last" and not options.store:
        raise UsageError("--baseline last looks into a store: name it with --store, or give a saved report")


def _settings(options: Options) -> "Settings":
    from abs_replay.grading import Settings
    from abs_replay.scoring import Policy
    from abs_replay.spec.variables import parse_variables

    return Settings(
        variables=parse_variables(options.var),
        environment=os.environ,
        policy=Policy(strict_user=options.strict_user, require_match=not options.no_require_match),
        judge=judge_of(options.judge_answers),
    )


def _report(
    documents: "Documents", selection: "Selection", runs: "tuple[Run, ...]", settings: "Settings"
) -> "Report":
    from abs_replay.grading import left_out_of
    from abs_replay.verdicts import Report

    warnings = [*documents.warnings, *unused_of(settings.judge)]
    if left_out := left_out_of(selection):
        warnings.append(Problem(f"not graded: {left_out}; --session-for NAME grades them as well"))
    return Report(runs, warnings=tuple(map(_warning, warnings)), ungraded_sessions=selection.ungraded)


def _warning(problem: Problem) -> dict[str, Json]:
    return {"file": problem.file, "line": problem.line, "path": problem.path, "message": problem.message}
