"""`abs export`: write a recording, or a conversation, for other tools."""

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.cli.saying import say
from abs_replay.cli.where import fitting
from abs_replay.cli.where import option as where_option
from abs_replay.cli.writing import STDOUT, write
from abs_replay.errors import StoreError, UsageError
from abs_replay.exporters import EXPORTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from abs_replay.exchange import Exchange, Recording
    from abs_replay.exporters import Content
    from abs_replay.exporters.conversations import Conversation
    from abs_replay.store import Store
    from abs_replay.trace import Trace


class Command(click.Command):
    """Tells of the formats in its help, and what is lost in each."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        told = [
            (name, f"{each.what}{f'; lost: {each.lost}' if each.lost else ''}")
            for name, each in EXPORTERS.items()
        ]
        with formatter.section("Formats"):
            formatter.write_dl(told)


@click.command(cls=Command)
@click.argument("ref", default="last", metavar="[RECORDING|TRACE]")
@click.option(
    "--format", "format_", type=click.Choice(list(EXPORTERS)), default="cassette", show_default=True
)
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    help="The file to write; - is standard output [default: NAME and the format's ending].",
)
@click.option(
    "--split-by",
    type=click.Choice(["conversation"]),
    help="Write a cassette for each conversation: NAME-1, or what a mark calls it; what belongs to none is "
    "NAME-rest.",
)
@click.option(
    "--only-used",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="REPORT",
    help="Only the exchanges that a replay played, by what abs replay --report REPORT wrote.",
)
@where_option
@click.option("--force", is_flag=True, help="Write over a file that exists.")
def command(
    ref: str,
    format_: str,
    store: Path | None,
    output: Path | None,
    split_by: str | None,
    only_used: Path | None,
    where: str | None,
    force: bool,
) -> None:
    """Write a RECORDING (a name, an id, last, last~1; last if none is given), or one TRACE of it.

    \b
    abs export                                     the last recording, as NAME.cassette.json
    abs export refund --output tests/refund.cassette.json
    abs export refund --format traces              its conversations, for abs grade --traces
    abs export --only-used report.json             without what no test asks for
    abs export --format traces --where "errors > 0"    those of the recording's conversations
    abs export t-3f2a --format otel --output -     one conversation as OpenTelemetry spans

    Secrets were taken out when it was recorded.
    """
    from abs_replay.store import Store, default_path

    stored = Store(default_path(store, os.environ))
    recording, trace = _chosen(stored, ref)
    _check(format_, output, split_by, only_used, where)
    content = (
        _exchanges(stored, recording, trace, format_, only_used)
        if EXPORTERS[format_].of_exchanges
        else _traces(stored, recording, trace, where)
    )
    name = _file_name(trace.id if trace else recording.name)
    path = output or Path(f"{name}{EXPORTERS[format_].ending}")
    for part, file in _parts(content, path) if split_by else ((content, path),):
        _write(part, format_, file, force)
    if EXPORTERS[format_].of_exchanges and not content.exchanges:
        say(f"warning: recording {recording.name} holds no exchange that ended")


def _check(
    format_: str, output: Path | None, split_by: str | None, only_used: Path | None, where: str | None
) -> None:
    """Refuse what does not go together, before anything is read."""
    if where is not None and EXPORTERS[format_].of_exchanges:
        raise UsageError(f"--where chooses traces, and --format {format_} writes exchanges: --format traces")
    if only_used and not EXPORTERS[format_].of_exchanges:
        raise UsageError(f"--only-used chooses exchanges, and --format {format_} writes traces")
    if split_by and (format_ != "cassette" or output == STDOUT):
        what = "to standard output" if output == STDOUT else f"with --format {format_}"
        raise UsageError(f"--split-by writes several cassettes, which can not be done {what}")


def _write(content: "Content", format_: str, path: Path, force: bool) -> None:
    from abs_replay.exporters import render

    write(path, render(format_, content), force)
    say(f"{path}: {_counted(content)}", err=path == STDOUT)


def _parts(content: "Content", path: Path) -> "Iterator[tuple[Content, Path]]":
    """A recording's conversations, with a file for each beside the one that would hold all."""
    from abs_replay.exporters import Content
    from abs_replay.exporters.conversations import numbered

    ending = EXPORTERS["cassette"].ending
    name = path.name.removesuffix(ending) if path.name.endswith(ending) else path.stem
    for called, parts in numbered(content.conversations).items():
        exchanges = tuple(exchange for part in parts for exchange in part.exchanges)
        file = path.with_name(f"{name}-{_file_name(called)}{ending}")
        yield Content(content.recording, exchanges, conversations=parts), file


def _chosen(store: "Store", ref: str) -> "tuple[Recording, Trace | None]":
    """The recording of that name, or the trace of that id with its recording."""
    try:
        return store.recording(ref), None
    except StoreError as unknown:
        found = [trace for trace in _derived(store, None) if ref and trace.id.startswith(ref)]
        exact = [trace for trace in found if trace.id == ref] or found
        if len({trace.id for trace in exact}) != 1 or exact[-1].recording is None:
            raise unknown from None
        return store.recording(exact[-1].recording), exact[-1]


def _derived(store: "Store", recording_id: str | None) -> "tuple[Trace, ...]":
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import traces_of

    return traces_of(store, recording_id, by=conversation_key())


def _exchanges(
    store: "Store", recording: "Recording", trace: "Trace | None", format_: str, report: Path | None
) -> "Content":
    from abs_replay.exporters import Content

    if trace is not None:
        raise UsageError(
            f"{trace.id} is a trace, and --format {format_} writes exchanges, some of which no trace shows: "
            f"export its recording, {recording.name}"
        )
    exchanges = store.exchanges(recording.id)
    if not exchanges and store.traces(recording.id):
        raise UsageError(
            f"recording {recording.name} holds traces and no exchanges, so there is nothing for --format "
            f"{format_}: say --format traces"
        )
    if report:
        exchanges = _used(exchanges, report, recording)
    parts = _conversations(store, recording, exchanges) if format_ == "cassette" else ()
    return Content(recording, exchanges, conversations=parts)


def _conversations(
    store: "Store", recording: "Recording", exchanges: "Sequence[Exchange]"
) -> "tuple[Conversation, ...]":
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import account_of
    from abs_replay.exporters.conversations import conversations

    return conversations(exchanges, account_of(store, recording, conversation_key()))


def _used(exchanges: "Sequence[Exchange]", report: Path, recording: "Recording") -> "tuple[Exchange, ...]":
    """Those that a replay played; raises `UsageError` for a report that is none, or of another recording."""
    try:
        used = json.loads(report.read_bytes())["used"]
        wanted = {id_ for id_ in used if isinstance(id_, str)}
    except OSError as error:
        raise UsageError(f"{report} can not be read: {error.strerror or error}") from None
    except (ValueError, TypeError, KeyError, RecursionError):
        raise UsageError(f"{report} is no report: abs replay --report {report} writes one") from None
    found = tuple(exchange for exchange in exchanges if exchange.id in wanted)
    if len(found) < len(wanted):
        from abs_replay.reports.totals import plural

        missing = plural(len(wanted) - len(found), "exchange")
        raise UsageError(
            f"{report} names {missing} that recording {recording.name} does not hold: it is of a replay of "
            "another one"
        )
    return found


def _traces(store: "Store", recording: "Recording", trace: "Trace | None", where: str | None) -> "Content":
    from abs_replay.exporters import Content
    from abs_replay.exporters.providers import providers

    traces = _derived(store, recording.id) if trace is None else (trace,)
    if not traces:
        raise UsageError(
            f"recording {recording.name} holds no conversation: `abs show {recording.id}` says why"
        )
    traces = tuple(fitting(traces, where, store))
    return Content(
        recording, traces=traces, providers=providers(recording, store.exchange_summaries(recording.id))
    )


def _counted(content: "Content") -> str:
    from abs_replay.reports.totals import plural

    if content.traces:
        steps = sum(len(trace.steps) for trace in content.traces)
        return f"{plural(len(content.traces), 'trace')}, {plural(steps, 'step')}"
    counts = Counter(str(exchange.channel) for exchange in content.exchanges)
    shown = ", ".join(f"{channel} {count}" for channel, count in sorted(counts.items()))
    return f"{plural(len(content.exchanges), 'exchange')}{f' ({shown})' if shown else ''}"


def _file_name(name: str) -> str:
    """A recording's name as one that leads out of no folder."""
    return re.sub(r"[^\w.-]+", "-", name).strip(".-") or "recording"
