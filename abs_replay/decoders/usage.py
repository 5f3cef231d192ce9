"""What an answer cost, in tokens, as the vendor counts them."""

from collections.abc import Mapping, Sequence
from typing import Any

from abs_replay.decoders.fields import count
from abs_replay.trace import Usage


def usage(counters: Mapping[str, Any], asked: Sequence[str], made: Sequence[str]) -> Usage | None:
    """Add up the counters of what went in and of what came out; None where none of them says a thing."""
    went_in, came_out = (sum(count(counters.get(key)) for key in keys) for keys in (asked, made))
    return Usage(went_in, came_out) if went_in or came_out else None
