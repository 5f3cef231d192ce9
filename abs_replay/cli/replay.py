"""`abs replay`: serve a cassette in place of agent, model and tools, by itself or around a command."""

import gc
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.channels import replay_environment
from abs_replay.cli.hybrid import Hybrid, Wanted, asked_live, live_options
from abs_replay.cli.listeners import exported, listed
from abs_replay.cli.replay_forward import forwarded, need_mitmproxy
from abs_replay.cli.replay_program import Stop, run
from abs_replay.cli.replayed import what
from abs_replay.cli.saying import say, say_lines
from abs_replay.cli.timing import Timing

if TYPE_CHECKING:
    from abs_replay.cassette import Cassette
    from abs_replay.exchange import Request
    from abs_replay.player import Miss, Played, Player
    from abs_replay.server import ReplayServer
    from abs_replay.spec.faults import Faults

DEFAULT_PORT = 7070


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `abs replay`, as they are called there; `timing` is None for no waiting."""

    arguments: tuple[str, ...]
    recording: str | None
    store: Path | None
    port: int | None
    match: str | None
    forward: bool
    timing: float | None
    fault: Path | None
    fail_unused: bool
    quiet: bool
    explain: bool
    report: Path | None
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
def command(**options: object) -> int:
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
    return _replay(Options(**options))  # type: ignore[arg-type]


def _replay(options: Options) -> int:
    cassette, program = what(options.arguments, options.recording, options.store)
    player, faults = _player(cassette, options), _faults(options)
    gc.freeze()  # the cassette stays to the end: collections need not look at it again
    source = None if options.recording else Path(options.arguments[0])
    wanted = options.hybrid.of(source, options.store, options.quiet)
    if options.forward:
        need_mitmproxy()
    stop = Stop()
    with stop.on_signals(), asked_live(cassette, wanted) as hybrid, ExitStack() as opened:
        server = opened.enter_context(_server(player, hybrid, faults, program, options))
        variables = _led(server, player, program, options, opened)
        status = run(program, variables, stop) if program else stop.wait()
    return _end(player, server.faults, hybrid, status, options)


def _player(cassette: "Cassette", options: Options) -> "Player":
    from abs_replay.matching import Match
    from abs_replay.player import Player
    from abs_replay.spec.configuration import find

    said = find(Path.cwd()).match
    return Player(cassette, Match(options.match or said.mode or "canonical"), said.ignore)


def _faults(options: Options) -> "Faults | None":
    from abs_replay.spec.faults import load

    return None if options.fault is None else load(options.fault)


def _server(
    player: "Player", hybrid: Hybrid, faults: "Faults | None", program: Sequence[str], options: Options
) -> "ReplayServer":
    from abs_replay.player.miss import explain_played
    from abs_replay.server import ReplayServer

    def tell(played: "Played", request: "Request") -> None:
        say(f"played: {explain_played(played, request)}")

    return ReplayServer(
        player,
        port=_port(program, options),
        speed=options.timing,
        on_miss=_teller(player.cassette),
        on_played=tell if options.explain else None,
        faults=faults,
        live=hybrid.live,
    )


def _port(program: Sequence[str], options: Options) -> int:
    """For people a port that they know, for a program any that is free."""
    return options.port if options.port is not None else 0 if program else DEFAULT_PORT


def _teller(cassette: "Cassette") -> "Callable[[Miss], None]":
    """Say each miss with what is nearest."""
    from abs_replay.player.miss import explain

    return lambda miss: say_lines(f"miss: {explain(miss, cassette.exchanges)}")


def _led(
    server: "ReplayServer", player: "Player", program: Sequence[str], options: Options, opened: ExitStack
) -> Mapping[str, str]:
    """The variables that lead a program here, once they are said."""
    token, cassette = uuid.uuid4().hex[:12] if program else "", player.cassette
    variables: Mapping[str, str] = replay_environment(
        server.addresses(token), os.environ, cassette.recording.upstreams
    )
    proxy = None
    if options.forward:
        port = _port(program, options)
        around = forwarded(server, player, _teller(cassette), variables, token=token, port=port)
        proxy, variables = opened.enter_context(around)
    if not options.quiet:
        _show(cassette, server, variables, proxy)
    return variables


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
    from abs_replay.cli.played import report_of, show, write_report

    summary = hybrid.without_live(player.summary())
    if not options.quiet:
        show(summary, faults)
        hybrid.show()
    if options.report is not None:
        report = report_of(player.cassette, summary, faults, hybrid.counts, hybrid.channels)
        write_report(options.report, report)
    failed = summary.missed > 0 or hybrid.lost > 0 or (options.fail_unused and len(summary.unused) > 0)
    return exit_status(status, failed)
