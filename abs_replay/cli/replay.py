"""`abs replay`: serve a cassette in place of agent, model and tools, by itself or around a command."""

import gc
import os
import signal
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from abs_replay.channels import replay_environment
from abs_replay.cli.hybrid import Hybrid, Wanted, asked_live, live_options
from abs_replay.cli.listeners import exported, listed
from abs_replay.cli.replay_forward import forwarded, need_mitmproxy
from abs_replay.cli.saying import say, say_lines
from abs_replay.cli.timing import Timing
from abs_replay.errors import CassetteError, UsageError

if TYPE_CHECKING:
    from abs_replay.cassette import Cassette
    from abs_replay.exchange import Request
    from abs_replay.player import Miss, Played, Player
    from abs_replay.server import ReplayServer
    from abs_replay.spec.faults import Faults
    from abs_replay.spec.ignoring import Ignore

DEFAULT_PORT = 7070

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said; `speed` is None for no waiting, else how many times faster."""

    port: int | None
    match: str
    ignore: "Sequence[Ignore]"
    speed: float | None
    fail_unused: bool
    quiet: bool
    report: Path | None
    explain: bool
    forward: bool
    faults: "Faults | None"
    hybrid: Wanted


@click.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[CASSETTE] [-- COMMAND ...]")
@click.option("--recording", metavar="R", help="Replay this recording of the store: name, id, last, last~1.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help=f"The first listener's port; 0: any free ones [default: {DEFAULT_PORT}, 0 with a COMMAND].",
)
@click.option(
    "--match",
    type=click.Choice(("strict", "canonical", "loose")),
    help="How alike: equal; or but for fresh ids and times; or the same turn [default: match.mode of the "
    "configuration, or canonical].",
)
@click.option(
    "--forward", is_flag=True, help="Be a proxy, too, for clients that insist on the real https:// hosts."
)
@click.option("--timing", type=Timing(), default="none", show_default=True, help="none, recorded, or x10.")
@click.option(
    "--fault",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Have the faults that this YAML file names: latency, cut, status, rate_limit, malformed.",
)
@click.option("--fail-unused", is_flag=True, help="Exit 1 if anything recorded was not played.")
@click.option("--quiet", is_flag=True, help="Say nothing but misses.")
@click.option("--explain", is_flag=True, help="Say of each request why what answered it did.")
@click.option(
    "--report",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write there, as JSON, which exchanges were used, unused and missed.",
)
@live_options
def command(
    arguments: tuple[str, ...],
    recording: str | None,
    store: Path | None,
    port: int | None,
    match: str | None,
    timing: float | None,
    fault: Path | None,
    fail_unused: bool,
    quiet: bool,
    explain: bool,
    report: Path | None,
    forward: bool,
    hybrid: Wanted,
) -> int:
    """Serve CASSETTE in place of agent, model and tools; nothing else runs, nothing goes out unasked.

    With a COMMAND, run it against the recording and exit with its status, or with 1 if it asked for
    anything that nobody recorded. Without one, serve until Ctrl-C.

    \b
    abs replay refund.cassette.json -- pytest       a test suite, without agent, model or network
    abs replay --recording last                     what was just recorded, on the same ports
    abs replay x.cassette.json --forward -- curl https://api.openai.com/v1/models
    abs replay x.cassette.json --live tool:Orders -- pytest     all but one tool is replayed

    \b
    A file for --fault has rules, of which each is one fault and the requests that have it:
      seed: 7
      faults:
        - {latency: 500, every: 3}                         ms before every third answer
        - {rate_limit: 20, first: 2, channel: llm}         429 with `retry-after: 20`
        - {status: 503, path: /orders, probability: 0.2}   in place of what was recorded
        - {cut: 2, channel: "tool:Orders"}                 the connection ends after 2 chunks
        - {malformed: 1, first: 1}                         the first chunk is garbled
    """
    from abs_replay.spec import faults
    from abs_replay.spec.configuration import find

    said = find(Path.cwd()).match
    cassette, program = _what(arguments, recording, store)
    return _replay(
        cassette,
        program,
        Options(
            port,
            match or said.mode or "canonical",
            said.ignore,
            timing,
            fail_unused,
            quiet,
            report,
            explain,
            forward,
            faults.load(fault) if fault is not None else None,
            hybrid.of(None if recording else Path(arguments[0]), store, quiet),
        ),
    )


def _what(
    arguments: Sequence[str], recording: str | None, store: Path | None
) -> "tuple[Cassette, Sequence[str]]":
    if recording is not None:
        return _from_store(recording, store), arguments
    if not arguments:
        raise UsageError("nothing to replay: say abs replay FILE.cassette.json, or --recording last")
    return from_file(Path(arguments[0])), arguments[1:]


def _from_store(recording: str, store: Path | None) -> "Cassette":
    from abs_replay.cassette import Cassette
    from abs_replay.store import Store, default_path

    stored = Store(default_path(store, os.environ))
    found = stored.recording(recording)
    exchanges = stored.exchanges(found.id)
    if not exchanges and stored.traces(found.id):
        raise UsageError(
            f"recording {found.name} holds traces and no exchanges: there is nothing to replay; abs grade "
            "judges it"
        )
    return Cassette(found, exchanges)


def from_file(path: Path) -> "Cassette":
    """Read a cassette; raises `CassetteError`."""
    from abs_replay.cassette import loads

    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        hint = "the first argument is the cassette, unless --recording R is given"
        raise CassetteError(f"{path} can not be read: {error.strerror} ({hint})") from None
    except UnicodeDecodeError:
        raise CassetteError(f"{path} is no UTF-8 text, as cassettes are") from None
    return loads(text, str(path))


def _replay(cassette: "Cassette", program: Sequence[str], options: Options) -> int:
    from abs_replay.matching import Match
    from abs_replay.player import Player
    from abs_replay.player.miss import explain, explain_played
    from abs_replay.server import ReplayServer

    def tell(played: "Played", request: "Request") -> None:
        say(f"played: {explain_played(played, request)}")

    def report(miss: "Miss") -> None:
        say_lines(f"miss: {explain(miss, cassette.exchanges)}")

    player = Player(cassette, Match(options.match), options.ignore)
    gc.freeze()  # the cassette stays to the end: collections need not look at it again
    port = options.port if options.port is not None else 0 if program else DEFAULT_PORT
    stop = _Stop()
    if options.forward:
        need_mitmproxy()
    with stop.on_signals(), asked_live(cassette, options.hybrid) as hybrid, ExitStack() as opened:
        serving = ReplayServer(
            player,
            port=port,
            speed=options.speed,
            on_miss=report,
            on_played=tell if options.explain else None,
            faults=options.faults,
            live=hybrid.live,
        )
        server = opened.enter_context(serving)
        token = uuid.uuid4().hex[:12] if program else ""
        declared = cassette.recording.upstreams
        variables = replay_environment(server.addresses(token), os.environ, declared)
        proxy = None
        if options.forward:
            around = forwarded(server, player, report, variables, token=token, port=port)
            proxy, variables = opened.enter_context(around)
        if not options.quiet:
            _show(cassette, server, variables, proxy)
        status = _run(program, variables, stop) if program else stop.wait()
    return _end(player, server.faults, hybrid, status, options)


@dataclass(slots=True)
class _Stop:
    """Whether to stop, and whether the terminal said so, to the whole group of processes."""

    event: threading.Event = field(default_factory=threading.Event)
    told: bool = False

    @contextmanager
    def on_signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._note) for number in STOPPING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.told = number == signal.SIGINT
        self.event.set()

    def wait(self) -> int:
        self.event.wait()
        return 0


def _run(program: Sequence[str], variables: Mapping[str, str], stop: _Stop) -> int:
    from abs_replay import child

    process = child.start(program, variables)

    def await_end() -> None:
        process.wait()
        stop.event.set()

    threading.Thread(target=await_end, daemon=True).start()
    stop.wait()
    return child.finish(process, told=stop.told)


def _show(
    cassette: "Cassette", server: "ReplayServer", variables: Mapping[str, str], proxy: str | None
) -> None:
    from abs_replay.reports.totals import plural

    say(f"replaying {cassette.recording.name}: {plural(len(cassette.exchanges), 'exchange')}")
    refused = dict.fromkeys(server.refused, "refused, as recorded: nobody listens")
    for line in (*listed(server.addresses(), refused, proxy), *exported(variables)):
        say(line)


def _end(player: "Player", faults: Mapping[str, int], hybrid: Hybrid, status: int, options: Options) -> int:
    from abs_replay.child import exit_status
    from abs_replay.cli.played import show, write_report

    summary = hybrid.without_live(player.summary())
    if not options.quiet:
        show(summary, faults)
        hybrid.show()
    if options.report is not None:
        write_report(options.report, player.cassette, summary, faults, hybrid.counts, hybrid.channels)
    failed = summary.missed > 0 or hybrid.lost > 0 or (options.fail_unused and len(summary.unused) > 0)
    return exit_status(status, failed)
