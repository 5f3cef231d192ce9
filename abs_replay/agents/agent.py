"""What the runner needs of an agent under test: send a conversation, get a reply with its exchange."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from abs_replay.decoders.events import Call
from abs_replay.exchange import Exchange

type Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one request. `message` is the agent's own, as it goes back with the history.

    `calls` are those that the agent leaves to its client to run. `problem` says in words why there
    is no message: the agent could not be reached, answered with an error, or with something else.
    """

    exchange: Exchange
    message: Message | None = None
    calls: tuple[Call, ...] = ()
    problem: str | None = None


class Agent(Protocol):
    """One format of talking to an agent. Messages are `{"role", "content", ..}`, oldest first."""

    @property
    def url(self) -> str:
        """The URL that requests go to."""

    def send(self, messages: Sequence[Message], headers: Mapping[str, str]) -> Reply:
        """Send the whole conversation so far; what goes wrong on the wire is a reply, and raises nothing."""

    def close(self) -> None:
        """Close its connections."""
