"""What was seen on the wire: one HTTP request with its response, or its failure.

An exchange that became a WebSocket has the messages that followed, too (RFC 6455).

Bytes are kept as they were sent (after removing HTTP's own chunked framing, before any
content-encoding is undone); a body knows where each chunk ended and when it came.
Header names and values are latin-1 text, which maps to bytes without loss (RFC 9110 §5.5).
"""

from dataclasses import dataclass, field
from enum import StrEnum

type Headers = tuple[tuple[str, str], ...]

WITHHELD = "content withheld"  # how the error begins of an exchange that a rule of redaction failed on


class Role(StrEnum):
    """Between whom a channel runs."""

    AGENT = "agent"  # tester to agent
    LLM = "llm"  # agent to model
    TOOL = "tool"  # agent to a tool


@dataclass(frozen=True, slots=True, order=True)
class Channel:
    """Where an exchange was seen; `name` tells channels of one role apart ("Order MCP")."""

    role: Role
    name: str

    def __str__(self) -> str:
        return self.role if self.name == self.role else f"{self.role}:{self.name}"


@dataclass(frozen=True, slots=True)
class Upstream:
    """A channel with the URL it was declared with, whose path its listener keeps."""

    channel: Channel
    url: str


class Outcome(StrEnum):
    """How an exchange ended on the wire. Whether a stream was whole is for its decoder to say."""

    COMPLETE = "complete"
    CLIENT_CLOSED = "client_closed"  # SDKs also do this after the last event
    UPSTREAM_CLOSED = "upstream_closed"  # in the middle of the response
    REFUSED = "refused"  # no connection
    TLS_FAILED = "tls_failed"
    TIMED_OUT = "timed_out"
    UNFINISHED = "unfinished"  # still open when it was last kept; its recorder was killed


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a body: where it ends, in bytes, and when it came, in ms after the start."""

    end: int
    at_ms: float


@dataclass(frozen=True, slots=True)
class Body:
    """A body as sent. `size` is its length on the wire, larger than `data` where it was cut."""

    data: bytes = b""
    chunks: tuple[Chunk, ...] = ()
    size: int | None = None

    @property
    def cut(self) -> bool:
        return self.size is not None and self.size > len(self.data)


@dataclass(frozen=True, slots=True)
class Request:
    """`target` is path and query as sent; `host` is the authority that the client named."""

    method: str
    target: str
    headers: Headers = ()
    body: Body = Body()
    http_version: str = "HTTP/1.1"
    scheme: str = "http"
    host: str = ""

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> str:
        return self.target.partition("?")[2]


@dataclass(frozen=True, slots=True)
class Response:
    """What came back, as far as it came."""

    status: int
    headers: Headers = ()
    body: Body = Body()
    reason: str = ""
    http_version: str = "HTTP/1.1"
    trailers: Headers = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a WebSocket: its fragments joined, what permessage-deflate did to it undone.

    `at_ms` counts from the start of the exchange. `size` is its length, larger than `data` where it was
    cut. The data of a text message is UTF-8, as far as it was kept.
    """

    from_client: bool
    data: bytes
    is_text: bool
    at_ms: float
    size: int | None = None

    @property
    def cut(self) -> bool:
        return self.size is not None and self.size > len(self.data)


@dataclass(frozen=True, slots=True)
class WebSocket:
    """What both sides said after the handshake, in the order it passed, and how they parted.

    The close code is 1006 where no close frame came (RFC 6455 §7.1.5); None: nobody has closed yet.
    """

    messages: tuple[Message, ...] = ()
    close_code: int | None = None
    close_reason: str = ""
    closed_by_client: bool | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what became of it; `started_at` is Unix seconds, `ended_ms` counts from it.

    `response` is None where nothing came back; `error` then, and for streams that broke, says why.
    """

    id: str
    channel: Channel
    started_at: float
    request: Request
    response: Response | None = None
    outcome: Outcome = Outcome.COMPLETE
    error: str | None = None
    ended_ms: float | None = None
    redacted: bool = False
    websocket: WebSocket | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the conversations of a recording end, in Unix seconds; `name` is what the next are called."""

    at: float
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """One run of `abs record`. `session` names the session that its conversations play, if any.

    No conversation goes on over one of the `marks`, which stand in the order of their times.
    """

    id: str
    name: str
    started_at: float
    ended_at: float | None = None
    session: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    upstreams: tuple[Upstream, ...] = ()
    marks: tuple[Mark, ...] = ()


def header(headers: Headers, name: str) -> str | None:
    """Give the first value of a header, whatever the case of its name."""
    wanted = name.lower()
    for key, value in headers:
        if key.lower() == wanted:
            return value
    return None
