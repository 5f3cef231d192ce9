"""Writers of what a store holds, for other tools, one file each.

An exporter is a module with `render(content) -> str | bytes`. What a format can not say is lost in it, and
`lost` in the registry says what; nothing is made up to fill it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final, cast

from abs_replay.exporters.content import Content


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its module, how its files end, what it is, and what is lost in it.

    `of_exchanges` is whether it writes a recording's exchanges, and not its traces.
    """

    module: str
    ending: str
    what: str
    lost: str = ""
    of_exchanges: bool = False


# One entry a format, in the order in which `--help` lists them.
EXPORTERS: Final[Mapping[str, Format]] = {
    "cassette": Format(
        "abs_replay.exporters.cassette_file",
        ".cassette.json",
        "a cassette, for review, git and replay",
        of_exchanges=True,
    ),
    "har": Format(
        "abs_replay.exporters.har",
        ".har",
        "an HTTP archive, HAR 1.2",
        "chunks and their times, how bodies were compressed, trailers, channels",
        of_exchanges=True,
    ),
    "traces": Format(
        "abs_replay.exporters.traces",
        ".trace.jsonl",
        "traces, one a line, as `abs grade --traces` reads them",
    ),
    "parquet": Format(
        "abs_replay.exporters.parquet",
        ".steps.parquet",
        "the traces' steps, a row each",
        "a trace's bindings and variables",
    ),
    "otel": Format(
        "abs_replay.exporters.otel",
        ".otlp.json",
        "OpenTelemetry spans with GenAI attributes, OTLP/JSON",
        "what was internal but thoughts, state and workflow, hand-offs, where a failure was, sources, "
        "retries, segments, bindings; structures in words become JSON text; steps without times get some",
    ),
}


def render(name: str, content: Content) -> bytes:
    """Write content in the format of that name."""
    written = import_module(EXPORTERS[name].module).render(content)
    return written.encode("utf-8") if isinstance(written, str) else cast(bytes, written)


__all__ = ["EXPORTERS", "Content", "Format", "render"]
