"""`abs show`: one recording, trace, exchange or grading, whole."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.cli.ls import recording_json
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.exact_json import Json
    from abs_replay.exchange import Recording
    from abs_replay.reports import Screen
    from abs_replay.store import Found, Note, Store

MOST_NAMED = 10  # traces of a recording, where one of them is to be chosen

type Shown = Callable[["Store", "Found", "Screen | None"], str]


@click.command()
@click.argument("id_", metavar="ID")
@click.option("--exchange", "kind", flag_value="exchange", help="ID is an exchange's: `last --exchange`.")
@click.option("--trace", "kind", flag_value="trace", help="ID is a trace's: `last --trace`.")
@click.option("--grading", "kind", flag_value="grading", help="ID is a grading's: `last --grading`.")
@click.option(
    "--why",
    is_flag=True,
    help="Of a trace: which bytes show each step, what was merged and dropped. "
    "Of a recording: what is in no trace.",
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
    abs show demo --trace                 the trace of a recording that has one
    abs show t-3f2a --format json         the same as a trace file
    abs show t-3f2a --why                 which exchanges and bytes show each step, what is in no trace
    abs show demo --why                   of a recording: which exchanges are in no trace, and why
    abs show last --exchange              the newest request and response, raw
    abs show last --grading               a grading: who made it with what, and its report

    ID is an id or its beginning, a recording's name, last, or last~1.
    """
    from abs_replay.cli import explained
    from abs_replay.cli.derived import derived
    from abs_replay.reports import Screen
    from abs_replay.store import Store, default_path

    opened = Store(default_path(store, os.environ))
    if kind == "trace" or (why and kind is None):
        derived(opened)  # those that nobody has read yet are not there to be found
    found = explained.find(opened, id_, kind) if why and kind is None else _found(opened, id_, kind)
    if why and found.kind not in explained.AS_TEXT:
        what = "an exchange" if found.kind == "exchange" else "a grading"
        raise UsageError(f"--why explains traces and recordings, and {id_} is {what}: leave one of them out")
    kinds = (explained.AS_JSON, explained.AS_TEXT) if why else (AS_JSON, AS_TEXT)
    show = kinds[format_ == "table"][found.kind]
    click.echo(show(opened, found, Screen.of(sys.stdout)), nl=False)


def _found(store: "Store", id_: str, kind: str | None) -> "Found":
    """What an id names; of a recording's trace or exchange, where it has one alone, its own name will do."""
    from abs_replay.errors import StoreError

    try:
        return store.find(id_, kind)
    except StoreError as error:
        try:
            recording = store.find(id_, "recording") if kind in ("trace", "exchange") else None
        except StoreError:
            recording = None
        if recording is None:
            raise error
    return _only(store, id_, str(kind), recording)


def _only(store: "Store", id_: str, kind: str, recording: "Found") -> "Found":
    from abs_replay.cli.ls import LISTS
    from abs_replay.store import Found

    listed: Any = LISTS[f"{kind}s"](store, recording.id)[0]
    ids = [str(each["id"]) for each in listed]
    if len(ids) == 1:
        return Found(kind, ids[0], recording.id)
    if not ids:
        raise UsageError(f"recording {id_} has no {kind}: `abs show {id_} --why` says what is in it")
    more = f" and {len(ids) - MOST_NAMED} more (`abs show {id_}` lists them)" if len(ids) > MOST_NAMED else ""
    raise UsageError(
        f"recording {id_} has {len(ids)} {kind}s: show one of {', '.join(ids[:MOST_NAMED])}{more}"
    )


def _recording(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli.derived import derived
    from abs_replay.cli.explained import left_out
    from abs_replay.reports.cells import escaped
    from abs_replay.reports.totals import plural

    with store.at_once():
        text = _head(store.recording(found.id), _note(store, found).text)
    derived(store, found.id)
    with store.at_once():
        for kind, one in (("exchanges", "exchange"), ("traces", "trace")):
            rows, table = _listed(store, kind, found.id, screen)
            text += f"\n{plural(rows, one)}\n{table}"
        count = len(left_out(store, found.id))
    if not count:
        return text
    are = "is" if count == 1 else "are"
    told = f"{plural(count, 'exchange')} {are} in no trace: `abs show {found.id[:12]} --why` says why"
    return f"{text}\n{escaped(told)}\n"


def _head(recording: "Recording", note: str | None) -> str:
    """A recording's own facts, a line each."""
    from abs_replay.cli.columns import length, moment
    from abs_replay.reports.cells import escaped

    ended = recording.ended_at
    lasted = "not ended" if ended is None else length((ended - recording.started_at) * 1000)
    facts = {
        "started": f"{moment(recording.started_at)} ({lasted})",
        "session": recording.session,
        "tags": " ".join(f"{key}={value}" for key, value in recording.tags.items()),
        "note": note,
    }
    lines = [
        f"recording {recording.name} ({recording.id})",
        *(f"  {name}: {value}" for name, value in facts.items() if value),
        *(f"  {upstream.channel} at {upstream.url}" for upstream in recording.upstreams),
        *(f"  mark at {moment(mark.at)}: {mark.name or 'no name'}" for mark in recording.marks),
    ]
    return "".join(f"{escaped(line)}\n" for line in lines)


def _note(store: "Store", found: "Found") -> "Note":
    from abs_replay.store import Note

    return store.notes(found.kind, found.recording).get((found.recording, found.id), Note())


def _listed(store: "Store", kind: str, recording_id: str, screen: "Screen | None") -> tuple[int, str]:
    from abs_replay.cli.columns import columns
    from abs_replay.cli.ls import LISTS

    _, headings, rows = LISTS[kind](store, recording_id)
    return len(rows), columns(headings, rows, screen) if rows else ""


def _recording_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli.derived import derived
    from abs_replay.cli.explained import left_out
    from abs_replay.cli.ls import LISTS

    derived(store, found.id)
    with store.at_once():
        lists: dict[str, Json] = {kind: LISTS[kind](store, found.id)[0] for kind in ("exchanges", "traces")}
        left: list[Json] = [
            {"exchange": fate.exchange, "protocol": fate.protocol, "why": fate.why}
            for fate in left_out(store, found.id)
        ]
        facts = {**recording_json(store.recording(found.id)), "note": _note(store, found).text}
    return _json({**facts, **lists, "in_no_trace": left})


def _trace_text(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli.derived import trace_of
    from abs_replay.cli.timeline import timeline

    return timeline(trace_of(store, found), screen, _note(store, found).text)


def _trace_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli.derived import trace_of
    from abs_replay.importers.trace_file import as_json

    return _json(as_json(trace_of(store, found)))


def _exchange(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli.wire import wire
    from abs_replay.reports.cells import escaped

    with store.at_once():
        note = _note(store, found)
        (exchange,) = store.exchanges(found.recording, [found.id])
    facts = {"tags": " ".join(f"{key}={value}" for key, value in note.tags.items()), "note": note.text}
    added = "".join(escaped(f"* {name}: {text}") + "\n" for name, text in facts.items() if text)
    return added + wire(exchange)


def _exchange_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    """The exchange as a cassette has it, alone in one."""
    from abs_replay.cassette import Cassette, dumps

    exchanges = store.exchanges(found.recording, [found.id])
    return dumps(Cassette(store.recording(str(found.recording)), exchanges))


def _grading(store: "Store", found: "Found", screen: "Screen | None") -> str:
    from abs_replay.cli.shown_grading import as_text

    return as_text(store.grading(found.id), screen)


def _grading_json(store: "Store", found: "Found", _: "Screen | None") -> str:
    from abs_replay.cli.shown_grading import as_json

    return _json(as_json(store.grading(found.id)))


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
