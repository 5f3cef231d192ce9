"""What a decoder says of an exchange: a turn of a model, uses of tools, posts to a chat, reported spans,
or why it says nothing.

`at` names the place in the exchange that shows a thing: a path into a JSON body
(`response.choices[0].message`), or the first and last event of a stream, counted from 0 in its body
(`response.events[3-17]`; lines of NDJSON, frames and items of a streamed array count alike), or of the
messages of a WebSocket, those of both sides counted (`websocket.messages[3-17]`).
"""

from collections.abc import Sequence
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
class Said:
    """Words of a message's sender, or a structure."""

    content: Json
    at: str = ""


@dataclass(frozen=True, slots=True)
class Thought:
    """What a model thought and did not say, as far as its API shows it."""

    text: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """A call that the answering side carried out itself (web search, code, remote MCP), and its result.

    `answered` is False where the result was not seen; `at` is the place of the result.
    """

    call: Call
    content: Json = None
    error: str | None = None
    answered: bool = True
    at: str = ""


type Part = Said | Thought | Call | Served


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `role` is system, user, assistant or tool.

    `content` is text, a structure, or null; `calls` are those that the receiver is to carry out. Of a
    tool's message `call_id` and `name` say which call it answers, as far as the protocol tells, and
    `error` that the call failed. `parts` give what it holds in order, where words and calls alone do
    not say it (words between calls, thoughts, calls that the sender carried out itself); see `composed`.
    """

    role: str
    content: Json = None
    calls: tuple[Call, ...] = ()
    call_id: str | None = None
    name: str | None = None
    at: str = ""
    parts: tuple[Part, ...] = ()
    error: str | None = None


def composed(role: str, parts: Sequence[Part], at: str = "") -> Message:
    """Make a message of its parts in order; `content` and `calls` follow from them."""
    said = [part.content for part in parts if isinstance(part, Said)]
    calls = tuple(part for part in parts if isinstance(part, Call))
    simple = [*(part for part in parts if isinstance(part, Said)), *calls]
    ordered = () if len(said) <= 1 and list(parts) == simple else tuple(parts)
    return Message(role, _joined(said), calls, at=at, parts=ordered)


def _joined(said: Sequence[Json]) -> Json:
    if len(said) <= 1:
        return said[0] if said else None
    texts = [words for words in said if isinstance(words, str)]
    return "\n".join(texts) if len(texts) == len(said) else list(said)


@dataclass(frozen=True, slots=True)
class Turn:
    """A request to a model or an agent: the history it sends, and the reply, as far as it came.

    `error` says why there is no reply, or why it broke off. Where the protocol names its answers,
    `response_id` is this one's and `parent_id` that of the answer it goes on from: the history then
    holds new messages alone. `poll_of` is the id of an answer begun before, which this exchange only
    asks for (a background response, a task). `compacted` says that the history begins with what the
    vendor made of an older one, `compacts` that the answer is such a thing, and no words. `begun` are
    words that the request gave its reply to begin with, which the reply holds.
    """

    history: tuple[Message, ...]
    reply: Message | None = None
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    response_id: str | None = None
    parent_id: str | None = None
    poll_of: str | None = None
    compacted: bool = False
    compacts: bool = False
    begun: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """A turn of a conversation that goes on within one exchange (a WebSocket): its history holds what is
    new. Both times count in ms from the exchange's start: when all was there that it answers, and when
    the answer was, as far as it came.
    """

    turn: Turn
    asked_ms: float
    answered_ms: float


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that reached a tool, with what the tool answered; `error` where it failed.

    `ticket` is there where the answer is not, and may come in another exchange: an `Answer` bears it then.
    """

    name: str
    arguments: Json
    content: Json = None
    error: str | None = None
    asked_at: str = "request"
    answered_at: str = "response"
    ticket: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answered to the use that another exchange of the channel asked for, under its `ticket`.

    Of `use` what was answered counts. `asked` is whether this exchange asked for it again, so that it is
    a use of its own where that other exchange was not seen. `at_ms` counts from the exchange's start,
    None where the recording does not say.
    """

    ticket: str
    use: ToolUse
    at_ms: float | None = None
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Post:
    """A message of a chat that its server keeps, seen when it was sent, listened to or listed.

    `at_ms` counts from the exchange's start, None where the exchange's end is all that is known. `author`
    is the writer's id; `guessed` is whether the message's role is a guess, which other posts of that
    author, or of others, may better.
    """

    post_id: str
    message: Message
    at_ms: float | None = None
    author: str | None = None
    guessed: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of work that the agent reported itself (OpenTelemetry); times are Unix seconds."""

    span_id: str
    started_at: float
    ended_at: float
    turn: Turn | None = None
    use: ToolUse | None = None
    trace_id: str | None = None
    parent_id: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """What one exchange holds.

    `protocol` is None where nothing was understood, and `reason` says why. `complete` is whether a
    stream's last event arrived; None where the protocol has no such event. `session` is an id that
    the protocol itself gives the conversation. `failed` names the decoder that raised, if one did.
    """

    protocol: str | None
    turn: Turn | None = None
    uses: tuple[ToolUse, ...] = ()
    complete: bool | None = None
    session: str | None = None
    remarks: tuple[str, ...] = ()
    reason: str | None = None
    posts: tuple[Post, ...] = ()
    spans: tuple[Span, ...] = ()
    answers: tuple[Answer, ...] = ()
    failed: str | None = None
    rounds: tuple[Round, ...] = ()
