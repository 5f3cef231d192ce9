"""`abs shim`: in place of an MCP server of standard input and output; passes all on, and keeps a copy.

With `--replay` there is no server: a cassette answers.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.errors import UsageError
from abs_replay.exchange import Channel, Role

if TYPE_CHECKING:
    from abs_replay.redact import Redactor


@click.command()
@click.argument("name")
@click.argument("server", nargs=-1, type=click.UNPROCESSED, metavar="-- SERVER [ARGS ...]")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="The store [default: ABS_STORE, or .abs/store.duckdb here or in a folder above].",
)
@click.option("--name", "own_name", metavar="RECORDING", help="What a recording of its own is called.")
@click.option(
    "--replay",
    "cassette",
    type=click.Path(path_type=Path),
    metavar="CASSETTE",
    help="Answer from this cassette; SERVER is not run, and nothing is recorded.",
)
@click.option("--fail-unused", is_flag=True, help="With --replay: exit 1 if not all was played.")
def command(
    name: str,
    server: tuple[str, ...],
    store: Path | None,
    own_name: str | None,
    cassette: Path | None,
    fail_unused: bool,
) -> int:
    """Run an MCP server that speaks over standard input and output, and record what it and its client say.

    Put it where a client's configuration names the server. All bytes pass through untouched; what is said is
    kept on the channel tool:NAME, by the `abs record` that runs on the same store (of several, by the one
    that ABS_RECORDING names), else in a recording of its own. Ends as the server ends.

    With --replay, no server runs: what was recorded on tool:NAME answers, until the client ends. The exit
    status is 1 if it asked for anything that nobody recorded.

    \b
    abs shim time -- uvx mcp-server-time
    abs shim time --replay time.cassette.json
    {"command": "abs", "args": ["shim", "files", "--store", "/home/me/.abs/store.duckdb", "--",
                                "npx", "-y", "@modelcontextprotocol/server-filesystem", "."]}
    """
    if cassette is not None:
        return _replay(name, cassette, fail_unused)
    if fail_unused:
        raise UsageError("--fail-unused goes with --replay CASSETTE: what is recorded is not played")
    return _record(name, server, store, own_name)


def _record(name: str, server: Sequence[str], store: Path | None, own_name: str | None) -> int:
    from abs_replay.shim import run

    if not server:
        raise UsageError(
            "nothing to run: say which server after --, as in abs shim time -- uvx mcp-server-time"
        )

    say = _sayer(name)
    return run(name, server, store, own_name, redactor=lambda: _redactor(say), say=say)


def _replay(name: str, path: Path, fail_unused: bool) -> int:
    from abs_replay.cli.replayed import from_file
    from abs_replay.matching import Match
    from abs_replay.player import Player
    from abs_replay.shim.replaying import ReplayedServer, serve
    from abs_replay.spec.configuration import find

    channel, said, say = Channel(Role.TOOL, name), find(Path.cwd()).match, _sayer(name)
    player = Player(from_file(path), Match(said.mode or "canonical"), said.ignore)
    server = ReplayedServer(player, channel, _write, say)
    with suppress(BrokenPipeError):  # the client reads no more: it has ended
        if not serve(server):
            say("the server ended here, as recorded")
            return 1
    summary = player.summary()
    unused = [each for each in summary.unused if each.channel == channel] if fail_unused else []
    for exchange in unused:
        say(f"unused: {exchange.request.method} {exchange.request.path} (id {exchange.id})")
    return int(summary.missed > 0 or bool(unused))


def _write(line: bytes) -> None:
    rest = memoryview(line + b"\n")
    while rest:
        rest = rest[os.write(1, rest) :]


def _sayer(name: str) -> Callable[[str], None]:
    return lambda message: _say(f"abs: shim {name}: {message}")


def _redactor(say: Callable[[str], None]) -> "Redactor":
    from abs_replay.cli.redaction import configured_rules
    from abs_replay.redact import Redactor

    return Redactor(configured_rules(say), say)


def _say(text: str) -> None:
    from abs_replay.cli.saying import say_lines

    with suppress(OSError):  # whoever read it has gone; what passes through goes on
        say_lines(text)
