"""Lines of MCP over standard input and output as exchanges of its Streamable HTTP, which says the same.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http

Each line of the client's is a POST. That of a request is answered by the line that bears its id: as
`application/json` where that came alone, as `text/event-stream` where others came before it that belong to
the request. What the client tells or answers is taken with 202. Everything else that the server says stands
in one long GET, the listening stream.

To a request belongs what names it (its progress token, its subscription). What the server asks the client,
and what it logs, names none: it is put down to a request that is open alone, else it stands in the GET.

Every line stands unchanged in its body, without its newline: alone, or after `data: ` (a carriage return
inside a line begins another `data: `, as the framing demands). What is no JSON-RPC is kept, with an `error`.
"""

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

from abs_replay.exchange import Body, Channel, Chunk, Exchange, Headers, Outcome, Request, Response, Role
from abs_replay.shim.lines import LONGEST, Line
from abs_replay.shim.messages import Message, read

SCHEME: Final = "stdio"
_JSON: Final = ("content-type", "application/json")
_EVENTS: Final = ("content-type", "text/event-stream")
_RETURN = re.compile(rb"\r(?!\Z)")
_WITHIN: Final = ("sampling/", "elicitation/", "roots/", "notifications/message", "notifications/cancelled")
_LISTENS: Final = "subscriptions/listen"  # open as long as the talk, and asks for nothing


@dataclass(frozen=True, slots=True)
class Place:
    """Where a server is said to be: the tool's name, and the command that runs it."""

    name: str
    command: str

    @property
    def channel(self) -> Channel:
        return Channel(Role.TOOL, self.name)

    @property
    def target(self) -> str:
        return "/" + quote(self.name, safe="")

    @property
    def url(self) -> str:
        return f"{SCHEME}://{quote(self.command)}{self.target}"


class _Stream:
    """The lines of a stream of events, each with the time when it was whole."""

    def __init__(self, started_at: float) -> None:
        self._started_at = started_at
        self._pieces: list[bytes] = []
        self._chunks: list[Chunk] = []
        self._end = self._size = 0

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def add(self, line: Line, at: float) -> None:
        """Add a line; of a stream that is too long the beginning is kept."""
        event = b"event: message\ndata: " + _RETURN.sub(b"\rdata: ", line.data) + b"\n\n"
        if self._size == self._end and self._end + len(event) <= LONGEST:
            self._end += len(event)
            self._pieces.append(event)
            self._chunks.append(Chunk(self._end, _ms(self._started_at, at)))
        self._size += len(event) + (0 if line.size is None else line.size - len(line.data))

    def response(self) -> Response:
        size = self._size if self._size > self._end else None
        return Response(200, (_EVENTS,), Body(b"".join(self._pieces), tuple(self._chunks), size), "OK")


@dataclass(slots=True)
class _Open:
    """A request, or a batch of them, that waits for its answers."""

    request: Request
    started_at: float
    waits_for: list[str]
    token: str | None
    listens: bool
    stream: _Stream
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    cancelled: bool = False


class Talk:
    """The exchanges of one run of a server; `keep` is given each when it has ended."""

    def __init__(self, place: Place, started_at: float, keep: Callable[[Exchange], None]) -> None:
        self._place, self._started_at, self._keep = place, started_at, keep
        self._session = uuid.uuid4().hex
        self._open: list[_Open] = []
        self._listening = _Stream(started_at)
        self._unread, self._why = 0, ""

    def from_client(self, line: Line, at: float) -> None:
        """Take a line of the client's."""
        request = self._request("POST", (_JSON,), Body(line.data, size=line.size))
        try:
            messages = read(line)
        except ValueError as error:
            self._take(request, at, f"the client's line is no message: {error}")
            return
        for message in messages:
            self._cancel(message.cancels)
        asked = [message for message in messages if message.is_request]
        if not asked:
            self._take(request, at)
            return
        waits_for = [message.id for message in asked if message.id is not None]
        token = next((message.token for message in asked if message.token is not None), None)
        listens = any(message.method == _LISTENS for message in asked)
        self._open.append(_Open(request, at, waits_for, token, listens, _Stream(at)))

    def from_server(self, line: Line, at: float) -> None:
        """Take a line of the server's."""
        try:
            messages = read(line)
        except ValueError as error:
            self._unread, self._why = self._unread + 1, self._why or str(error)
            self._listening.add(line, at)
            return
        answers = [message.id for message in messages if message.is_answer and message.id is not None]
        asking = self._asking(answers)
        if len(asking) == 1:
            self._answer(asking[0], answers, line, at)
            return
        one = None if answers else self._belonging(messages)
        (one.stream if one else self._listening).add(line, at)
        for each in asking:  # one line can not stand in two answers
            self._elsewhere(each, answers, at)

    def unanswered(self, before: float) -> tuple[Exchange, ...]:
        """What was asked before a moment and waits for its answer, as far as that has come."""
        return tuple(
            Exchange(
                each.id,
                self._place.channel,
                each.started_at,
                each.request,
                each.stream.response() if each.stream else None,
                outcome=Outcome.UNFINISHED,
            )
            for each in self._open
            if each.started_at < before
        )

    def end(self, outcome: Outcome, at: float) -> None:
        """Give what is still open: nobody answers it any more."""
        for each in tuple(self._open):
            response = each.stream.response() if each.stream else None
            why = "the client cancelled it" if each.cancelled else "the server ended"
            error = "the client ended" if outcome is Outcome.CLIENT_CLOSED and not each.cancelled else why
            self._close(each, response, at, Outcome.CLIENT_CLOSED if each.cancelled else outcome, error)
        if self._listening:
            accept = ("accept", "text/event-stream")
            request, response = self._request("GET", (accept,), Body()), self._listening.response()
            self._put(uuid.uuid4().hex, request, response, self._started_at, at, outcome, self._misread())

    def _request(self, method: str, headers: Headers, body: Body) -> Request:
        named = (*headers, ("mcp-session-id", self._session))
        place = self._place
        return Request(method, place.target, named, body, scheme=SCHEME, host=place.command)

    def _cancel(self, key: str | None) -> None:
        for each in self._open if key is not None else ():
            each.cancelled = each.cancelled or key in each.waits_for

    def _asking(self, answers: Iterable[str]) -> list[_Open]:
        """Which of those that are open these answer; of two with one id, the first."""
        found: list[_Open] = []
        for key in answers:
            one = next((each for each in self._open if key in each.waits_for), None)
            if one is not None and one not in found:
                found.append(one)
        return found

    def _belonging(self, messages: Iterable[Message]) -> _Open | None:
        for message in messages:
            for each in self._open:
                named = message.method == "notifications/progress" and message.token is not None
                if (named and message.token == each.token) or message.subscription in each.waits_for:
                    return each
        alone = [each for each in self._open if not each.listens]
        within = all((message.method or "").startswith(_WITHIN) for message in messages)
        return alone[0] if within and len(alone) == 1 else None

    def _answer(self, one: _Open, answers: Iterable[str], line: Line, at: float) -> None:
        first = not one.stream
        one.waits_for = [key for key in one.waits_for if key not in answers]
        if first and not one.waits_for:
            body = Body(line.data, (Chunk(len(line.data), _ms(one.started_at, at)),))
            self._close(one, Response(200, (_JSON,), body, "OK"), at)
            return
        one.stream.add(line, at)
        if not one.waits_for:
            self._close(one, one.stream.response(), at)

    def _elsewhere(self, one: _Open, answers: Iterable[str], at: float) -> None:
        one.waits_for = [key for key in one.waits_for if key not in answers]
        if not one.waits_for:
            self._close(one, one.stream.response() if one.stream else _TAKEN, at)

    def _take(self, request: Request, at: float, error: str | None = None) -> None:
        self._put(uuid.uuid4().hex, request, _TAKEN, at, at, Outcome.COMPLETE, error)

    def _close(
        self,
        one: _Open,
        response: Response | None,
        at: float,
        outcome: Outcome = Outcome.COMPLETE,
        error: str | None = None,
    ) -> None:
        self._open.remove(one)
        self._put(one.id, one.request, response, one.started_at, at, outcome, error)

    def _put(
        self,
        id_: str,
        request: Request,
        response: Response | None,
        started_at: float,
        at: float,
        outcome: Outcome,
        error: str | None,
    ) -> None:
        channel, ended = self._place.channel, _ms(started_at, at)
        self._keep(
            Exchange(
                id_, channel, started_at, request, response, outcome=outcome, error=error, ended_ms=ended
            )
        )

    def _misread(self) -> str | None:
        """Say how many lines of the server's are none of JSON-RPC, and why the first is none."""
        if not self._unread:
            return None
        are = (
            "line of the server's is no message"
            if self._unread == 1
            else "lines of the server's are no messages"
        )
        return f"{self._unread} {are}: {self._why}"


_TAKEN: Final = Response(202, reason="Accepted")


def _ms(since: float, at: float) -> float:
    return round((at - since) * 1000, 3)
