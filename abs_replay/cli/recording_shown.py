"""What `abs record` says when it begins: where its listeners are, and the environment that leads to them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.channels import environment, is_loopback, without_proxy
from abs_replay.cli.forwarding import Way, unasked_proxies
from abs_replay.cli.listeners import exported, listed
from abs_replay.cli.recording_log import Log
from abs_replay.cli.saying import harmless
from abs_replay.exchange import Recording

if TYPE_CHECKING:
    from abs_replay.proxy import Listeners

USE = (
    "set these for your agent and for whoever talks to it, then chat; Ctrl-C ends the recording, "
    "m and Enter (or m NAME) marks where the next conversation begins"
)


def variables(listeners: "Listeners", way: Way) -> dict[str, str]:
    """The variables that lead a program to the listeners."""
    return environment(listeners) | (way.variables or without_proxy(os.environ))


def show(
    recording: Recording, store: Path, has_program: bool, listeners: "Listeners", way: Way, log: Log
) -> None:
    """Say what a recording is called, and how to get into it."""
    settings = environment(listeners) | way.variables
    lines = [harmless(f"recording {recording.name} in {store}")]
    lines += [*listed(listeners, forward=listeners.forward), *exported(settings)]
    if not has_program:
        lines.append(USE)
    urls = {str(channel): url for channel, url in listeners.items()}
    log.say("listening", "\n".join(lines), listeners=urls, forward=listeners.forward, environment=settings)
    for warning in (*way.warnings, *unasked_proxies(os.environ)):
        log.say("warning", f"warning: {warning}", message=warning)


def warn_of(host: str, log: Log) -> None:
    """Say what it means to listen there."""
    if not is_loopback(host):
        warning = f"listening on {host}: whoever reaches this machine reaches what is behind, unasked"
        log.say("warning", f"warning: {warning}", message=warning)
