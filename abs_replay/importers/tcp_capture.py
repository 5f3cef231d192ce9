"""HTTP/1.1 as it went over TCP, a JSON object for every read: `{t, conn, dir: c2s|s2c, text|b64|eof}`.

The only foreign recordings with true chunk boundaries and times: each piece of a body is a chunk. `t` is
seconds, from any start; small ones are set so that the first response's Date holds.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from abs_replay.cassette.document import Wrong
from abs_replay.exact_json import Number
from abs_replay.exchange import Outcome
from abs_replay.importers.http1 import Message, Reader, Unreadable
from abs_replay.importers.imported import Imported
from abs_replay.importers.messages import base64_bytes, body_bytes, date_of, obj
from abs_replay.importers.source import Line, Source
from abs_replay.importers.tape import Tape, reading

COUNTED = "times count from the start of the capture: they are set so that the first Date header holds"
UNASKED = "an answer without a request is left out"
SWITCHED = "what follows a change of protocol is not kept"
_UNIX = 1e8  # seconds; smaller times count from a start of their own
_SIDES = ("c2s", "s2c")
_CLOSED = {"c2s": Outcome.CLIENT_CLOSED, "s2c": Outcome.UPSTREAM_CLOSED}


@dataclass(slots=True)
class _Connection:
    """What went both ways, and who hung up first, and when."""

    sent: Reader = field(default_factory=lambda: Reader(asks=True))
    answered: Reader = field(default_factory=lambda: Reader(asks=False))
    closed: tuple[float, str] | None = None

    def feed(self, side: str, at: float, data: bytes) -> None:
        if side == "c2s":
            self.sent.feed(at, data)
            return
        waiting = self.sent.messages[len(self.answered.answers()) :]
        self.answered.feed(at, data, bodiless=bool(waiting) and waiting[0].method == "HEAD")

    def close(self, side: str, at: float) -> None:
        self.closed = self.closed or (at, side)
        if side == "s2c":
            self.answered.close(at)


def recognises(source: Source) -> bool:
    """Whether every line has a time, a connection and a direction."""
    if '"conn"' not in (source.text or "")[:4096]:
        return False
    lines = source.json_lines
    return isinstance(lines, tuple) and all(_is_read(line.value) for line in lines)


def _is_read(value: Any) -> bool:
    return isinstance(value, dict) and {"t", "conn", "dir"} <= value.keys() and value["dir"] in _SIDES


def read(source: Source) -> Imported:
    """Read every exchange of every connection, as they started; raises `UsageError`."""
    with reading(source) as tape:
        connections: dict[str, _Connection] = {}
        for line in source.need_json_lines():
            _take(source, line, connections)
        pairs = sorted(_pairs(tape, connections), key=lambda pair: pair[0].start)
        shift = _shift(tape, pairs)
        for request, response, connection in pairs:
            _add(tape, request, response, connection, shift)
        return tape.imported()


def _take(source: Source, line: Line, connections: dict[str, _Connection]) -> None:
    try:
        fields = obj(line.value, "")
        at, side = _seconds(fields.get("t")), fields.get("dir")
        if side not in _SIDES:
            raise Wrong("dir", "expected c2s or s2c")
        connection = connections.setdefault(str(fields.get("conn")), _Connection())
        if fields.get("eof") is True:
            connection.close(side, at)
        else:
            connection.feed(side, at, _data(fields))
    except Unreadable as error:
        raise source.wrong(f"is no HTTP/1.1 ({error})", line.number) from None
    except Wrong as wrong:
        raise source.wrong(str(wrong), line.number) from None


def _seconds(value: Any) -> float:
    if isinstance(value, int | Number) and not isinstance(value, bool) and math.isfinite(float(value)):
        return float(value)
    raise Wrong("t", "expected seconds")


def _data(fields: Mapping[str, Any]) -> bytes:
    if "b64" in fields:
        return base64_bytes(fields["b64"], "b64")
    return body_bytes(fields.get("text"), "text")


type _Pair = tuple[Message, Message | None, _Connection]


def _pairs(tape: Tape, connections: Mapping[str, _Connection]) -> Iterator[_Pair]:
    """Give each request with its answer: on one connection they come in the same order (RFC 9112 §9.3)."""
    for connection in connections.values():
        asked = [message for message in connection.sent.messages if message.method]
        answers = connection.answered.answers()
        for request in asked:
            while answers and answers[0].start < request.start:  # the capture began between them
                answers.pop(0)
                tape.remark(UNASKED)
            yield request, answers.pop(0) if answers else None, connection
        for _ in answers:
            tape.remark(UNASKED)
        if connection.sent.switched or connection.answered.switched:
            tape.remark(SWITCHED)


def _shift(tape: Tape, pairs: list[_Pair]) -> float:
    """What makes Unix time of the capture's own."""
    if not pairs or pairs[0][0].start >= _UNIX:
        return 0.0
    tape.remark(COUNTED)
    dated = ((each, date_of(each.response())) for _, each, _ in pairs if each is not None)
    return next((date - each.start for each, date in dated if date is not None), 0.0)


def _add(
    tape: Tape, request: Message, response: Message | None, connection: _Connection, shift: float
) -> None:
    ended, outcome, error = _end(response, connection)
    answer = None if response is None else response.response(request.start)
    tape.add(
        replace(request.request(), host=request.header("host")),
        answer,
        started_at=round(request.start + shift, 6),
        ended_ms=None if ended is None else max(0.0, (ended - request.start) * 1000),
        outcome=outcome,
        error=error,
    )


def _end(response: Message | None, connection: _Connection) -> tuple[float | None, Outcome, str | None]:
    if response is not None and response.ended is not None:
        return response.ended, Outcome.COMPLETE, None
    if connection.closed is None:
        return None, Outcome.UPSTREAM_CLOSED, "the capture ended first"
    at, side = connection.closed
    return at, _CLOSED[side], None
