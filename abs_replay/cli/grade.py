"""`abs grade`: judge stored traces, or those of files, by sessions; nothing is run."""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.judge import answers_option, judge_of, unused_of
from abs_replay.cli.report_format import format_option, put_out
from abs_replay.cli.saying import say
from abs_replay.errors import Problem, UsageError
from abs_replay.exact_json import Json
from abs_replay.reports import PAPER, Screen, render

if TYPE_CHECKING:
    from abs_replay.comparison import Comparison
    from abs_replay.grading import Selection, Settings
    from abs_replay.spec.loader import Documents
    from abs_replay.store import Store
    from abs_replay.trace import Trace
    from abs_replay.verdicts import Grading, Report, Run


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said."""

    sessions: tuple[Path, ...]
    traces: tuple[Path, ...]
    store: Path | None
    recording: str | None
    trace: str | None
    session_for: str | None
    var: tuple[str, ...]
    since: str | None
    baseline: str | None
    format_: str
    output: Path | None
    strict_user: bool
    no_require_match: bool
    judge_answers: tuple[Path, ...]
    dry_run: bool
    ci: bool


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
    baseline = _baseline(options)
    selection = _select(options, documents)
    if options.dry_run:
        return _dry_run(documents, selection, settings, options)
    report = _report(documents, selection, grade(selection, settings), settings)
    grading = _kept(report, documents, options)
    _print(grading.report, _compared(baseline, grading), options)
    return 0 if report.result is Result.PASSED else 1


def _dry_run(documents: "Documents", selection: "Selection", settings: "Settings", options: Options) -> int:
    from abs_replay.cli import dry_run
    from abs_replay.grading import unanswered

    found = unanswered(selection, settings)
    warnings = _report(documents, selection, (), settings).warnings
    _put_out(dry_run.written(found, options.format_, warnings), warnings, options)
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


def _select(options: Options, documents: "Documents") -> "Selection":
    from abs_replay.grading import select_given, select_stored

    select = select_given if options.traces else select_stored
    traces = _read_files(options) if options.traces else _read_store(options)
    return select(_chosen(traces, options.trace), documents.sessions, options.session_for)


def _read_files(options: Options) -> Sequence["Trace"]:
    from abs_replay.importers import trace_file

    return [trace for path in options.traces for trace in trace_file.read(path)]


def _read_store(options: Options) -> Sequence["Trace"]:
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import traces_of

    traces = traces_of(_store(options), options.recording, by=conversation_key())
    if options.since is None:
        return traces
    begin = since(options.since, datetime.now().astimezone())
    return [trace for trace in traces if trace.started_at is not None and trace.started_at >= begin]


def _store(options: Options) -> "Store":
    from abs_replay.store import Store, default_path

    return Store(default_path(options.store, os.environ))


def _chosen(traces: Sequence["Trace"], ref: str | None) -> Sequence["Trace"]:
    """The traces that `--trace` asks for: the one of that id, else the one whose id begins so."""
    if ref is None:
        return traces
    found = [trace for trace in traces if trace.id == ref]
    found = found or [trace for trace in traces if trace.id.startswith(ref)]
    if len({trace.id for trace in found}) == 1:
        return found
    ids = ", ".join(trace.id for trace in (found or traces)[:5]) or "none"
    what = "could be several" if found else "is none of the traces"
    raise UsageError(f"--trace {ref!r} {what} ({ids}): name one of them")


AGO = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def since(text: str, now: datetime, flag: str = "--since") -> float:
    """Read `30m`, `12h`, `7d`, `2w` ago, or a date or time of ISO 8601 (local, without a zone)."""
    if text[:-1].isdecimal() and len(text) < 8 and text[-1] in AGO:
        return (now - timedelta(**{AGO[text[-1]]: int(text[:-1])})).timestamp()
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise UsageError(f"{flag} {text!r}: say a date (2026-05-31), a time, or 30m, 12h, 7d, 2w") from None


def _baseline(options: Options) -> "Grading | None":
    if options.baseline is None:
        return None
    from abs_replay.cli.diff import find_grading

    if options.baseline == "last" and not _has_gradings(options):
        say("warning: nothing to compare with, this is the first grading of the store")
        return None
    return find_grading(options.baseline, options.store)


def _has_gradings(options: Options) -> bool:
    store = _store(options)
    return store.path.exists() and bool(store.gradings())


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


def _kept(report: "Report", documents: "Documents", options: Options) -> "Grading":
    """The report as a grading; kept in the store where the traces come from it, or `--store` names it."""
    from abs_replay.grading import keep, with_carried
    from abs_replay.verdicts import Grading

    now = datetime.now(UTC)
    if options.traces and not options.store:
        return Grading("now", now.timestamp(), report)
    store = _store(options)
    return keep(with_carried(report, store), store, documents.sessions, now)


def _compared(baseline: "Grading | None", grading: "Grading") -> "Comparison | None":
    if baseline is None:
        return None
    from abs_replay.comparison import compare

    return compare(baseline, grading)


def _print(report: "Report", comparison: "Comparison | None", options: Options) -> None:
    screen = None if options.output or options.ci else Screen.of(sys.stdout)
    _put_out(_written(report, comparison, options.format_, screen), report.warnings, options)
    if options.output:
        say(f"{report.result.value}: the report is in {options.output}")


def _put_out(text: str, warnings: Sequence[Json], options: Options) -> None:
    """Say the warnings, unless they stand in the JSON, and then the text."""
    if options.format_ != "json":
        for warning in warnings:
            say(f"warning: {Problem(**warning)}")  # type: ignore[arg-type]
    put_out(text, options.output)


def _written(report: "Report", comparison: "Comparison | None", format_: str, screen: Screen | None) -> str:
    if comparison is None:
        return render(format_, report, screen)
    from abs_replay.reports import flips, json_report, markdown

    if format_ == "json":
        return json_report.write(json_report.as_json(report) | {"comparison": flips.as_json(comparison)})
    shown, flipped = render(format_, report, screen), flips.render(comparison, screen or PAPER)
    return markdown.with_fence(shown, flipped) if format_ == "markdown" else f"{shown}\n{flipped}"
