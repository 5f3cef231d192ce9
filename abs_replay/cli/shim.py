"""`abs shim`: in place of an MCP server of standard input and output; passes all on, and keeps a copy."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from abs_replay.errors import UsageError

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
def command(name: str, server: tuple[str, ...], store: Path | None, own_name: str | None) -> int:
    """Run an MCP server that speaks over standard input and output, and record what it and its client say.

    Put it where a client's configuration names the server. All bytes pass through untouched; what is said is
    kept on the channel tool:NAME, by the `abs record` that runs on the same store (of several, by the one
    that ABS_RECORDING names), else in a recording of its own. Ends as the server ends.

    \b
    abs shim time -- uvx mcp-server-time
    {"command": "abs", "args": ["shim", "files", "--store", "/home/me/.abs/store.duckdb", "--",
                                "npx", "-y", "@modelcontextprotocol/server-filesystem", "."]}
    """
    from abs_replay.shim import run

    if not server:
        raise UsageError(
            "nothing to run: say which server after --, as in abs shim time -- uvx mcp-server-time"
        )

    def say(message: str) -> None:
        _say(f"abs: shim {name}: {message}")

    return run(name, server, store, own_name, redactor=lambda: _redactor(say), say=say)


def _redactor(say: Callable[[str], None]) -> "Redactor":
    from abs_replay.cli.redaction import configured_rules
    from abs_replay.redact import Redactor

    return Redactor(configured_rules(say), say)


def _say(line: str) -> None:
    from abs_replay.cli.saying import say

    with suppress(OSError):  # whoever read it has gone; what passes through goes on
        say(line)
