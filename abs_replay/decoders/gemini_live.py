"""Gemini's Live API over a WebSocket: one connection is one conversation of many turns.

https://ai.google.dev/api/live, of Google AI and Vertex AI. A user's words are sent, or made out of sound
(`inputTranscription`), which may come while the model speaks already; the model's are text, or made out
of its sound. A turn ends with `turnComplete`, or with calls that the client is to carry out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import media
from abs_replay.decoders.content import response_content
from abs_replay.decoders.events import Decoded, Message, Round, Said, Turn
from abs_replay.decoders.failures import UNFINISHED, failure
from abs_replay.decoders.fields import items, obj, text
from abs_replay.decoders.gemini_history import history
from abs_replay.decoders.gemini_parts import Reader, pick
from abs_replay.decoders.places import place
from abs_replay.decoders.runs import message
from abs_replay.decoders.socket_messages import (
    MESSAGES,
    Event,
    around,
    closing,
    events,
    moved,
    opens,
    unread,
    words_of,
)
from abs_replay.decoders.usage import usage
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, Role

_PATH: Final = re.compile(r"[./]BidiGenerateContent(Constrained)?$", re.IGNORECASE)
_ASKED: Final = ("promptTokenCount", "toolUsePromptTokenCount")
# Vertex counts what came out as `candidatesTokenCount`, as generateContent does.
_MADE: Final = ("responseTokenCount", "candidatesTokenCount", "thoughtsTokenCount")


def claims(exchange: Exchange) -> bool:
    """Claim WebSockets to the path, and agents that are asked with a `setup` elsewhere."""
    if exchange.channel.role is Role.TOOL:
        return False
    known = _PATH.search(exchange.request.path) is not None
    if exchange.websocket is None or known:
        return known and (exchange.websocket is not None or opens(exchange))
    first = next(events(exchange), None)
    return first is not None and first.from_client and "model" in obj(first.fields.get("setup"))


def decode(exchange: Exchange) -> Decoded:
    """Give the rounds of the conversation, or why there was none."""
    failed, closed = failure(exchange, response_content(exchange)), closing(exchange)
    if exchange.websocket is None:
        return Decoded("gemini_live", Turn((), error=failed or "no WebSocket was opened"))
    reading, told = _Reading(), list(events(exchange))
    for event in told:
        reading.event(event)
    complete = reading.answer is None
    rounds = tuple(reading.finished(closed, exchange.ended_ms or 0.0))
    remarks = tuple(dict.fromkeys([*reading.remarks, *unread(exchange, len(told))]))
    return Decoded("gemini_live", complete=complete, session=reading.session, remarks=remarks, rounds=rounds)


@dataclass(slots=True, eq=False)
class _Heard:
    """What was made out of a user's sound, piece by piece."""

    first: Event
    last: int
    pieces: list[str] = field(default_factory=list)

    def message(self) -> Message:
        at = place(MESSAGES, self.first.number, self.last)
        return Message("user", "".join(self.pieces).strip(), at=at)


type _Asked = Message | _Heard


@dataclass(slots=True, eq=False)
class _Answer:
    """A turn of the model's as it comes."""

    history: list[_Asked]
    asked_ms: float
    first: int
    ended_ms: float = 0.0
    last: int = 0
    reader: Reader = field(default_factory=Reader)
    sound: bytearray = field(default_factory=bytearray)
    kind: Json = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    error: str | None = None

    def part(self, value: Any, number: int) -> None:
        """Read one part; pieces of sound are told once, and only where nobody made out their words."""
        data = obj(pick(obj(value), "inlineData", "inline_data"))
        kind = text(pick(data, "mimeType", "mime_type")) or ""
        if kind.startswith("audio/") and isinstance(data.get("data"), str):
            self.sound += media.plain(data["data"])
            self.kind = kind
        else:
            self.reader.part(value, MESSAGES, number)

    def round(self, model: str | None) -> Round:
        at = place(MESSAGES, self.first, self.last)
        parts = self.reader.parts()
        if self.sound and not parts:
            parts = [Said({"inlineData": {"mimeType": self.kind, **media.name(bytes(self.sound))}}, at)]
        error = self.error or ("interrupted" if self.interrupted else None)
        reply = message("assistant", parts, at) if parts else None
        told = tuple(one.message() if isinstance(one, _Heard) else one for one in self.history)
        turn = Turn(told, reply, model, usage(self.counts, _ASKED, _MADE), error)
        return around(turn, self.asked_ms, self.ended_ms)


@dataclass(slots=True)
class _Reading:
    """Reads one connection, message by message."""

    session: str | None = None
    model: str | None = None
    remarks: list[str] = field(default_factory=list)
    answer: _Answer | None = None
    _answers: list[_Answer] = field(default_factory=list)
    _waiting: list[_Asked] = field(default_factory=list)
    _asked_ms: float | None = None
    _spoke: Event | None = None  # sound of the user's, of which no words are known

    def event(self, event: Event) -> None:
        """Read the next message."""
        fields = event.fields
        if event.from_client:
            self._of_client(event, fields)
            return
        self.session = self.session or text(obj(fields.get("setupComplete")).get("sessionId"))
        self._content(event, obj(pick(fields, "serverContent", "server_content")))
        self._calls(event, items(obj(pick(fields, "toolCall", "tool_call")).get("functionCalls")))
        counts = obj(pick(fields, "usageMetadata", "usage_metadata"))
        if counts and (self.answer or self._answers):
            (self.answer or self._answers[-1]).counts = counts
        for name in items(obj(fields.get("toolCallCancellation")).get("ids")):
            self.remarks.append(f"the call {name} was cancelled")
        if "error" in fields:
            self._failed(event, words_of(fields["error"]) or "an error without words")

    # -- what a client says ---------------------------------------------------

    def _of_client(self, event: Event, fields: Mapping[str, Any]) -> None:
        setup, content = obj(fields.get("setup")), obj(pick(fields, "clientContent", "client_content"))
        given = obj(pick(fields, "realtimeInput", "realtime_input"))
        answered = obj(pick(fields, "toolResponse", "tool_response"))
        if setup:
            self.model = (text(setup.get("model")) or "").rpartition("/")[2] or self.model
            self._ask(event, {"systemInstruction": pick(setup, "systemInstruction", "system_instruction")})
        turns = content.get("turns")
        self._ask(event, {"contents": turns if isinstance(turns, list) else [turns] if turns else []})
        results = items(pick(answered, "functionResponses", "function_responses"))
        self._ask(event, {"contents": [{"parts": [{"functionResponse": one} for one in results]}]})
        if text(given.get("text")):
            self._ask(event, {"contents": [{"parts": [{"text": given["text"]}]}]})
        elif given.keys() & {"audio", "mediaChunks", "media_chunks"}:
            self._spoke = self._spoke or event

    def _ask(self, event: Event, body: Mapping[str, Any]) -> None:
        at = place(MESSAGES, event.number)
        found = [moved(one, at) for one in history(body)]
        self._waiting += found
        if found:
            self._asked_ms = event.at_ms

    # -- what the model says --------------------------------------------------

    def _content(self, event: Event, content: Mapping[str, Any]) -> None:
        self._heard(event, text(obj(content.get("inputTranscription")).get("text")))
        for part in items(obj(content.get("modelTurn")).get("parts")):
            self._begun(event).part(part, event.number)
        words = text(obj(content.get("outputTranscription")).get("text"))
        if words:
            self._begun(event).reader.runs.said(words, MESSAGES, event.number)
        if content.get("interrupted") is True and self.answer:
            self.answer.interrupted = True
        if content.get("groundingMetadata"):
            self.remarks.append("groundingMetadata is not traced")
        reason = text(content.get("turnCompleteReason"))
        if reason:
            self.remarks.append(f"turnCompleteReason {reason}")
        if content.get("turnComplete") is True:
            self._close()

    def _heard(self, event: Event, words: str | None) -> None:
        """Keep a piece of the user's words: of those that are answered, unless they interrupted that."""
        if words is None:
            return
        late = self.answer is not None and not self.answer.interrupted
        asked = self.answer.history if self.answer and late else self._waiting
        known = next((one for one in reversed(asked) if isinstance(one, _Heard)), None)
        if known is None:
            known = _Heard(event, event.number)
            asked.append(known)
        known.pieces.append(words)
        known.last = event.number
        if not late:
            self._asked_ms = event.at_ms
        self._spoke = None

    def _calls(self, event: Event, calls: list[Any]) -> None:
        for call in calls:
            self._begun(event).reader.part({"functionCall": call}, MESSAGES, event.number)
        if calls:
            self._close()

    def _begun(self, event: Event) -> _Answer:
        """Give the answer that this belongs to, which may begin with it."""
        if self.answer is None:
            asked_ms = event.at_ms if self._asked_ms is None else self._asked_ms
            if self._spoke and not self._waiting:
                at = place(MESSAGES, self._spoke.number)
                self._waiting.append(Message("user", {"realtimeInput": "audio"}, at=at))
            self.answer = _Answer(self._waiting, asked_ms, event.number)
            self._waiting, self._asked_ms, self._spoke = [], None, None
        self.answer.last, self.answer.ended_ms = event.number, event.at_ms
        return self.answer

    def _close(self) -> None:
        if self.answer:
            self._answers.append(self.answer)
        self.answer = None

    # -- how it ends ----------------------------------------------------------

    def _failed(self, event: Event, words: str) -> None:
        self._begun(event).error = words
        self._close()

    def finished(self, closed: str | None, ended_ms: float) -> Iterator[Round]:
        """Give all rounds, and at last what was never answered; `closed` says what was wrong with the end."""
        if self.answer:
            self.answer.error = closed or ("interrupted" if self.answer.interrupted else UNFINISHED)
            self._close()
        elif self._waiting or (closed and not self._answers):
            asked_ms = ended_ms if self._asked_ms is None else self._asked_ms
            self._answers.append(_Answer(self._waiting, asked_ms, 0, ended_ms, error=closed))
        for answer in self._answers:
            yield answer.round(self.model)
