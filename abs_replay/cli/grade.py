"""`abs grade`: judge stored traces, or those of files, by sessions; nothing is run."""

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.gates import gate_options
from abs_replay.cli.grade_baseline import baseline_of, compared, outcome_of, refuse_mixed
from abs_replay.cli.grade_options import Options, Work, store_to_keep_in
from abs_replay.cli.grade_report import keep, made, print_, put_out_with, stopped
from abs_replay.cli.grade_traces import choice_options, selected
from abs_replay.cli.judge import judge_options, open_judge
from abs_replay.cli.report_format import format_option
from abs_replay.errors import Problem, UsageError
from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.grading import Settings
    from abs_replay.judges.chain import Chain
    from abs_replay.verdicts import Grading, Report, Run


FILE = click.Path(path_type=Path)


@click.command()
@click.argument("sessions", nargs=-1, required=True, type=FILE, metavar="SESSION...")
@choice_options("Judge")
@click.option(
    "--baseline", metavar="last|ID|FILE", help="Show what flipped since that grading, or saved report."
)
@gate_options("--bound")
@format_option
@click.option("--output", type=FILE, help="Write the report to this file.")
@click.option("--strict-user", is_flag=True, help="Fail where the user's words differ from the session's.")
@click.option("--no-require-match", is_flag=True, help="Report behaviors without a step, but don't fail.")
@judge_options
@click.option("--dry-run", is_flag=True, help="Only say what a judge would be asked, and what that takes.")
@click.option("--ci", is_flag=True, help="Plain output: no colours, no questions, 100 columns.")
def command(**options: object) -> int:
    """Judge stored traces by sessions: what the agent did, against what was expected.

    \b
    abs grade order.abs.yaml                            what was recorded
    abs grade order.abs.yaml --baseline last            and what flipped since last time
    abs grade order.abs.yaml --baseline last --fail-on regression    a gate, which knows what failed before
    abs grade order.abs.yaml --traces trace.json        a file; no store is read or written
    abs grade order.abs.yaml --judge-model gpt-4o-mini --dry-run     how much a judge would be asked
    abs grade order.abs.yaml --dry-run --format json --output answers.json    to be filled in, and then:
    abs grade order.abs.yaml --judge-answers answers.json

    The exit status is 0 when every session passed, 1 when not, 2 for wrong usage or an invalid document.
    --fail-on, --min-pass-rate and --margin ask for something else instead: that nothing got worse since
    --baseline, that so many passed, that not many fewer did.
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
    from abs_replay.cli.judge_progress import progress_of
    from abs_replay.grading import new_id
    from abs_replay.spec.configuration import find
    from abs_replay.spec.loader import load

    _refuse_mixed(options)
    begun = datetime.now(UTC)
    id_ = new_id(begun)
    configuration = find(Path.cwd())
    documents = load(options.sessions, configuration)
    selection = selected(options, documents)
    baseline = baseline_of(options, selection)
    store, progress = store_to_keep_in(options), progress_of(options.ci)
    with open_judge(options.judge, configuration, store, id_, progress) as judge:
        settings = _settings(options, judge)
        work = Work(id_, begun, options, documents, selection, settings, judge)
        return _dry_run(work) if options.dry_run else _graded(work, baseline)


def _graded(work: Work, baseline: "Grading | None") -> int:
    from abs_replay.grading import grade

    try:
        report = _report(work, grade(work.selection, work.settings))
        grading = made(report, work)
        comparison = compared(work.options, baseline, grading)
    except KeyboardInterrupt:
        return stopped(work)
    outcome = outcome_of(work.options, grading.report, comparison)
    keep(grading, outcome.refused, work)
    print_(grading.report, comparison, outcome.failures, work.options)
    outcome.told(grading.report)
    return outcome.status


def _dry_run(work: Work) -> int:
    from abs_replay.cli.dry_run import KeptOnly, written
    from abs_replay.grading import unanswered

    kept_only = KeptOnly(work.judge)
    found = unanswered(work.selection, replace(work.settings, judge=kept_only))
    warnings = _report(work, ()).warnings
    put_out_with(written(found, kept_only, work.options.format_, warnings), warnings, work.options)
    return 0


def _refuse_mixed(options: Options) -> None:
    refuse_mixed(options)
    if options.traces and (options.recording or options.since):
        flag = "--recording" if options.recording else "--since"
        raise UsageError(f"{flag} chooses among stored traces: leave it out, or leave --traces out")


def _settings(options: Options, judge: "Chain") -> "Settings":
    from abs_replay.grading import Settings
    from abs_replay.scoring import Policy
    from abs_replay.spec.variables import parse_variables

    return Settings(
        variables=parse_variables(options.var),
        environment=os.environ,
        policy=Policy(strict_user=options.strict_user, require_match=not options.no_require_match),
        judge=judge,
    )


def _report(work: Work, runs: "tuple[Run, ...]") -> "Report":
    from abs_replay.grading import left_out_of, namesakes_of
    from abs_replay.verdicts import Report

    warnings = [*work.documents.warnings, *work.judge.troubles()]
    if left_out := left_out_of(work.selection):
        warnings.append(Problem(f"not graded: {left_out}; --session-for NAME grades them as well"))
    if several := namesakes_of(work.selection):
        warnings.append(Problem(f"{several}: each is graded; abs rm takes away what was imported twice"))
    return Report(
        runs,
        warnings=tuple(map(_warning, warnings)),
        ungraded_sessions=work.selection.ungraded,
        judging=work.judge.judging,
    )


def _warning(problem: Problem) -> dict[str, Json]:
    return {"file": problem.file, "line": problem.line, "path": problem.path, "message": problem.message}
