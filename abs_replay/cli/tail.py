"""`abs tail`: what a running recording keeps, a line an exchange, seen from another terminal.

It asks the recorder, not the store, which a reader would take from it. Where no recorder notes that it runs
(it is an addon of mitmproxy, or is gone) the store is read once a second.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.cli.saying import say
from abs_replay.errors import UsageError

if TYPE_CHECKING:
    from abs_replay.reports import Screen
    from abs_replay.running import Running
    from abs_replay.store import ExchangeSummary, Store

BEFORE = 10  # exchanges that are shown of what was before
ASK_S = 0.3
READ_S = 1.0  # a reader keeps a recorder out for a tenth of that
ANSWER_S = 5.0

type Facts = Mapping[str, Any]


@click.command()
@click.argument("recording", required=False, metavar="[RECORDING]")
@click.option(
    "--channel",
    "channels",
    multiple=True,
    metavar="C",
    help="Only that channel: llm, tool:shop, shop; may repeat.",
)
@click.option("--follow/--no-follow", default=True, show_default=True, help="Wait for more until it ends.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(
    recording: str | None, channels: tuple[str, ...], follow: bool, store: Path | None, format_: str
) -> None:
    """Follow a running recording: each exchange in a line when it has ended, streams too.

    \b
    abs tail                              the recording that runs, or the last one
    abs tail demo --channel llm           only what goes to models
    abs tail --format json | jq .target   a JSON line each

    The last ten are shown first. It ends with the recording, or with Ctrl-C.
    """
    from abs_replay.reports import Screen
    from abs_replay.store import Store, default_path

    opened = Store(default_path(store, os.environ))
    screen = Screen.of(sys.stdout)
    try:
        for facts in _all(opened, recording, follow):
            if not channels or any(map(_is_on(facts["channel"]), channels)):
                click.echo(json.dumps(facts) if format_ == "json" else line(facts, screen))
    except KeyboardInterrupt:
        return


def line(facts: Facts, screen: "Screen | None") -> str:
    """An exchange in one line: when it began, where, what came back, how, how much, how long, the request."""
    from abs_replay.cli.columns import length, moment, size
    from abs_replay.reports.cells import cut, escaped

    status = "–" if facts["status"] is None else str(facts["status"])
    head = f"{moment(facts['started_at'])[-8:]}  {facts['channel']:<12} {status:>4}  {facts['outcome']:<15}"
    took = f"{size(facts['bytes']):>8} {length(facts['ended_ms']):>9}"
    text = escaped(f"{head} {took}  {facts['method']} {facts['target']}")
    return text if screen is None else cut(text, screen.width)


def _is_on(channel: str) -> Callable[[str], bool]:
    role, _, name = channel.partition(":")
    return lambda wanted: wanted in (channel, role, name)


def _all(store: "Store", ref: str | None, follow: bool) -> Iterator[Facts]:
    runs = _running(store, ref)
    if runs is None or not follow:
        yield from _of_store(store, ref or "last", follow)
        return
    say(f"abs: following {runs.name} ({runs.recording[:12]})")
    seen: set[str] = set()
    for facts in _asked(store, runs):
        seen.add(facts["id"])
        yield facts
    yield from _rest(store, runs.recording, seen)


def _running(store: "Store", ref: str | None) -> "Running | None":
    """The running recording that is meant; None where what is meant does not run."""
    from abs_replay.running import running

    found = running(store.path)
    if ref is None:
        return found[0] if found else None
    meant = [each for each in found if each.name == ref or each.recording.startswith(ref)]
    if len(meant) > 1 and (exact := [each for each in meant if each.recording == ref]):
        meant = exact
    if len(meant) > 1:
        raise UsageError(f"{ref!r} could be {' or '.join(each.recording for each in meant)}: write its id")
    return meant[0] if meant else None


def _asked(store: "Store", runs: "Running") -> Iterator[Facts]:
    """What its recorder says that it keeps, until that does not answer any more."""
    since: int | None = None
    while (answer := _ask(runs, since or 0)) is not None:
        fresh: list[Facts] = answer["exchanges"]
        if since is None:
            fresh = fresh[-BEFORE:]
        elif answer["count"] - since > len(fresh):
            say(f"abs: {answer['count'] - since - len(fresh)} exchanges went by too fast to be shown")
        yield from fresh
        since = answer["count"]
        time.sleep(ASK_S)


def _ask(runs: "Running", since: int) -> dict[str, Any] | None:
    """Ask for what was kept after so many; None where nobody answers."""
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    from abs_replay.callers import CONTROL
    from abs_replay.running import TOKEN_HEADER

    request = Request(f"{runs.url}{CONTROL}recent?since={since}", headers={TOKEN_HEADER: runs.token})
    try:
        # A proxy of the environment can not reach this machine's own loopback.
        with build_opener(ProxyHandler({})).open(request, timeout=ANSWER_S) as response:
            answer: dict[str, Any] = json.load(response)
            return answer
    except HTTPError as error:
        with error:  # it has not begun, or another one has its port by now
            return {"count": since, "exchanges": []} if error.code == 503 else None
    except (URLError, OSError, ValueError):
        return None


def _rest(store: "Store", recording_id: str, seen: set[str]) -> Iterator[Facts]:
    """What was kept after the recorder was last asked, once its recording has ended."""
    until = time.monotonic() + ANSWER_S
    while store.recording(recording_id).ended_at is None and time.monotonic() < until:
        time.sleep(ASK_S)
    summaries = store.exchange_summaries(recording_id)
    ids = [each.id for each in summaries]
    first = min((ids.index(id_) for id_ in seen if id_ in ids), default=max(0, len(ids) - BEFORE))
    yield from (_facts(each) for each in summaries[first:] if each.id not in seen)
    say(f"abs: the recording has ended, with {len(ids)} exchange{'s' * (len(ids) != 1)}")


def _of_store(store: "Store", ref: str, follow: bool) -> Iterator[Facts]:
    recording = store.recording(ref)
    summaries: Sequence[ExchangeSummary] = store.exchange_summaries(recording.id)
    seen = {each.id for each in summaries}
    summaries = summaries[-BEFORE:]
    while True:
        yield from map(_facts, summaries)
        if not follow or recording.ended_at is not None:
            return
        time.sleep(READ_S)
        recording = store.recording(recording.id)
        summaries = [each for each in store.exchange_summaries(recording.id) if each.id not in seen]
        seen |= {each.id for each in summaries}


def _facts(summary: "ExchangeSummary") -> Facts:
    return {
        "id": summary.id,
        "started_at": summary.started_at,
        "channel": str(summary.channel),
        "method": summary.method,
        "target": summary.target,
        "status": summary.status,
        "outcome": summary.outcome.value,
        "error": summary.error,
        "bytes": summary.request_bytes + (summary.response_bytes or 0),
        "ended_ms": summary.ended_ms,
    }
