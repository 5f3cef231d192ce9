"""The traces that `abs grade` judges: of files, or those of the store that its flags choose."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import click

from abs_replay.cli.since import since
from abs_replay.cli.where import fitting
from abs_replay.cli.where import option as where_option
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.grading import Selection
    from abs_replay.spec.loader import Documents
    from abs_replay.store import Store
    from abs_replay.trace import Trace

FILE = click.Path(path_type=Path)


class Choice(Protocol):
    """What a command line says of the traces that it is about."""

    @property
    def traces(self) -> tuple[Path, ...]: ...
    @property
    def store(self) -> Path | None: ...
    @property
    def recording(self) -> str | None: ...
    @property
    def trace(self) -> str | None: ...
    @property
    def session_for(self) -> str | None: ...
    @property
    def since(self) -> str | None: ...
    @property
    def where(self) -> str | None: ...


def choice_options[Command: Callable[..., Any]](doing: str) -> Callable[[Command], Command]:
    """Give a command the flags of a `Choice`, and `--var`; it is said to be `doing` something with traces."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option(
            "--traces", multiple=True, type=FILE, help=f"{doing} the traces of this file; repeatable."
        ),
        click.option("--store", type=FILE, help="The store [default: ABS_STORE, or .abs/store.duckdb]."),
        click.option(
            "--recording", metavar="R", help="Traces of this recording only: name, id, last, last~1."
        ),
        click.option("--trace", metavar="T", help="This trace only: its id, or the beginning of it."),
        click.option(
            "--session-for", metavar="NAME", help="The session that judges every trace, whatever it names."
        ),
        click.option(
            "--var", multiple=True, metavar="NAME=VALUE", help="A variable; NAME:=JSON gives another type."
        ),
        click.option("--since", metavar="D", help="Traces begun since a date, a time, or 30m, 12h, 7d ago."),
        where_option,
    )

    def given(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return given


def selected(options: Choice, documents: "Documents") -> "Selection":
    """Which session judges which of the traces that were asked for: those of files, or of the store."""
    from abs_replay.grading import select_given, select_stored

    select = select_given if options.traces else select_stored
    traces = _read_files(options) if options.traces else _read_store(options)
    store = None if options.traces or options.where is None else _store(options)
    traces = fitting(_chosen(traces, options.trace), options.where, store)
    return select(traces, documents.sessions, options.session_for)


def _read_files(options: Choice) -> Sequence["Trace"]:
    from abs_replay.importers import trace_file

    return [trace for path in options.traces for trace in trace_file.read(path)]


def _read_store(options: Choice) -> Sequence["Trace"]:
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import traces_of

    traces = traces_of(_store(options), options.recording, by=conversation_key())
    if options.since is None:
        return traces
    begin = since(options.since, datetime.now().astimezone())
    return [trace for trace in traces if trace.started_at is not None and trace.started_at >= begin]


def _store(options: Choice) -> "Store":
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
