"""A recording as a cassette; see `abs_replay.cassette`."""

from abs_replay.cassette import Cassette, dumps
from abs_replay.exporters.content import Content


def render(content: Content) -> str:
    """Write a recording without loss."""
    return dumps(Cassette(content.recording, content.exchanges))
