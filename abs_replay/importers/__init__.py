"""Readers of foreign files, one file each: `read(path) -> tuple[Trace, ...]`."""

from collections.abc import Callable, Mapping
from pathlib import Path

from abs_replay.importers import trace_file
from abs_replay.trace import Trace

IMPORTERS: Mapping[str, Callable[[Path], tuple[Trace, ...]]] = {
    "trace": trace_file.read,
}
