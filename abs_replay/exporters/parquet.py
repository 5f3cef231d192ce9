"""Steps as a Parquet table, one row each, with what the trace says of all of them."""

from abs_replay.exporters.content import Content
from abs_replay.store import steps_as_parquet


def render(content: Content) -> bytes:
    """Write every step; content, arguments, sources and tags are JSON text."""
    return steps_as_parquet(content.recording, content.traces)
