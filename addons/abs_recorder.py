"""The recorder of `abs record` as a script for a stock mitmproxy: mitmdump, mitmweb or mitmproxy.

    mitmweb --mode reverse:http://localhost:8080@7070 -s "$(abs addon-path record)" \\
        --set abs_name=chat --set abs_channels="agent=http://localhost:8080,tool:Order MCP=http://localhost:9001"

Works in every mode. Which channel an exchange belongs to is told by where it goes: `abs_channels` maps the
beginnings of URLs to channels, `abs_routes` hosts by pattern; of the rest, the known hosts of models are
llm channels, and all others are tool channels with their host's name. Marks are taken as `abs record` takes
them, `POST /__abs__/mark`. Bodies are streamed; `--set store_streamed_bodies=true` shows them in mitmproxy's
own views. A Host header is kept as mitmproxy passes it on.
"""

import os
import secrets
import time
import uuid
from contextlib import ExitStack
from pathlib import Path

from mitmproxy import ctx, exceptions, http
from mitmproxy.addonmanager import Loader

from abs_replay.channels import local_url
from abs_replay.cli.recording_control import Control
from abs_replay.cli.redaction import configured_rules
from abs_replay.errors import AbsReplayError, UsageError
from abs_replay.exchange import Channel, Recording, Role, Upstream
from abs_replay.proxy import MAX_BODY, ControlAddon, Tap, is_ours, nothing_here
from abs_replay.recorder import Recorder, say_on_stderr
from abs_replay.redact import Redactor
from abs_replay.routes import Route, Routes, parse_route
from abs_replay.running import Running, noted
from abs_replay.store import default_path


def parse_channels(text: str) -> tuple[Upstream, ...]:
    """Read `llm=URL, tool:Order MCP=URL`; raises `UsageError` naming the entry that is none."""
    return tuple(_channel(entry.strip()) for entry in text.split(",") if entry.strip())


def _channel(entry: str) -> Upstream:
    label, equals, url = entry.partition("=")
    role, _, name = label.strip().partition(":")
    if role not in list(Role) or not equals or not url.startswith(("http://", "https://")):
        raise UsageError(
            f"abs_channels: {entry!r}: expected agent, llm or tool, with or without :NAME, and =URL"
        )
    return Upstream(Channel(Role(role), name.strip() or role), url)


def parse_routes(text: str) -> tuple[Route, ...]:
    """Read `*.shop.example=tool:Shop, localhost:8080=agent`; raises `UsageError` for what is none."""
    return tuple(parse_route(entry.strip()) for entry in text.split(",") if entry.strip())


class AbsRecorder:
    """Options and life of the recording; the tap below it is that of `abs record`."""

    def __init__(self) -> None:
        self._recorder: Recorder | None = None
        self._routes = Routes()
        self._noted = ExitStack()
        self._tap = Tap(lambda made: self._recorder.put(made) if self._recorder else None, self._channel_of)
        self._asked = ControlAddon(nothing_here, is_ours)
        self.addons = [self._asked, self._tap]

    def load(self, loader: Loader) -> None:
        where = "abs-replay: the store to record into; empty: ABS_STORE, or .abs/store.duckdb."
        loader.add_option("abs_store", str, "", where)
        loader.add_option("abs_name", str, "", "abs-replay: what the recording is called; empty: the time.")
        loader.add_option("abs_session", str, "", "abs-replay: the session that the conversations play.")
        loader.add_option("abs_channels", str, "", "abs-replay: ROLE[:NAME]=URL, divided by commas.")
        loader.add_option("abs_routes", str, "", "abs-replay: HOST=ROLE[:NAME], divided by commas.")
        loader.add_option("abs_max_body", int, MAX_BODY, "abs-replay: longer bodies are kept cut.")

    def configure(self, updated: set[str]) -> None:
        try:
            if {"abs_channels", "abs_routes"} & updated:
                channels, routes = ctx.options.abs_channels, ctx.options.abs_routes
                self._routes = Routes(parse_routes(routes), parse_channels(channels))
        except UsageError as error:
            if self._recorder is None:  # from the command line: mitmproxy would add a traceback
                raise SystemExit(f"abs: {error}") from None
            raise exceptions.OptionsError(str(error)) from error  # type: ignore[no-untyped-call]
        self._tap.max_body = ctx.options.abs_max_body

    def running(self) -> None:
        now, options = time.time(), ctx.options
        recording = Recording(
            id=uuid.uuid4().hex,
            name=options.abs_name or time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now)),
            started_at=now,
            session=options.abs_session or None,
            upstreams=self._routes.upstreams,
        )
        try:
            named = Path(options.abs_store).expanduser() if options.abs_store else None
            store = default_path(named, os.environ)
            redactor = Redactor(configured_rules(say_on_stderr), say_on_stderr)
            token = secrets.token_urlsafe(24)
            control = Control(recording, token)
            self._recorder = Recorder(
                store, recording, on_kept=control.kept, opened=self._tap.unfinished, redactor=redactor
            )
            control.begin(self._recorder, self._tap.unfinished)
            self._asked.control = control
            self._note(store, recording, token)
        except AbsReplayError as error:
            raise SystemExit(f"abs: {error}") from None  # traffic that nobody keeps is worse than none

    def _note(self, store: Path, recording: Recording, token: str) -> None:
        """Let others on this machine find the recorder, if it listens where they can reach it."""
        server = ctx.master.addons.get("proxyserver")  # type: ignore[no-untyped-call]
        for host, port, *_ in server.listen_addrs() if server else ():
            running = Running(recording.id, recording.name, os.getpid(), local_url(host, port), token)
            self._noted.enter_context(noted(store, running))
            return

    def done(self) -> None:
        self._noted.close()
        self._tap.finish()
        if self._recorder is not None:
            self._recorder.close()

    def _channel_of(self, flow: http.HTTPFlow) -> Channel:
        request = flow.request
        return self._routes.channel(request.scheme, request.host, request.port, request.path)


addons = [AbsRecorder()]
