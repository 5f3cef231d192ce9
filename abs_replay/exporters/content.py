"""What is exported."""

from dataclasses import dataclass

from abs_replay.exchange import Exchange, Recording
from abs_replay.exporters.conversations import Conversation
from abs_replay.trace import Trace


@dataclass(frozen=True, slots=True)
class Content:
    """A recording with its exchanges, or its traces; which of them depends on the format.

    `conversations` are the same exchanges, for a format that keeps them together.
    """

    recording: Recording
    exchanges: tuple[Exchange, ...] = ()
    traces: tuple[Trace, ...] = ()
    conversations: tuple[Conversation, ...] = ()
