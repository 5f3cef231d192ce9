"""`abs rm`: recordings with all they hold, single traces, and gradings, for good."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli import rm_traces
from abs_replay.cli.saying import say
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.store import Found, RecordingSummary, Store


@click.command()
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
def command(refs: tuple[str, ...], yes: bool, store: Path | None) -> None:
    """Remove recordings with their exchanges, traces, marks and notes; single traces; or gradings.

    \b
    abs rm last                           asks first
    abs rm demo 3f2a90 --yes              for a script
    abs rm t05                            one conversation, with the exchanges that only it shows

    REF is an id or its beginning, a recording's name, last, or last~1. Gradings outlive the traces that they
    judged: they still can be shown, reported and compared, and keep what judges were asked. The file keeps
    its size, and uses the room again; `abs vacuum` gives it back. A recording that runs is not removed.
    """
    from abs_replay.running import forget_gone
    from abs_replay.store import Store, default_path
    from abs_replay.store.removing import Single

    opened = Store(default_path(store, os.environ))
    found = list(dict.fromkeys(_found(opened, ref) for ref in refs))
    recordings = [each.id for each in found if each.kind == "recording"]
    gradings = [each.id for each in found if each.kind == "grading"]
    single = [each for each in found if each.kind == "trace" and each.recording not in recordings]
    refuse_running(opened, [*recordings, *(each.recording or "" for each in single)])
    traces = rm_traces.leaving(opened, single)
    summaries = [each for each in opened.recordings() if each.recording.id in recordings]
    named = [f"grading {id_}" for id_ in gradings]
    for line in (*map(told, summaries), *map(rm_traces.told, traces), *named):
        say(line)
    _say_what_outlives(opened, recordings, [each.id for each in single], gradings)
    if not yes:
        _ask()
    parts = [Single(one.recording.id, one.trace.id, one.exchanges) for one in traces]
    opened.remove(recordings, gradings, parts)
    forget_gone(opened.path)
    for line in rm_traces.left_of(opened, traces):
        say(line)
    say("removed; `abs vacuum` gives back the room")


def _say_what_outlives(
    store: "Store", recordings: Sequence[str], traces: Sequence[str], gradings: Sequence[str]
) -> None:
    staying = [id_ for id_ in store.gradings_of(recordings, traces) if id_ not in gradings]
    if staying:
        say(f"judged in {', '.join(staying)}, which stay{'s' * (len(staying) == 1)}")


def _found(store: "Store", ref: str) -> "Found":
    found = store.find(ref)
    if found.kind == "exchange":
        of = f" of recording {(found.recording or '')[:12]}" if found.recording else ""
        raise UsageError(f"{ref} is an exchange{of}: only recordings, traces and gradings can be removed")
    return found


def refuse_running(store: "Store", recordings: Sequence[str] | None = None) -> None:
    """Raise `UsageError` where one of these recordings, or any one of the store, runs now."""
    from abs_replay.running import running

    for each in running(store.path):
        if recordings is None or each.recording in recordings:
            raise UsageError(
                f"recording {each.name} ({each.recording[:12]}) runs (process {each.process}): end it first"
            )


def told(summary: "RecordingSummary") -> str:
    """A recording, and what goes with it, in one line."""
    from abs_replay.cli.columns import moment, size
    from abs_replay.reports.totals import plural

    recording = summary.recording
    counts = [
        plural(summary.exchanges, "exchange"),
        *([plural(summary.traces, "trace")] if summary.traces else []),
    ]
    what = f"{', '.join(counts)}, {size(summary.bytes)}"
    return f"recording {recording.name} ({recording.id[:12]}) of {moment(recording.started_at)}: {what}"


def _ask() -> None:
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here: say --yes to remove this for good")
    click.confirm("remove this for good?", abort=True, err=True)
