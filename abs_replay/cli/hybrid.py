"""What of a replay is asked live, if a user wants it: `--live`, `--on-miss`, and where it is kept.

Only here replay's HTTP client is loaded, and only where one of the options asks for it; in CI not even then.
"""

import functools
import os
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from abs_replay.cli.saying import say
from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Exchange, Recording

if TYPE_CHECKING:
    from abs_replay.cassette import Cassette
    from abs_replay.player import Summary
    from abs_replay.recorder import Recorder
    from abs_replay.redact import Redactor
    from abs_replay.server.live import Live


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the command line said."""

    live: tuple[str, ...] = ()
    on_miss: str = "fail"
    output: Path | None = None
    allow_network: bool = False
    source: Path | None = None  # the cassette that is replayed
    store: Path | None = None
    quiet: bool = False

    def of(self, source: Path | None, store: Path | None, quiet: bool = False) -> "Wanted":
        """The same, of what is replayed."""
        return replace(self, source=source, store=store, quiet=quiet)

    @property
    def anything(self) -> bool:
        return bool(self.live) or self.on_miss != "fail"


def live_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the command gets them as one, `hybrid`."""

    @functools.wraps(command)
    def wrapped(
        live: tuple[str, ...], on_miss: str, output: Path | None, allow_network: bool, **others: Any
    ) -> int:
        return command(hybrid=Wanted(live, on_miss, output, allow_network), **others)

    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


_OPTIONS = (
    click.option(
        "--live",
        multiple=True,
        metavar="CHANNEL",
        help="Ask this one's real upstream (tool:NAME), and record it.",
    ),
    click.option(
        "--on-miss",
        type=click.Choice(("fail", "record", "passthrough")),
        default="fail",
        show_default=True,
        help="What nobody recorded: an error; or asked live, and recorded or not.",
    ),
    click.option(
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="What was asked live is added to the cassette, there [default: a new recording of the store].",
    ),
    click.option("--allow-network", is_flag=True, help="Let --live and --on-miss ask in CI (CI=true), too."),
)


@dataclass(slots=True)
class Hybrid:
    """What is asked live, and what came of it; `live` is None where nothing is."""

    live: "Live | None" = None
    quiet: bool = False  # say at the beginning where is asked, and no more
    asked: Counter[Channel] = field(default_factory=Counter)
    failed: int = 0
    lost: int = 0

    def note(self, exchange: Exchange) -> None:
        self.asked[exchange.channel] += 1
        self.failed += exchange.response is None
        status = exchange.response.status if exchange.response else exchange.error or exchange.outcome
        if not self.quiet:
            say(f"live: {exchange.request.method} {exchange.request.path} on {exchange.channel}: {status}")

    def without_live(self, summary: "Summary") -> "Summary":
        """The summary without recorded exchanges that nobody could ask for, since their channel was live."""
        return replace(summary, unused=tuple(e for e in summary.unused if e.channel not in self.channels))

    @property
    def channels(self) -> frozenset[Channel]:
        """Those that are asked live whatever is recorded."""
        return self.live.channels if self.live else frozenset()

    @property
    def counts(self) -> dict[str, int]:
        """How often each channel was asked live."""
        return {str(channel): count for channel, count in sorted(self.asked.items())}

    def show(self) -> None:
        if self.live is not None:
            counts = ", ".join(f"{channel} {count}" for channel, count in self.counts.items()) or "nothing"
            say(f"asked live: {counts}" + (f"; {self.failed} without answer" if self.failed else ""))


@contextmanager
def asked_live(cassette: "Cassette", wanted: Wanted) -> Iterator[Hybrid]:
    """Make ready what asks live; at the end keep what it said. Raises `UsageError` where that can not be."""
    if not wanted.anything:
        if wanted.output is not None:
            raise UsageError("--output is for what is asked live: say --on-miss record, or --live CHANNEL")
        yield Hybrid()
        return
    _refuse_in_ci(wanted)
    hybrid, channels = Hybrid(quiet=wanted.quiet), _channels(cassette, wanted)
    with _kept(cassette, wanted, hybrid) as keep:
        hybrid.live = _live(cassette, wanted, channels, keep, hybrid)
        yield hybrid


def _refuse_in_ci(wanted: Wanted) -> None:
    if os.environ.get("CI", "").lower() not in ("", "0", "false") and not wanted.allow_network:
        what = "--live" if wanted.live else f"--on-miss {wanted.on_miss}"
        why = "a job must not depend on the network; --allow-network lets it"
        raise UsageError(f"{what} is refused in CI (CI={os.environ['CI']}): {why}")


def _live(
    cassette: "Cassette",
    wanted: Wanted,
    channels: frozenset[Channel],
    keep: Callable[[Exchange], None],
    hybrid: Hybrid,
) -> "Live":
    from abs_replay.redact import Redactor
    from abs_replay.server.live import Live
    from abs_replay.upstream import Upstreams

    def note(exchange: Exchange) -> None:
        hybrid.note(exchange)
        if exchange.channel in channels or wanted.on_miss == "record":
            keep(exchange)

    upstreams = Upstreams(cassette.recording.upstreams, note)
    misses = upstreams.channels if wanted.on_miss != "fail" else frozenset()
    for each in cassette.recording.upstreams:
        if each.channel in channels | misses:
            when = "" if each.channel in channels else ", where it misses,"
            say(f"live: {each.channel}{when} at {Redactor().text(each.url)}")
    return Live(upstreams.ask, channels, misses)


def _channels(cassette: "Cassette", wanted: Wanted) -> frozenset[Channel]:
    """The channels that are live; raises `UsageError` where there are none such, or nobody knows where."""
    there = {each.channel for each in cassette.recording.upstreams if each.url}
    declared = [each.channel for each in cassette.recording.upstreams]
    known = list(dict.fromkeys([*declared, *(each.channel for each in cassette.exchanges)]))
    found = frozenset(_channel(name, known) for name in wanted.live)
    if found - there or not there:
        named = ", ".join(map(str, sorted(found - there))) or "any channel"
        name = cassette.recording.name
        raise UsageError(f"{name} does not say where {named} is: add its URL to `channels`")
    return found


def _channel(name: str, known: Sequence[Channel]) -> Channel:
    found = [channel for channel in known if name in (str(channel), channel.role.value)]
    exact = [channel for channel in found if name == str(channel)] or found
    if len(exact) != 1:
        there = ", ".join(map(str, found or known)) or "none"
        raise UsageError(f"--live {name!r}: expected one channel of {there}")
    return exact[0]


# -- keeping


@contextmanager
def _kept(cassette: "Cassette", wanted: Wanted, hybrid: Hybrid) -> Iterator[Callable[[Exchange], None]]:
    from abs_replay.cli.redaction import configured_rules
    from abs_replay.redact import Redactor

    redactor = Redactor(configured_rules(say), say)
    for exchange in cassette.exchanges:
        redactor.redact(exchange)  # what is a placeholder there must not stand for another secret here
    if not wanted.live and wanted.on_miss != "record":
        if wanted.output is not None:
            raise UsageError("--on-miss passthrough keeps nothing: say --on-miss record with --output")
        yield lambda _: None
    elif wanted.output is None:
        recorder = _recorder(cassette, redactor, wanted.store)
        try:
            yield recorder.put
        finally:
            hybrid.lost = recorder.close().lost
    else:
        if wanted.output.exists() and wanted.output != wanted.source:
            raise UsageError(f"{wanted.output} exists, and is not what is replayed: name another file")
        new: list[Exchange] = []
        try:
            yield new.append
        finally:
            _write(wanted.output, cassette, [redactor.redact(exchange) for exchange in new])


def _recorder(cassette: "Cassette", redactor: "Redactor", store: Path | None) -> "Recorder":
    from abs_replay.recorder import Recorder
    from abs_replay.store import default_path

    of = cassette.recording
    recording = Recording(
        uuid.uuid4().hex, f"{of.name}-live", time.time(), session=of.session, upstreams=of.upstreams
    )
    path = default_path(store, os.environ)
    say(f"live: recorded as {recording.name} ({recording.id[:12]}) in {path}")
    return Recorder(path, recording, redactor=redactor)


def _write(path: Path, cassette: "Cassette", new: Sequence[Exchange]) -> None:
    from abs_replay.cassette import dumps
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.cli.writing import write
    from abs_replay.derivation import account_of_exchanges
    from abs_replay.exporters.conversations import by_conversation

    if not new:
        say(f"{path}: not written, since nothing was asked live that is to be kept")
        return
    exchanges = sorted((*cassette.exchanges, *new), key=lambda exchange: exchange.started_at)
    account = account_of_exchanges(exchanges, cassette.recording, conversation_key())
    whole = by_conversation(replace(cassette, exchanges=tuple(exchanges)), account)
    write(path, dumps(whole).encode(), force=True)
    say(f"{path}: {len(new)} added to the {len(cassette.exchanges)} exchanges that were replayed")
