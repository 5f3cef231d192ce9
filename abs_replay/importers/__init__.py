"""Readers of other tools' files, one file each, asked in turn which of them knows a file.

An importer is a module (in other packages an object will do) with `recognises(source) -> bool`, which never
raises and is cheap for a file that is none of its own, and `read(source) -> Imported`, which raises
`UsageError`, with the line where there is one (`source.wrong` makes it), and nothing else, whatever the bytes
are. Both get a `Source`.

Packages add theirs by entry point, and are asked after the built-in ones:

    [project.entry-points."abs_replay.importers"]
    acme_log = "my_package.acme_log"
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from abs_replay import plugins
from abs_replay.errors import AbsReplayError, UsageError

if TYPE_CHECKING:
    from abs_replay.importers.imported import UNPLACED, Imported
    from abs_replay.importers.source import NOTHING, Line, Source, open_source

__all__ = [
    "IMPORTERS",
    "NOTHING",
    "UNPLACED",
    "Imported",
    "Importer",
    "Line",
    "Source",
    "check",
    "formats",
    "importer",
    "open_source",
    "read",
    "recognise",
]


# Loaded when asked for: `abs grade` reads a trace file, and needs neither.
_LATER: Final[Mapping[str, str]] = {
    "UNPLACED": "imported",
    "Imported": "imported",
    "NOTHING": "source",
    "Line": "source",
    "Source": "source",
    "open_source": "source",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


class Importer(Protocol):
    """What a module in this folder offers."""

    def recognises(self, source: "Source") -> bool: ...

    def read(self, source: "Source") -> "Imported": ...


# The first that recognises a file reads it. One line a format: its module, and what `--help` says of it.
IMPORTERS: Final[Mapping[str, tuple[str, str]]] = {
    "cassette": ("abs_replay.importers.cassette_file", "our own cassettes"),
    "trace": ("abs_replay.importers.own_traces", "our own trace files"),
    "vcr": ("abs_replay.importers.vcr", "VCR.py, YAML or JSON"),
    "ruby-vcr": ("abs_replay.importers.ruby_vcr", "VCR for Ruby"),
    "go-vcr": ("abs_replay.importers.go_vcr", "go-vcr"),
    "har": ("abs_replay.importers.har", "HTTP archives of browsers and proxies"),
    "mitmproxy": (
        "abs_replay.importers.mitmproxy_flows",
        "mitmproxy's flow files (needs the `record` extra)",
    ),
    "nock": ("abs_replay.importers.nock", "recordings of nock"),
    "mcp-recorder": ("abs_replay.importers.mcp_recorder", "MCP sessions of mcp-recorder"),
    "realtime": ("abs_replay.importers.realtime_tape", "messages of a WebSocket with a realtime model, YAML"),
    "tcp": ("abs_replay.importers.tcp_capture", "reads of TCP connections that carry HTTP/1.1, JSON Lines"),
    "inspect": ("abs_replay.importers.inspect_logs", "logs of Inspect, .eval or .json"),
    "tau-bench": ("abs_replay.importers.tau_bench", "trajectories of tau-bench and tau2-bench"),
    "swe-agent": ("abs_replay.importers.swe_agent", "trajectories of SWE-agent"),
    "claude-code": ("abs_replay.importers.claude_code", "session logs and streams of Claude Code"),
    "openai-agents": ("abs_replay.importers.openai_agents", "run states of OpenAI's Agents SDK"),
    "langsmith": ("abs_replay.importers.langsmith", "runs of LangSmith, JSON or JSON Lines"),
    "langfuse": ("abs_replay.importers.langfuse", "traces and observations of Langfuse, JSON, JSONL or CSV"),
    "otel": (
        "abs_replay.importers.otel_spans",
        "OpenTelemetry spans with GenAI attributes, OTLP/JSON or dumps",
    ),
    "messages": (
        "abs_replay.importers.message_lists",
        "lists of chat messages, JSON Lines or JSON; ShareGPT",
    ),
    "pair": ("abs_replay.importers.pair", "one request and response, or a response alone, as JSON"),
}


def formats() -> tuple[str, ...]:
    """The names of all formats, those of installed packages last."""
    return (*IMPORTERS, *sorted(plugins.names(plugins.IMPORTERS, IMPORTERS)))


def importer(name: str) -> Importer:
    """Give the importer of that name; raises `UsageError` where there is none, or it is broken."""
    if name in IMPORTERS:
        return cast(Importer, import_module(IMPORTERS[name][0]))
    found = plugins.load(plugins.IMPORTERS, name, IMPORTERS)
    if found is None:
        raise UsageError(f"no importer reads {name!r}; known are {', '.join(formats())}")
    if not callable(getattr(found, "recognises", None)) or not callable(getattr(found, "read", None)):
        raise plugins.wrong(plugins.IMPORTERS, name, "has no `recognises` and `read`")
    return cast(Importer, found)


def check(name: str | None) -> None:
    """Load one importer, or all: one that is broken shall be told before any file is read."""
    for each in formats() if name is None else (name,):
        importer(each)


def recognise(source: "Source") -> str | None:
    """Name the format of a file, or None where no importer knows it; raises `UsageError`."""
    return next((name for name in formats() if _asked(name, source, importer(name).recognises)), None)


def read(name: str, source: "Source") -> "Imported":
    """Read a file in the format of that name; raises `UsageError`."""
    from abs_replay.importers.imported import Imported

    imported = _asked(name, source, importer(name).read)
    if not isinstance(imported, Imported):
        raise plugins.wrong(plugins.IMPORTERS, name, f"gave {type(imported).__name__}, no Imported")
    return imported


def _asked[Answer](name: str, source: "Source", ask: "Callable[[Source], Answer]") -> Answer:
    """Ask an importer; whatever one of another package raises is told in one line."""
    try:
        with plugins.foreign():
            return ask(source)
    except AbsReplayError:
        raise
    except Exception as trouble:
        if name in IMPORTERS:
            raise
        failed = f"failed at {source.path}: {plugins.told(trouble)}"
        raise plugins.wrong(plugins.IMPORTERS, name, failed) from trouble
