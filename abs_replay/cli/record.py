"""`abs record`: listen before agent, models and tools, and keep what is said, until told to stop."""

import asyncio
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click

from abs_replay.channels import KNOWN_MODELS
from abs_replay.cli.forwarding import forward_options
from abs_replay.cli.recording_log import Log, counted
from abs_replay.cli.recording_plan import Options, Plan, plan_of
from abs_replay.errors import AbsReplayError, UsageError


@click.command()
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND ...]")
@click.option("--agent", multiple=True, metavar="[NAME=]URL", help="Where the agent under test is.")
@click.option(
    "--llm",
    multiple=True,
    metavar="[NAME=]URL",
    help=f"Where a model is; {', '.join(KNOWN_MODELS)} are known by name.",
)
@click.option(
    "--tool", multiple=True, metavar="NAME=URL", help="Where a tool is, an MCP server or any other."
)
@forward_options
@click.option("--name", help="What the recording is called [default: the time].")
@click.option("--session", help="The session document's name that the conversations play.")
@click.option("--tag", multiple=True, metavar="KEY=VALUE", help="Anything worth knowing later.")
@click.option(
    "--store", type=click.Path(path_type=Path), help="The store [default: ABS_STORE, or .abs/store.duckdb]."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=7070,
    show_default=True,
    help="The first listener's port; 0: any free ones.",
)
@click.option("--listen", default="127.0.0.1", show_default=True, metavar="HOST", help="Where to listen.")
@click.option(
    "--max-body",
    type=click.IntRange(0),
    default=64 * 1024 * 1024,
    show_default=True,
    metavar="BYTES",
    help="Longer bodies flow through whole and are kept cut.",
)
@click.option("--quiet", is_flag=True, help="Say nothing but errors.")
@click.option("--json-log", is_flag=True, help="Say all that is said as JSON lines.")
def command(**said: object) -> int:
    """Listen before every upstream, pass all traffic on, and keep a copy without its secrets.

    Point clients at the listeners: the variables to set are printed. With a COMMAND, run it with them, stop
    when it ends, and exit with its status, or with 1 if anything was lost. Without one, stop with Ctrl-C.

    With nothing declared, or with --forward, it is a proxy for every host, HTTPS included, with a certificate
    authority of your own that the command is made to trust (abs ca trust-help tells of others).

    \b
    abs record --agent http://localhost:8080 --llm openai
    abs record --llm openai --tool "Order MCP=http://localhost:9001/mcp" -- python agent.py
    abs record --forward --route "*.shop.example=tool:Shop" --ignore-host "*.sentry.io" -- python agent.py
    """
    options = Options(**said)  # type: ignore[arg-type]
    log = Log(options.quiet, options.json_log)
    return _record(plan_of(options, log), log)


def _record(plan: Plan, log: Log) -> int:
    from abs_replay.child import exit_status, find

    _need_mitmproxy()
    find(plan.program)
    from abs_replay.cli.recording_run import record

    status, summary = asyncio.run(record(plan, log))
    recording = plan.recording
    log.say(
        "ended",
        f"recorded {recording.name} ({recording.id[:12]}): {counted(summary)} in {plan.store}",
        recording=recording.id,
        name=recording.name,
        store=str(plan.store),
        **asdict(summary),
    )
    _derive(plan)
    if summary.lost:
        log.problem(f"LOST in all: {summary.lost}; what was kept is in {plan.store}")
    return exit_status(status, summary.lost > 0)


def _derive(plan: Plan) -> None:
    """Derive the traces while they are fresh; where that fails, whoever reads them first does."""
    from abs_replay.cli.conversations import conversation_key
    from abs_replay.derivation import derive_at_end
    from abs_replay.store import Store

    with suppress(AbsReplayError):
        derive_at_end(Store(plan.store, patience=1.0), plan.recording, conversation_key())


def _need_mitmproxy() -> None:
    try:
        import abs_replay.proxy  # noqa: F401
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mitmproxy", "h11"):
            raise
        raise UsageError("recording needs mitmproxy: pip install 'abs-replay[record]'") from error
