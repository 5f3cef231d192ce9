"""A recorded MCP server on standard input and output: nothing is started, and nothing is connected to.

Each line of the client's is played as the POST that the recorder makes of it (see `talk`), and what answers
it goes out line by line, with the client's ids. What the server said unasked, in the listening GET, goes out
where it stood: after what had been asked when it was recorded, and not before the client was ready for it.

What the server asks of its client is waited for, if the client answered it when it was recorded: what stands
behind it in the same answer is withheld until then.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from abs_replay import exact_json
from abs_replay.cassette import Cassette
from abs_replay.errors import UsageError
from abs_replay.exact_json import Json
from abs_replay.exchange import Body, Channel, Exchange, Headers, Outcome, Request, Response, header
from abs_replay.matching.canonical import json_body
from abs_replay.matching.echo import SESSION_HEADER
from abs_replay.player import Miss, Played, Player
from abs_replay.player.miss import explain
from abs_replay.shim.lines import Line, Lines
from abs_replay.shim.messages import Message, read

_JSON: Final = ("content-type", "application/json")
_READY: Final = "notifications/initialized"
_FAILED: Final = -32001  # of the range that JSON-RPC 2.0 §5.1 leaves to servers
_PIECE: Final = 1 << 16
_GIVEN_UP: Final = (Outcome.CLIENT_CLOSED, Outcome.TIMED_OUT, Outcome.UNFINISHED)

type Write = Callable[[bytes], None]
type Say = Callable[[str], None]


class ServerEnded(Exception):
    """The recorded server ended here, without an answer."""


@dataclass(frozen=True, slots=True)
class _Unasked:
    """A line of the listening stream, and the POST that was the last before it (None: it was the first)."""

    line: bytes
    after: str | None


class ReplayedServer:
    """One run of a recorded server, on one channel. `write` is given its lines, `say` each miss.

    Raises `UsageError` where nothing was recorded on the channel.
    """

    def __init__(self, player: Player, channel: Channel, write: Write, say: Say) -> None:
        self._player, self._channel, self._write, self._say = player, channel, write, say
        exchanges = recorded(player.cassette, channel)
        self._posts = [each for each in exchanges if each.request.method == "POST"]
        self._target = self._posts[0].request.target if self._posts else "/"
        self._session: Headers = ()
        self._ids: dict[str, str] = {}  # the client's own -> as recorded
        self._answered = frozenset(_answers(self._posts))
        self._withheld: dict[str, list[bytes]] = {}  # what follows a request of the server's, by its id
        self._listening = next((each for each in exchanges if each.request.method == "GET"), None)
        self._has_ready = any(_READY.encode() in each.request.body.data for each in exchanges)
        self._unasked: deque[_Unasked] = deque()
        self._played: set[str | None] = {None}

    def take(self, line: Line) -> None:
        """Answer a line of the client's; raises `ServerEnded` where the recorded server did."""
        messages = _messages(line)
        request = self._request(line.data, messages)
        result = self._player.play(request, self._channel)
        if isinstance(result, Miss):
            self._miss(result, messages)
        else:
            self._answer(result, messages)
        for message in messages:
            if message.is_answer and message.id is not None:
                self._send(self._withheld.pop(message.id, ()))
        if isinstance(result, Played):
            self._after(result.exchange, messages)

    # -- what is asked

    def _request(self, data: bytes, messages: Iterable[Message]) -> Request:
        for message in messages:
            if message.cancels is not None and message.cancels in self._ids:
                data = _cancelling(data, self._ids[message.cancels])
        return Request("POST", self._target, (_JSON, *self._session), Body(data))

    def _miss(self, miss: Miss, messages: Sequence[Message]) -> None:
        why = explain(miss, self._player.cassette.exchanges)
        self._say(f"miss: {why}")
        for message in messages:
            if message.is_request:
                self._write(_failure(message, why))

    # -- what is answered

    def _answer(self, played: Played, messages: Sequence[Message]) -> None:
        response, exchange = played.response, played.exchange
        asked = [message for message in messages if message.is_request]
        self._note_ids(exchange, asked)
        if response is not None:
            if (session := header(response.headers, SESSION_HEADER)) is not None:
                self._session = ((SESSION_HEADER, session),)
            lines = list(_lines(response))
            if asked and not lines and response.status >= 400:
                lines = [_failure(each, f"the recorded server answered {response.status}") for each in asked]
            self._send(lines)
        if exchange.outcome not in (Outcome.COMPLETE, *_GIVEN_UP):
            raise ServerEnded

    def _note_ids(self, exchange: Exchange, asked: Sequence[Message]) -> None:
        """Remember how the recording calls what the client asks."""
        recorded = _messages(Line(exchange.request.body.data))
        then = [message.id for message in recorded if message.is_request]
        for message, known in zip(asked, then, strict=False):
            if message.id is not None and known is not None:
                self._ids[message.id] = known

    def _send(self, lines: Sequence[bytes]) -> None:
        for number, line in enumerate(lines):
            self._write(line)
            own = _own_request(line)
            if own is not None and own in self._answered:
                self._withheld[own] = list(lines[number + 1 :])
                return

    # -- what is said unasked

    def _after(self, exchange: Exchange, messages: Iterable[Message]) -> None:
        """Say what stood behind this in the listening stream, once the client is ready."""
        self._played.add(exchange.id)
        ready = any(message.method == _READY for message in messages)
        if self._listening is not None and (ready or not self._has_ready):
            self._listen(self._listening)
            self._listening = None
        if self._listening is None:
            while self._unasked and self._unasked[0].after in self._played:
                self._send([self._unasked.popleft().line])

    def _listen(self, stream: Exchange) -> None:
        headers = (*self._session, *stream.request.headers)
        played = self._player.play(Request("GET", stream.request.target, headers), self._channel)
        if isinstance(played, Played) and played.response is not None:
            self._unasked.extend(_unasked(played.exchange, played.response, self._posts))


def recorded(cassette: Cassette, channel: Channel) -> tuple[Exchange, ...]:
    """What a cassette has of one channel; raises `UsageError` where that is nothing."""
    own = tuple(each for each in cassette.exchanges if each.channel == channel)
    if not own:
        known = ", ".join(sorted({str(each.channel) for each in cassette.exchanges})) or "nothing"
        raise UsageError(f"the cassette has nothing of {channel}: what was recorded is of {known}")
    return own


def serve(server: ReplayedServer, source: int = 0) -> bool:
    """Answer a client's lines until it ends; False where the recorded server ended before that."""
    lines = Lines()
    try:
        while data := os.read(source, _PIECE):
            for line in lines.feed(data):
                server.take(line)
        for line in lines.end():
            server.take(line)
    except ServerEnded:
        return False
    return True


def _answers(posts: Iterable[Exchange]) -> Iterator[str]:
    """The ids of what the recorded client answered."""
    for post in posts:
        for message in _messages(Line(post.request.body.data)):
            if message.is_answer and message.id is not None:
                yield message.id


def _messages(line: Line) -> tuple[Message, ...]:
    """What a line says; nothing where it is no message, though a server may have had an answer to it."""
    try:
        return read(line)
    except ValueError:
        return ()


def _own_request(line: bytes) -> str | None:
    """The id of what the server asks of its client in a line."""
    return next((message.id for message in _messages(Line(line)) if message.is_request), None)


def _lines(response: Response) -> Iterator[bytes]:
    """The messages of an answer, each on a line of its own: no line end in JSON is more than white space."""
    data = response.body.data
    if "text/event-stream" in (header(response.headers, "content-type") or ""):
        from abs_replay.decoders.sse import events  # which loads every decoder: many servers never stream

        for event in events(data.decode("utf-8", "surrogateescape")):
            yield _one_line(event.data.encode("utf-8", "surrogateescape"))
    elif data.strip():
        yield _one_line(data)


def _one_line(data: bytes) -> bytes:
    return b" ".join(data.splitlines())


def _unasked(stream: Exchange, response: Response, posts: Iterable[Exchange]) -> Iterator[_Unasked]:
    """The lines of a listening stream with their places among its session's POSTs, by the times of both."""
    from abs_replay.decoders.sse import ends

    chunks, session = response.body.chunks, header(stream.request.headers, SESSION_HEADER)
    own = [post for post in posts if header(post.request.headers, SESSION_HEADER) == session]
    for line, end in zip(_lines(response), ends(response.body.data), strict=False):
        at = next((chunk.at_ms for chunk in chunks if chunk.end >= end), 0.0)
        when = stream.started_at + at / 1000
        before = [post for post in own if post.started_at <= when]
        last = max(before, key=lambda each: each.started_at, default=None)
        yield _Unasked(line, None if last is None else last.id)


def _cancelling(data: bytes, recorded: str) -> bytes:
    """The same notification of what is recorded under another id."""
    document = json_body(data)
    if not isinstance(document, dict) or not isinstance(document.get("params"), dict):
        return data
    params = {**document["params"], "requestId": exact_json.loads(recorded)}
    return exact_json.dumps({**document, "params": params}).encode()


def _failure(asked: Message, why: str) -> bytes:
    error: Json = {"code": _FAILED, "message": f"abs replay: {why}"}
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (
        (asked.id or "null").encode(),
        exact_json.dumps(error).encode(),
    )
