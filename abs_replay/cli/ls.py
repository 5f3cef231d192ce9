"""`abs ls`: what a store holds, a line each. Nothing is decoded: traces are those derived before."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli import narrowing
from abs_replay.cli.saying import say
from abs_replay.cli.where import holding
from abs_replay.cli.where import option as where_option
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.exchange import WITHHELD

if TYPE_CHECKING:
    from abs_replay.exchange import Recording
    from abs_replay.store import ExchangeSummary, Store
    from abs_replay.trace import Trace

MOST_WORDS = 80  # cells of a conversation's first words
MOST_NOTE = 40  # and of what someone noted; `abs show` has all

type Rows = list[Sequence[str]]
type List = tuple[list[Json], Sequence[str], Rows]  # for JSON; the headings and rows for people


@click.command()
@click.argument(
    "kind",
    type=click.Choice(("recordings", "exchanges", "traces", "gradings")),
    default="recordings",
    metavar="[KIND]",
)
@click.option("--recording", metavar="R", help="Only that recording: id, its beginning, name, last, last~1.")
@narrowing.options
@where_option
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option("--format", "format_", type=click.Choice(("table", "json")), default="table", show_default=True)
def command(
    kind: str,
    recording: str | None,
    tags: tuple[str, ...],
    named: str | None,
    where: str | None,
    store: Path | None,
    format_: str,
) -> None:
    """List recordings, exchanges, traces or gradings, the oldest first.

    \b
    abs ls                                       recordings
    abs ls exchanges --recording last            what was said on the wire
    abs ls traces                                conversations, as far as they were derived
    abs ls traces --where "errors > 0"           those of which this holds (abs sql --schema)
    abs ls --tag ticket=42 --name refund         those with that tag, and that word in the name
    abs ls gradings --format json                for a script

    A narrow screen shows fewer columns and the beginnings of ids, which every command takes; a pipe gets all.
    """
    from abs_replay.cli.columns import columns
    from abs_replay.reports import Screen
    from abs_replay.reports.json_report import write
    from abs_replay.store import Store, default_path

    _check(kind, recording, bool(tags) or named is not None, where)
    opened = Store(default_path(store, os.environ))
    with opened.at_once():
        documents, headings, rows = LISTS[kind](opened, recording)
    narrowed = bool(tags) or named is not None or where is not None
    if narrowed:
        holds = holding(opened, where)
        fits = [narrowing.fits(each, tags, named) and (not holds or holds(each)) for each in documents]
        documents, rows = list(compress(documents, fits)), list(compress(rows, fits))
    if format_ == "json":
        click.echo(write(documents), nl=False)
    elif rows:
        click.echo(columns(headings, rows, Screen.of(sys.stdout)), nl=False)
    else:
        such = " of which all that holds" if narrowed else ""
        say(f"no {kind}{such} in {opened.path}")


def _check(kind: str, recording: str | None, narrowed: bool, where: str | None) -> None:
    """Refuse an option that says nothing of this kind."""
    if recording is not None and kind == "gradings":
        raise UsageError("abs ls gradings: a grading is of no one recording; leave --recording out")
    if narrowed and kind not in ("recordings", "traces"):
        raise UsageError(f"abs ls {kind}: these have no names and tags; leave --tag and --name out")
    if where is not None and kind != "traces":
        raise UsageError(f"abs ls {kind}: --where is about traces; leave it out, or ask abs sql")


def recording_json(recording: "Recording") -> dict[str, Json]:
    """A recording as lists and `abs show` have it in JSON; times are Unix seconds."""
    return {
        "id": recording.id,
        "name": recording.name,
        "started_at": recording.started_at,
        "ended_at": recording.ended_at,
        "session": recording.session,
        "tags": recording.tags,
        "channels": {str(upstream.channel): upstream.url for upstream in recording.upstreams},
        "marks": [{"at": mark.at, "name": mark.name} for mark in recording.marks],
    }


def _recordings(store: "Store", ref: str | None) -> List:
    from abs_replay.cli.columns import length, moment, size
    from abs_replay.reports.cells import cut
    from abs_replay.store import Note

    summaries = store.recordings()
    if ref is not None:
        only = store.recording(ref).id
        summaries = tuple(summary for summary in summaries if summary.recording.id == only)
    notes = store.notes("recording")
    documents: list[Json] = []
    rows: Rows = []
    for summary in summaries:
        recording = summary.recording
        counts = {"exchanges": summary.exchanges, "errors": summary.errors, "bytes": summary.bytes}
        note = notes.get((recording.id, recording.id), Note()).text
        documents.append({**recording_json(recording), **counts, "traces": summary.traces, "note": note})
        ended = recording.ended_at
        lasted = "not ended" if ended is None else length((ended - recording.started_at) * 1000)
        traces = "–" if summary.traces is None else str(summary.traces)
        tags = " ".join(f"{key}={value}" for key, value in recording.tags.items())
        counted = (str(summary.exchanges), str(summary.errors), size(summary.bytes), traces)
        began = moment(recording.started_at)
        rows.append((recording.id, recording.name, began, lasted, *counted, cut(note or "", MOST_NOTE), tags))
    counts_of = ("EXCHANGES>", "ERRORS>", "SIZE>", "TRACES>")
    headings = ("ID", "NAME", "STARTED", "LENGTH>", *counts_of, "NOTE", "TAGS")
    return documents, *_without_empty(("NOTE",), headings, rows)


def _exchanges(store: "Store", ref: str | None) -> List:
    from abs_replay.cli.columns import length, moment, size
    from abs_replay.reports.totals import plural

    documents: list[Json] = []
    rows: Rows = []
    for each in store.exchange_summaries(None if ref is None else store.recording(ref).id):
        documents.append({**asdict(each), "channel": str(each.channel)})
        status = "–" if each.status is None else str(each.status)
        sizes = (size(each.request_bytes), size(each.response_bytes))
        said = "" if each.messages is None else f" ({plural(each.messages, 'message')})"
        asked = f"{each.method} {each.target}{said}"
        what = (str(each.channel), status, _ending(each), *sizes, length(each.ended_ms), asked)
        rows.append((each.id, moment(each.started_at), *what))
    headings = ("ID", "STARTED", "CHANNEL", "STATUS>", "OUTCOME", "SENT>", "GOT>", "TOOK>", "REQUEST")
    return documents, headings, rows


def _ending(each: "ExchangeSummary") -> str:
    """How an exchange ended, and whether less of it is kept than was said."""
    less = WITHHELD if each.withheld else "cut" if each.cut else None
    return f"{each.outcome.value}, {less}" if less else each.outcome.value


def _traces(store: "Store", ref: str | None) -> List:
    from abs_replay.cli.columns import moment
    from abs_replay.reports.cells import cut
    from abs_replay.store import Note

    only = None if ref is None else store.recording(ref).id
    say_what_is_not_derived(store, only)
    notes = store.notes("trace", only)
    documents: list[Json] = []
    rows: Rows = []
    for trace in store.traces(only):
        note = notes.get((trace.recording, trace.id), Note()).text
        words = _first_words(trace)
        documents.append({**_trace_json(trace, words), "note": note})
        where = (trace.recording or "–", trace.session or "–")
        shown = cut(words or "", MOST_WORDS)
        counted = (moment(trace.started_at), str(len(trace.steps)))
        rows.append((trace.id, trace.name or "", *where, *counted, cut(note or "", MOST_NOTE), shown))
    headings = ("ID", "NAME", "RECORDING", "SESSION", "STARTED", "STEPS>", "NOTE", "FIRST WORDS")
    return documents, *_without_empty(("NAME", "NOTE"), headings, rows)


def _trace_json(trace: "Trace", first_words: str | None) -> dict[str, Json]:
    return {
        "id": trace.id,
        "name": trace.name,
        "recording": trace.recording,
        "session": trace.session,
        "started_at": trace.started_at,
        "steps": len(trace.steps),
        "models": trace.models,
        "usage": asdict(trace.usage) if trace.usage else None,
        "retries": sum(step.retries for step in trace.steps),
        "segments": [step.seq for step in trace.steps if step.segment],
        "branch_of": asdict(trace.branch_of) if trace.branch_of else None,
        "first_words": first_words,
        "tags": trace.tags,
    }


def _without_empty(
    names: Sequence[str], headings: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[Sequence[str], Rows]:
    """Leave out those columns where no row has anything in them."""
    shown = [n for n, name in enumerate(headings) if name not in names or any(row[n] for row in rows)]
    return [headings[n] for n in shown], [[row[n] for n in shown] for row in rows]


def say_what_is_not_derived(store: "Store", only: str | None) -> None:
    """Say which recordings have exchanges that their traces, if any, were not made of."""
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import is_current

    by = conversation_key()
    stale = [each.recording for each in store.derivations(only) if not is_current(each, by)]
    if stale:
        shown = ", ".join(id_[:12] for id_ in stale[:3]) + (", ..." if len(stale) > 3 else "")
        say(
            f"abs: traces of {shown} were not derived yet, or are out of date: "
            f"`abs show {stale[0][:12]}` derives them"
        )


def _first_words(trace: "Trace") -> str | None:
    said = (step.content for step in trace.steps if step.actor == "user" and isinstance(step.content, str))
    return next(said, None)


def _gradings(store: "Store", _: str | None) -> List:
    from abs_replay.cli.columns import moment

    documents: list[Json] = []
    rows: Rows = []
    for each in store.gradings():
        runs = {result.value: count for result, count in each.runs.items()}
        evaluations = {status.value: count for status, count in each.verdicts.items()}
        documents.append(
            {
                "id": each.id,
                "made_at": each.made_at,
                "result": each.result.value,
                "runs": runs,
                "evaluations": evaluations,
            }
        )
        rows.append((each.id, moment(each.made_at), each.result.value, counted(runs), counted(evaluations)))
    return documents, ("ID", "MADE", "RESULT", "RUNS", "EVALUATIONS"), rows


def counted(counts: dict[str, int]) -> str:
    """Counts in words: `3 passed, 1 failed`."""
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items()) or "none"


LISTS: dict[str, Callable[["Store", str | None], List]] = {
    "recordings": _recordings,
    "exchanges": _exchanges,
    "traces": _traces,
    "gradings": _gradings,
}
