"""What a decoder says of an exchange: a turn of a model, uses of tools, or why it says nothing.

`at` names the place in the exchange that shows a thing (`response.choices[0].message`).
"""

from dataclasses import dataclass, field

from abs_replay.exact_json import Json
from abs_replay.trace import Usage


@dataclass(frozen=True, slots=True)
class Call:
    """A call that a message asks for. `arguments` are an object, or text where they are no JSON."""

    name: str
    arguments: Json = field(default_factory=dict)
    call_id: str | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `role` is system, user, assistant or tool.

    `content` is text, a structure, or null; of a tool's message `call_id` and `name` say which call
    it answers, as far as the protocol tells.
    """

    role: str
    content: Json = None
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    name: str | None = None
    at: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A request to a model or an agent: the history it sends, and the reply, as far as it came.

    `error` says why there is no reply, or why it broke off.
    """

    history: tuple[Message, ...]
    reply: Message | None = None
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that reached a tool, with what the tool answered; `error` where it failed."""

    name: str
    arguments: Json
    content: Json = None
    error: str | None = None
    asked_at: str = "request"
    answered_at: str = "response"


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one exchange holds.

    `protocol` is None where nothing was understood, and `reason` says why. `complete` is whether a
    stream's last event arrived; None where the protocol has no such event. `session` is an id that
    the protocol itself gives the conversation.
    """

    protocol: str | None
    turn: Turn | None = None
    uses: tuple[ToolUse, ...] = ()
    complete: bool | None = None
    session: str | None = None
    remarks: tuple[str, ...] = ()
    reason: str | None = None
