"""`abs import`: recordings of other tools become recordings of the store."""

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.cli.redaction import configured_rules
from abs_replay.cli.saying import say
from abs_replay.errors import AbsReplayError, StoreError, UsageError
from abs_replay.reports.totals import plural

if TYPE_CHECKING:
    from abs_replay.importing import Done
    from abs_replay.store import Whole

MOST_UNKNOWN = 20  # files that no importer knows, of a folder, that are named


class Command(click.Command):
    """Tells of the formats in its help; they are looked up when that is asked for."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from abs_replay.importers import IMPORTERS, formats

        told = [
            (name, IMPORTERS[name][1] if name in IMPORTERS else "of an installed package")
            for name in formats()
        ]
        with formatter.section("Formats"):
            formatter.write_dl(told)


@click.command(cls=Command)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..")
@click.option("--as", "format_", metavar="FORMAT", help="Read as that [default: what recognises a file].")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option(
    "--name", help="What the recording is called; with several files NAME/FILE [default: the file]."
)
@click.option("--session", help="The session document's name that the conversations play.")
@click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Anything worth knowing later.")
@click.option(
    "--channel",
    multiple=True,
    metavar="ROLE[:NAME]=HOST",
    help="Where exchanges with hosts like that belong: agent, llm or tool. * and ? stand for letters.",
)
def command(
    paths: tuple[Path, ...],
    format_: str | None,
    store: Path | None,
    name: str | None,
    session: str | None,
    tag: tuple[str, ...],
    channel: tuple[str, ...],
) -> int:
    """Keep what other tools recorded, a recording for every file; folders are walked.

    Bytes stay as they are; secrets are taken out as in recording. What is not as it was on the wire is said.
    Importing a file again changes nothing.

    \b
    abs import tests/cassettes
    abs import login.har --name login --channel "tool:Orders=orders.*"
    abs import old.yaml --as vcr --session "Order status" && abs grade status.abs.yaml

    Exits with 2 if nothing could be imported, or not every file that was named itself; what else lies in a
    folder is only listed.
    """
    from abs_replay.importers.placing import Rule
    from abs_replay.importing import Wanted, import_files
    from abs_replay.store import Store, default_path

    rules = tuple(Rule.parse(text) for text in channel)
    redaction = configured_rules(say)
    wanted = Wanted(format_, name, session, dict(_tag(text) for text in tag), rules, redaction)
    path = default_path(store, os.environ)
    done = []
    for each in import_files(paths, Store(path), wanted):
        done.append(each)
        _say(each)
    _derive([each.whole for each in done if each.whole is not None and each.fresh], path)
    _sum_up(done, path)
    failed = [each for each in done if each.whole is None]
    return 2 if len(failed) == len(done) or any(each.named for each in failed) else 0


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--tag {text!r}: expected KEY=VALUE")
    return key, value


def _derive(imported: "Sequence[Whole]", store: Path) -> None:
    """Derive traces, so that lists show them; where a store is held, whoever reads them first does.

    What is wrong otherwise (a broken decoder) is said: the files are kept, but no trace can be read.
    """
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import derive_imported
    from abs_replay.store import Store

    try:
        with suppress(StoreError):
            derive_imported(Store(store), imported, conversation_key())
    except AbsReplayError as error:
        say(f"abs: {error}")


def _say(done: "Done") -> None:
    if done.error is not None:
        say(f"abs: {done.error}")
    elif done.whole is None:
        if done.named:
            wrong = f"{done.fault}; so" if done.fault else f"{done.path}:"
            say(f"abs: {wrong} no importer recognises it; say which with --as")
    else:
        there = "" if done.fresh else ", already there"
        say(f"{done.path}: {done.format}, {_counted(done.whole)}{there}", err=False)
        for remark, count in done.remarks.items() if done.fresh else ():
            say(f"  {remark}{f' ({count} times)' if count > 1 else ''}", err=False)


def _counted(whole: "Whole") -> str:
    if whole.traces:
        return plural(len(whole.traces), "trace")
    counts = Counter(str(exchange.channel) for exchange in whole.exchanges)
    shown = ", ".join(f"{channel} {count}" for channel, count in sorted(counts.items()))
    return f"{plural(len(whole.exchanges), 'exchange')}{f' ({shown})' if shown else ''}"


def _sum_up(done: "Sequence[Done]", store: Path) -> None:
    unknown = [each for each in done if each.whole is None and each.error is None and not each.named]
    if unknown:
        more = f" and {len(unknown) - MOST_UNKNOWN} more" if len(unknown) > MOST_UNKNOWN else ""
        names = ", ".join(str(each.path) for each in unknown[:MOST_UNKNOWN])
        say(f"abs: no importer recognises {names}{more}")
        for wrong in [each.fault for each in unknown if each.fault][:MOST_UNKNOWN]:
            say(f"  {wrong}")
    if len(done) > 1:
        say(_totals(done, store), err=False)
    elif not done:
        say("abs: no file there")


def _totals(done: "Sequence[Done]", store: Path) -> str:
    fresh: list[Any] = [each.whole for each in done if each.whole is not None and each.fresh]
    again = sum(each.whole is not None and not each.fresh for each in done)
    counted = [
        plural(sum(len(whole.exchanges) for whole in fresh), "exchange"),
        plural(sum(len(whole.traces) for whole in fresh), "trace"),
    ]
    there = f"; {again} already there" if again else ""
    failed = sum(each.error is not None for each in done)
    wrong = f"; {plural(failed, 'file')} can not be read" if failed else ""
    return f"{plural(len(fresh), 'recording')} in {store}: {', '.join(counted)}{there}{wrong}"
