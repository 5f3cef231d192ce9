"""`abs check-evidence`: which evaluations traces can decide at all, before they are graded."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.grade_traces import choice_options, selected
from abs_replay.cli.judge import JudgeFlags, judge_options, open_judge
from abs_replay.cli.report_format import put_out
from abs_replay.cli.saying import say
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json

if TYPE_CHECKING:
    from abs_replay.judgement import Question
    from abs_replay.judges.chain import Chain
    from abs_replay.store import Store
    from abs_replay.sufficiency import Checked
    from abs_replay.trace import Trace

FILE = click.Path(path_type=Path)


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
    where: str | None
    format_: str
    output: Path | None
    judge: JudgeFlags


@click.command()
@click.argument("sessions", nargs=-1, required=True, type=FILE, metavar="SESSION...")
@choice_options("Check")
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
@click.option("--output", type=FILE, help="Write the result to this file.")
@judge_options
def command(**options: object) -> int:
    """Say which evaluations the traces can decide at all; nothing is asked, nothing is kept.

    \b
    abs check-evidence refund.abs.yaml                  over what was recorded
    abs check-evidence sessions/ --since 30d --format json
    abs check-evidence refund.abs.yaml --traces old.jsonl --adapter openai

    A rule about tool calls says nothing of traces in which none could have been seen; a judged one needs a
    judge, or an answer that is kept; variables need values; and of a step that no trace has nothing can be
    told. The exit status is 0 where every trace can decide every evaluation, 1 where not.
    """
    return _run(Options(**options))  # type: ignore[arg-type]


def _run(options: Options) -> int:
    from abs_replay.grading import Settings, left_out_of
    from abs_replay.spec.configuration import find
    from abs_replay.spec.loader import load
    from abs_replay.spec.variables import parse_variables
    from abs_replay.sufficiency import check, sees_calls

    if options.traces and (options.recording or options.since):
        flag = "--recording" if options.recording else "--since"
        raise UsageError(f"{flag} chooses among stored traces: leave it out, or leave --traces out")
    configuration = find(Path.cwd())
    documents = load(options.sessions, configuration)
    selection = selected(options, documents)
    settings = Settings(variables=parse_variables(options.var), environment=os.environ)
    traces = [trace for trace, _ in selection.chosen]
    store = None if options.traces and not options.store else _store(options)
    seen = sees_calls(traces, _roles(None if options.traces else store))
    with open_judge(options.judge, configuration, store) as judge:
        found = check(selection, settings, seen, partial(_refusals, judge))
    if left_out := left_out_of(selection):
        say(f"warning: not checked: {left_out}; --session-for NAME checks them as well")
    put_out(_written(found, selection.ungraded, options.format_), options.output)
    return 1 if selection.ungraded or any(each.lacks for each in found) else 0


def _store(options: Options) -> "Store":
    from abs_replay.store import Store, default_path

    return Store(default_path(options.store, os.environ))


def _roles(store: "Store | None") -> "Callable[[Trace], frozenset[str]]":
    """The roles of the channels on which a trace's recording has exchanges."""
    if store is None:
        return lambda trace: frozenset()
    rows = store.ask("SELECT recording, list(DISTINCT role) FROM exchanges GROUP BY recording").rows
    roles = {recording: frozenset(found) for recording, found in rows}
    return lambda trace: roles.get(trace.recording, frozenset())


def _refusals(judge: "Chain", questions: "Sequence[Question]") -> dict[str, str]:
    """Why questions can not be answered, by their digests: those without an answer, and without a judge
    that would take them."""
    known = judge.known(questions)
    found: dict[str, str] = {}
    reasons: dict[tuple[str, str | None, str | None], str | None] = {}
    for each in questions:
        if each.digest in known:
            continue
        key = each.type, each.adapter, each.prompt
        if key not in reasons:
            reasons[key] = next(iter(judge.opened().estimate([each]).refused), None)
        if (why := reasons[key]) is not None:
            found[each.digest] = why
    return found


def _written(found: "Sequence[Checked]", ungraded: "Sequence[str]", format_: str) -> str:
    if format_ == "json":
        from abs_replay.reports.json_report import write

        return write({"evaluations": list(map(_as_json, found)), "sessions_without_traces": list(ungraded)})
    from abs_replay.cli import evidence_table

    return evidence_table.written(found, ungraded)


def _as_json(each: "Checked") -> dict[str, Json]:
    lacks: list[Json] = [
        {"reason": lack.kind.value, "message": lack.message, "count": len(lack.traces), "traces": lack.traces}
        for lack in each.lacks
    ]
    what = {"session": each.session, "at": each.at, "type": each.type, "label": each.label}
    return {**what, "traces": each.traces, "decidable": each.decidable, "lacks": lacks}
