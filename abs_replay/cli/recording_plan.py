"""What the command line says of a recording, and what is to be recorded by it."""

import os
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.channels import distinct, parse_upstream
from abs_replay.cli.forwarding import routes_of
from abs_replay.cli.recording_log import Log
from abs_replay.cli.redaction import configured_rules
from abs_replay.errors import UsageError
from abs_replay.exchange import Recording, Role, Upstream
from abs_replay.routes import Routes

if TYPE_CHECKING:
    from abs_replay.redact import Redactor


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `abs record`, as they are called there."""

    program: tuple[str, ...]
    agent: tuple[str, ...]
    llm: tuple[str, ...]
    tool: tuple[str, ...]
    forward: bool
    route: tuple[str, ...]
    ignore_host: tuple[str, ...]
    block_host: tuple[str, ...]
    name: str | None
    session: str | None
    tag: tuple[str, ...]
    store: Path | None
    port: int
    listen: str
    max_body: int
    quiet: bool
    json_log: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """What is recorded, where it is kept, and how it is got at."""

    recording: Recording
    store: Path
    host: str
    port: int
    max_body: int
    program: Sequence[str]
    routes: Routes | None  # of the forward listener, if there is to be one
    redactor: "Redactor"


def plan_of(options: Options, log: Log) -> Plan:
    """Read what was said; raises `UsageError`. What is kept of the names has no secrets."""
    from abs_replay.redact import Redactor
    from abs_replay.store import default_path

    upstreams = _upstreams({Role.AGENT: options.agent, Role.LLM: options.llm, Role.TOOL: options.tool})
    redactor = Redactor(configured_rules(log.problem), log.problem)
    recording = redactor.recording(_recording(options, upstreams))
    return Plan(
        replace(recording, upstreams=upstreams),  # these are asked as they are
        default_path(options.store, os.environ),
        options.listen,
        options.port,
        options.max_body,
        options.program,
        _routes(options, upstreams),
        redactor,
    )


def _upstreams(declared: Mapping[Role, Sequence[str]]) -> tuple[Upstream, ...]:
    return distinct([parse_upstream(role, text) for role, texts in declared.items() for text in texts])


def _routes(options: Options, upstreams: tuple[Upstream, ...]) -> Routes | None:
    hosts = options.route, options.ignore_host, options.block_host
    if options.forward or any(hosts) or not upstreams:
        return routes_of(*hosts, upstreams)
    return None


def _recording(options: Options, upstreams: tuple[Upstream, ...]) -> Recording:
    now = time.time()
    return Recording(
        id=uuid.uuid4().hex,
        name=options.name or time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now)),
        started_at=now,
        session=options.session,
        tags=dict(_tag(text) for text in options.tag),
        upstreams=upstreams,
    )


def _tag(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise UsageError(f"--tag {text!r}: expected KEY=VALUE")
    return key, value
