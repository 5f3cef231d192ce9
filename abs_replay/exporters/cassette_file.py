"""A recording as a cassette; see `abs_replay.cassette`. Its exchanges stand by conversation."""

from abs_replay.cassette import Cassette, dumps
from abs_replay.exporters.content import Content
from abs_replay.exporters.conversations import beginnings, in_order


def render(content: Content) -> str:
    """Write a recording without loss, in the order of its exchanges where no conversations are said."""
    parts = in_order(content.conversations)
    exchanges = tuple(exchange for part in parts for exchange in part.exchanges)
    return dumps(Cassette(content.recording, exchanges or content.exchanges, frozenset(beginnings(parts))))
