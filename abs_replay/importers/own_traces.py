"""Trace files of our own (FORMATS, trace file), into the store."""

from abs_replay.importers import trace_file
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source


def recognises(source: Source) -> bool:
    """Whether the first JSON value of the file has a list of steps, numbered, with actors."""
    if '"steps"' not in (source.text or ""):
        return False
    lines = source.json_lines
    first = source.json or (lines[0].value if isinstance(lines, tuple) else None)
    steps = first.get("steps") if isinstance(first, dict) else None
    return (
        isinstance(steps, list)
        and bool(steps)
        and isinstance(steps[0], dict)
        and {"seq", "actor"} <= steps[0].keys()
    )


def read(source: Source) -> Imported:
    """Read every trace; raises `UsageError` with line and step."""
    traces = trace_file.read_text(source.path.with_name(source.name), source.need_text())
    return Imported(traces=traces)
