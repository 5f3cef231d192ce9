"""What is exported."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from abs_replay.exchange import Exchange, Recording
from abs_replay.exporters.conversations import Conversation
from abs_replay.trace import Trace


@dataclass(frozen=True, slots=True)
class Content:
    """A recording with its exchanges, or its traces; which of them depends on the format.

    `conversations` are the same exchanges, for a format that keeps them together. `providers` says who
    answered, by exchange, where that is known.
    """

    recording: Recording
    exchanges: tuple[Exchange, ...] = ()
    traces: tuple[Trace, ...] = ()
    conversations: tuple[Conversation, ...] = ()
    providers: Mapping[str, str] = field(default_factory=dict)
