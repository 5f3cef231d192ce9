"""The recorder of `abs record` as a script for a stock mitmproxy: mitmdump, mitmweb or mitmproxy.

    mitmweb --mode reverse:http://localhost:8080@7070 -s "$(abs addon-path record)" \\
        --set abs_name=chat --set abs_channels="agent=http://localhost:8080,tool:Order MCP=http://localhost:9001"

Works in every mode. Which channel an exchange belongs to is told by where it goes: `abs_channels` maps the
beginnings of URLs to channels, and what none of them fits is a tool channel with its host's name. Bodies
are streamed; `--set store_streamed_bodies=true` shows them in mitmproxy's own views. A Host header is kept
as mitmproxy passes it on.
"""

import os
import time
import uuid
from pathlib import Path

from mitmproxy import ctx, exceptions, http
from mitmproxy.addonmanager import Loader

from abs_replay.cli.redaction import configured_rules
from abs_replay.errors import AbsReplayError, UsageError
from abs_replay.exchange import Channel, Recording, Role, Upstream
from abs_replay.proxy import MAX_BODY, Tap
from abs_replay.recorder import Recorder, say_on_stderr
from abs_replay.redact import Redactor
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


def channel_of(url: str, host: str, channels: tuple[Upstream, ...]) -> Channel:
    """The channel with the longest URL that this one begins with, else a tool with the host's name."""
    fitting = [each for each in channels if _is_under(url, each.url.rstrip("/"))]
    if not fitting:
        return Channel(Role.TOOL, host)
    return max(fitting, key=lambda each: len(each.url)).channel


def _is_under(url: str, base: str) -> bool:
    return url.startswith(base) and url[len(base) : len(base) + 1] in ("", "/", "?")


class AbsRecorder:
    """Options and life of the recording; the tap below it is that of `abs record`."""

    def __init__(self) -> None:
        self._recorder: Recorder | None = None
        self._channels: tuple[Upstream, ...] = ()
        self._tap = Tap(lambda made: self._recorder.put(made) if self._recorder else None, self._channel_of)
        self.addons = [self._tap]

    def load(self, loader: Loader) -> None:
        where = "abs-replay: the store to record into; empty: ABS_STORE, or .abs/store.duckdb."
        loader.add_option("abs_store", str, "", where)
        loader.add_option("abs_name", str, "", "abs-replay: what the recording is called; empty: the time.")
        loader.add_option("abs_session", str, "", "abs-replay: the session that the conversations play.")
        loader.add_option("abs_channels", str, "", "abs-replay: ROLE[:NAME]=URL, divided by commas.")
        loader.add_option("abs_max_body", int, MAX_BODY, "abs-replay: longer bodies are kept cut.")

    def configure(self, updated: set[str]) -> None:
        try:
            if "abs_channels" in updated:
                self._channels = parse_channels(ctx.options.abs_channels)
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
            upstreams=self._channels,
        )
        try:
            named = Path(options.abs_store).expanduser() if options.abs_store else None
            store = default_path(named, os.environ)
            redactor = Redactor(configured_rules(say_on_stderr), say_on_stderr)
            self._recorder = Recorder(store, recording, opened=self._tap.unfinished, redactor=redactor)
        except AbsReplayError as error:
            raise SystemExit(f"abs: {error}") from None  # traffic that nobody keeps is worse than none

    def done(self) -> None:
        self._tap.finish()
        if self._recorder is not None:
            self._recorder.close()

    def _channel_of(self, flow: http.HTTPFlow) -> Channel:
        return channel_of(flow.request.url, flow.request.host, self._channels)


addons = [AbsRecorder()]
