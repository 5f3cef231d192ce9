"""`abs show`: one recording, trace, exchange or grading, whole."""

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.ls import counted, recording_json
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.cli.why import Why
    from abs_replay.exact_json import Json
    from abs_replay.reports import Screen
    from abs_replay.store import Found, Store
    from abs_replay.trace import Trace

type Shown = Callable[["Store", "Found", "Screen | None"], str]


@click.command()
@click.argument("id_", metavar="ID")
@click.option("--exchange", "kind", flag_value="exchange", help="ID is an exchange's: `last --exchange`.")
@click.option("--trace", "kind", flag_value="trace", help="ID is a trace's: `last --trace`.")
@click.option(
    "--why", is_flag=True, help="Of a trace: which bytes show each step, what was merged and dropped."
)
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(id_: str, kind: str | None, why: bool, store: Path | None, format_: str) -> None:
    """Show a recording, a trace, an exchange or a grading.

    \b
    abs show last                         the newest recording: its channels, exchanges, traces
    abs show last --trace                 the newest conversation, step by step
    abs show t-3f2a --format json         the same as a trace file
    abs show t-3f2a --why                 which exchanges and bytes show each step, what is in no trace
    abs show last --exchange              the newest request and response, raw
    abs show g-2026                       a grading: its runs, and what they came to

    ID is an id or its beginning, a recording's name, last, or last~1.
    """
    from abs_replay.reports import Screen
    from abs_replay.store import Store, default_path

    opened = Store(default_path(store, os.environ))
    kind = "trace" if why and kind is None else kind
    if kind == "trace":
        _derived(opened)  # those that nobody has read yet are not there to be found
    found = opened.find(id_, kind)
    if why and found.kind != "trace":
        raise UsageError(f"--why explains traces, and {id_} is an exchange: leave one of them out")
    show = _why if why else (AS_JSON if format_ == "json" else AS_TEXT)[found.kind]
    if why and format_ == "json":
        show = _why_json
    click.echo(show(opened, found, Screen.of(sys.stdout)), nl=False)


def _derived(store: "Store", ref: str | None = None) -> "tuple[Trace, ...]":
    """The traces of one recording or of all, derived now if they were not yet."""
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import traces_of

    return traces_of(store, ref, by=conversation_key())


def _recording(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli.columns import length, moment
    from abs_replay.reports.cells import escaped
    from abs_replay.reports.totals import plural

    recording = store.recording(found.id)
    lasted = (
        "not ended"
        if recording.ended_at is None
        else length((recording.ended_at - recording.started_at) * 1000)
    )
    facts = {
        "started": f"{moment(recording.started_at)} ({lasted})",
        "session": recording.session,
        "tags": " ".join(f"{key}={value}" for key, value in recording.tags.items()),
    }
    lines = [
        escaped(f"recording {recording.name} ({recording.id})"),
        *(escaped(f"  {name}: {value}") for name, value in facts.items() if value),
        *(escaped(f"  {upstream.channel} at {upstream.url}") for upstream in recording.upstreams),
    ]
    text = "".join(f"{line}\n" for line in lines)
    _derived(store, recording.id)
    for kind, one in (("exchanges", "exchange"), ("traces", "trace")):
        rows, table = _listed(store, kind, recording.id, screen)
        text += f"\n{plural(rows, one)}\n{table}"
    return text


def _listed(store: "Store", kind: str, recording_id: str, screen: "Screen | None") -> tuple[int, str]:
    from abs_replay.cli.columns import columns
    from abs_replay.cli.ls import LISTS

    _, headings, rows = LISTS[kind](store, recording_id)
    return len(rows), columns(headings, rows, screen) if rows else ""


def _recording_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli.ls import LISTS

    _derived(store, found.id)
    lists: dict[str, Json] = {kind: LISTS[kind](store, found.id)[0] for kind in ("exchanges", "traces")}
    return _json({**recording_json(store.recording(found.id)), **lists})


def _trace(store: "Store", found: "Found") -> "Trace":
    """The trace as today's decoders see it; as it is stored where they see none of that id."""
    derived = {trace.id: trace for trace in _derived(store, found.recording)}
    return derived[found.id] if found.id in derived else store.trace(found.id)


def _trace_text(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli.timeline import timeline

    return timeline(_trace(store, found), screen)


def _trace_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.importers.trace_file import as_json

    return _json(as_json(_trace(store, found)))


def _whole(store: "Store", found: "Found") -> "Why":
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.cli.why import Why
    from abs_replay.derivation import account_of

    account = account_of(store, store.recording(str(found.recording)), conversation_key())
    trace = next((trace for trace in account.traces if trace.id == found.id), None)
    if trace is None:
        raise UsageError(f"trace {found.id}: its exchanges are not in the store, so nothing explains it")
    why = Why(_trace(store, found), account, {})
    asked = {note.exchange for notes in account.notes[trace.id] for note in notes}
    asked |= {fate.exchange for fate in (*why.fates, *why.left_out)}
    exchanges = {each.id: each for each in store.exchanges(found.recording, sorted(asked))}
    return replace(why, exchanges=exchanges)


def _why(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli import why

    return why.text(_whole(store, found), screen)


def _why_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli import why
    from abs_replay.importers.trace_file import as_json

    whole = _whole(store, found)
    return _json(as_json(whole.trace) | why.as_json(whole))


def _exchange(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli.wire import wire

    return wire(store.exchanges(found.recording, [found.id])[0])


def _exchange_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    """The exchange as a cassette has it, alone in one."""
    from abs_replay.cassette import Cassette, dumps

    exchanges = store.exchanges(found.recording, [found.id])
    return dumps(Cassette(store.recording(str(found.recording)), exchanges))


def _grading(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli.columns import columns, moment
    from abs_replay.reports import totals
    from abs_replay.reports.cells import escaped

    grading = store.grading(found.id)
    runs = grading.report.runs
    lines = [
        f"grading {grading.id}: {grading.report.result.value}",
        f"  made: {moment(grading.made_at)}",
        *(f"  graded with {file} (sha256 {digest[:12]})" for file, digest in grading.files.items()),
        f"  evaluations: {counted(_not_zero(totals.evaluation_counts(runs)))}",
    ]
    rows = [
        (run.result.value, run.trace, counted(_not_zero(totals.evaluation_counts([run]))), run.session)
        for run in runs
    ]
    text = "".join(f"{escaped(line)}\n" for line in lines)
    return text + (
        "\n" + columns(("RESULT", "TRACE", "EVALUATIONS", "SESSION"), rows, screen) if rows else ""
    )


def _not_zero(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _grading_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.reports.json_report import render

    return render(store.grading(found.id).report)


def _json(value: "Json") -> str:
    from abs_replay.reports.json_report import write

    return write(value)


AS_TEXT: dict[str, Shown] = {
    "recording": _recording,
    "trace": _trace_text,
    "exchange": _exchange,
    "grading": _grading,
}
AS_JSON: dict[str, Shown] = {
    "recording": _recording_json,
    "trace": _trace_json,
    "exchange": _exchange_json,
    "grading": _grading_json,
}
