"""`abs record`: listen before agent, models and tools, and keep what is said, until told to stop."""

import asyncio
import os
import secrets
import signal
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import click

from abs_replay.channels import KNOWN_MODELS, distinct, parse_upstream
from abs_replay.cli.forwarding import forward_options, forwarding_for, routes_of, way_through
from abs_replay.cli.keys import marking
from abs_replay.cli.recording_log import Log, counted
from abs_replay.cli.recording_shown import show, variables, warn_of
from abs_replay.cli.redaction import configured_rules
from abs_replay.errors import AbsReplayError, UsageError
from abs_replay.exchange import Exchange, Recording, Role, Upstream
from abs_replay.routes import Routes

if TYPE_CHECKING:
    from abs_replay.cli.recording_control import Control
    from abs_replay.proxy import Listeners
    from abs_replay.redact import Redactor
    from abs_replay.running import Running
    from abs_replay.summary import Summary

POLL_S = 0.05
STATUS_S = 0.5


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command line said."""

    recording: Recording
    store: Path
    host: str
    port: int
    max_body: int
    program: Sequence[str]
    routes: Routes | None  # of the forward listener, if there is to be one
    redactor: "Redactor"


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
def command(
    program: tuple[str, ...],
    agent: tuple[str, ...],
    llm: tuple[str, ...],
    tool: tuple[str, ...],
    forward: bool,
    route: tuple[str, ...],
    ignore_host: tuple[str, ...],
    block_host: tuple[str, ...],
    name: str | None,
    session: str | None,
    tag: tuple[str, ...],
    store: Path | None,
    port: int,
    listen: str,
    max_body: int,
    quiet: bool,
    json_log: bool,
) -> int:
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
    from abs_replay.redact import Redactor
    from abs_replay.store import default_path

    upstreams = _upstreams({Role.AGENT: agent, Role.LLM: llm, Role.TOOL: tool})
    forward = forward or not upstreams or bool(route or ignore_host or block_host)
    routes = routes_of(route, ignore_host, block_host, upstreams) if forward else None
    now = time.time()
    recording = Recording(
        id=uuid.uuid4().hex,
        name=name or time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now)),
        started_at=now,
        session=session,
        tags=dict(_tag(text) for text in tag),
        upstreams=upstreams,
    )
    log = Log(quiet, json_log)
    redactor = Redactor(configured_rules(log.problem), log.problem)
    recording = replace(redactor.recording(recording), upstreams=upstreams)  # these are asked as they are
    plan = Plan(recording, default_path(store, os.environ), listen, port, max_body, program, routes, redactor)
    return _record(plan, log)


def _upstreams(declared: Mapping[Role, Sequence[str]]) -> tuple[Upstream, ...]:
    return distinct([parse_upstream(role, text) for role, texts in declared.items() for text in texts])


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--tag {text!r}: expected KEY=VALUE")
    return key, value


@dataclass(slots=True)
class Stop:
    """Whether to stop, and whether the terminal said so, to the whole group of processes."""

    event: asyncio.Event = field(default_factory=asyncio.Event)
    told: bool = False

    def on_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._note, number)

    def _note(self, number: int) -> None:
        self.told = number == signal.SIGINT
        self.event.set()


def _record(plan: Plan, log: Log) -> int:
    from abs_replay.child import exit_status, find

    _need_mitmproxy()
    find(plan.program)
    status, summary = asyncio.run(_listen(plan, log))
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


async def _listen(plan: Plan, log: Log) -> "tuple[int, Summary]":
    from abs_replay.cli.recording_control import Control
    from abs_replay.proxy import listening
    from abs_replay.recorder import Recorder
    from abs_replay.running import noted
    from abs_replay.snapshots import Open

    stop = Stop()
    stop.on_signals()
    recorder: Recorder | None = None
    opened: list[Callable[[], Sequence[Open]]] = []
    token = secrets.token_urlsafe(24)
    control = Control(plan.recording, token, log.marked, plan.host)

    def keep(made: Callable[[], Exchange]) -> None:
        assert recorder is not None  # no client is served before the listeners are known
        recorder.put(made)

    def kept(exchange: Exchange) -> None:
        log.kept(exchange)
        control.kept(exchange)

    forwarding = None if plan.routes is None else forwarding_for(plan.routes)
    try:
        async with listening(
            plan.recording.upstreams,
            keep,
            host=plan.host,
            port=plan.port,
            max_body=plan.max_body,
            control=control,
            forwarding=forwarding,
            watch=opened.append,
        ) as listeners:
            way = way_through(listeners.forward, forwarding, os.environ)
            recorder = Recorder(
                *(plan.store, plan.recording),
                say=log.problem,
                on_kept=kept,
                opened=opened[0],
                redactor=plan.redactor,
            )
            control.begin(recorder, opened[0])
            with noted(plan.store, _running(plan, listeners, token)):
                show(plan.recording, plan.store, bool(plan.program), listeners, way, log)
                warn_of(plan.host, log)
                # To this one an `abs shim` of the program goes, of all recordings that run.
                here = {"ABS_STORE": str(plan.store.absolute()), "ABS_RECORDING": plan.recording.id}
                environment = variables(listeners, way) | here
                status = await _run(plan.program, environment, stop, control, log)
    except BaseException:
        if recorder is not None:
            recorder.close()
        raise
    return status, recorder.close()


def _running(plan: Plan, listeners: "Listeners", token: str) -> "Running":
    from abs_replay.running import Running

    first = urlsplit(next(iter(listeners.values()), listeners.forward or ""))
    origin = f"{first.scheme}://{first.netloc}"
    return Running(plan.recording.id, plan.recording.name, os.getpid(), origin, token)


async def _run(
    program: Sequence[str], environment: Mapping[str, str], stop: Stop, control: "Control", log: Log
) -> int:
    """Wait for the program's end, or for a signal; gives its status, 0 without one."""
    from abs_replay import child

    if not program:
        with marking(control.mark):
            while not stop.event.is_set():
                log.status(control.summary, control.open_now())
                await _sleep(STATUS_S, stop)
        return 0
    process = child.start(program, environment)
    while process.poll() is None and not stop.event.is_set():
        await _sleep(POLL_S, stop)
    return await asyncio.to_thread(child.finish, process, told=stop.told)


async def _sleep(seconds: float, stop: Stop) -> None:
    try:
        await asyncio.wait_for(stop.event.wait(), seconds)
    except TimeoutError:
        return
