"""Traces as JSON Lines (FORMATS, trace file)."""

from abs_replay.exporters.content import Content
from abs_replay.importers import trace_file


def render(content: Content) -> str:
    """Write traces without loss."""
    return trace_file.write(content.traces)
