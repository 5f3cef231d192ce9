"""Gemini's generateContent, of Google AI and Vertex AI, plain and streamed.

https://ai.google.dev/api/generate-content. The model's name stands in the path. A stream is one of
events (`alt=sse`), without a last one of its own: the finish reason ends it; or one array. Candidate 0
is traced: others are alternatives, of which a conversation continues at most one.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote

from abs_replay.decoders import json_streams, sse
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, Message, Served, Thought, Turn
from abs_replay.decoders.failures import UNFINISHED, failure, no_json
from abs_replay.decoders.fields import count, error_text, items, obj, parse_or_none, text
from abs_replay.decoders.gemini_grounding import grounded, grounding
from abs_replay.decoders.gemini_history import contents, history
from abs_replay.decoders.gemini_parts import Reader
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.runs import message
from abs_replay.decoders.shapes import is_stream, start
from abs_replay.decoders.usage import usage
from abs_replay.exchange import Exchange, Role

_PATH: Final = re.compile(r"(?:.*/)?([^/:]*):(stream)?generateContent$", re.IGNORECASE)
# An error in the middle of a stream comes as bare JSON, without `data:`.
_BARE: Final = re.compile(r"^[{]", re.MULTILINE)
# Numbers where the client asked for `enum-encoding=int`; both APIs agree on these alone.
_REASONS: Final = {1: "STOP", 2: "MAX_TOKENS", 3: "SAFETY", 4: "RECITATION", 5: "OTHER"}
_WHOLE: Final = (None, "STOP", "FINISH_REASON_UNSPECIFIED", "0")


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `contents` to the path, and agents that answer in candidates elsewhere."""
    request = exchange.request
    if request.method != "POST" or exchange.channel.role is Role.TOOL:
        return False
    named = _PATH.match(unquote(request.path))
    if named is None and exchange.channel.role is not Role.AGENT:
        return False
    if not contents(_inner(parse_or_none(request_content(exchange).data), "request")):
        return False
    return named is not None or '"candidates"' in start(response_content(exchange))


def _inner(body: Any, key: str) -> Mapping[str, Any]:
    """Give a body, without the envelope that Code Assist puts around it."""
    fields = obj(body)
    inner = obj(fields.get(key))
    return inner if inner and not fields.keys() & {"contents", "candidates"} else fields


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request, content = request_content(exchange), response_content(exchange)
    outer = obj(parse_or_none(request.data))
    told = history(_inner(outer, "request"))
    remarks = request.remarks + content.remarks
    named = _PATH.match(unquote(exchange.request.path))
    asked = (named.group(1) if named else None) or text(outer.get("model"))
    failed = failure(exchange, content)
    if failed or exchange.response is None:
        return Decoded("gemini", Turn(told, model=asked, error=failed), remarks=remarks)
    streamed, values = _values(exchange, content)
    fold = _fold(values, streamed)
    complete, reply = fold.ended if streamed else None, fold.reply()
    error = fold.error or _missing(fold, reply, content, complete)
    turn = Turn(told, reply, fold.model or asked, usage(fold.counts, _ASKED, _MADE), error, fold.response_id)
    remarks += tuple(dict.fromkeys(fold.remarks + fold.reader.remarks)) + fold.ending()
    return Decoded("gemini", turn, complete=complete, remarks=remarks)


def _values(exchange: Exchange, content: Content) -> tuple[bool, list[Any]]:
    """Give the values of an answer, and whether they are a stream's."""
    body = content.text
    if is_stream(exchange, content):
        values = [_event(event) for event in sse.events(body)]
        bare = _BARE.search(body)
        return True, values + (json_streams.values(body[bare.start() :]) if bare else [])
    values = json_streams.values(body)
    return body.lstrip()[:1] == "[" or len(values) > 1, values


def _event(event: sse.Event) -> Any:
    return {} if event.data.strip() in ("", "[DONE]") else parse_or_none(event.data)


@dataclass(slots=True)
class _Fold:
    """What the values so far came to."""

    reader: Reader = field(default_factory=Reader)
    searched: list[Served] = field(default_factory=list)
    place: str = ""
    span: tuple[int, int] | None = None
    finish: str | None = None
    why: str | None = None
    model: str | None = None
    counts: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    blocked: str | None = None
    response_id: str | None = None
    remarks: list[str] = field(default_factory=list)

    def value(self, value: Any, at: str | None, index: int) -> None:
        """Take in a whole answer (`at` None), or one of a stream's."""
        body = _inner(value, "response")
        if obj(body).get("error") is not None:
            self.error = error_text(body)
        elif not body and value != {}:
            self.remarks.append("an event is no JSON")
        self.model = text(body.get("modelVersion")) or self.model
        self.response_id = text(body.get("responseId")) or self.response_id
        self.counts = _counts(body.get("usageMetadata")) or self.counts
        if "promptFeedback" in body:
            self.blocked = _blocked(obj(body["promptFeedback"])) or self.blocked
        candidates = [obj(one) for one in items(body.get("candidates"))]
        position = next((i for i, one in enumerate(candidates) if not count(one.get("index"))), None)
        if position is not None:
            self._candidate(candidates[position], position, at, index)

    def _candidate(self, candidate: Mapping[str, Any], position: int, at: str | None, index: int) -> None:
        whole = f"response.candidates[{position}]"
        parts = obj(candidate.get("content")).get("parts")
        for number, part in enumerate(items(parts) or ([parts] if isinstance(parts, dict) else [])):
            self.reader.part(part, at or f"{whole}.content.parts", index if at else number)
        self.span = (self.span[0] if self.span else index, index)
        self.place = place(at, *self.span) if at else f"{whole}.content"
        self.finish = _reason(candidate.get("finishReason")) or self.finish
        self.why = text(candidate.get("finishMessage")) or self.why
        if "groundingMetadata" in candidate or "urlContextMetadata" in candidate:
            where = place(at, index) if at else whole
            self.searched = grounding(candidate, where, at is not None) or self.searched

    @property
    def ended(self) -> bool:
        return self.finish is not None or self.blocked is not None

    def reply(self) -> Message | None:
        """Give the candidate's message; None where there was no candidate."""
        if self.span is None:
            return None
        return message("assistant", grounded(self.reader.parts(), self.searched), self.place)

    def ending(self) -> tuple[str, ...]:
        return () if self.finish in _WHOLE else (f"finish_reason {self.finish}",)


def _fold(values: Iterable[Any], streamed: bool) -> _Fold:
    fold = _Fold()
    for index, value in enumerate(values):
        fold.value(value, EVENTS if streamed else None, index)
    return fold


def _missing(fold: _Fold, reply: Message | None, content: Content, complete: bool | None) -> str | None:
    """Say why there is no answer, or not the whole of it."""
    if fold.blocked:
        return f"the prompt was blocked ({fold.blocked})"
    if complete is False and (reply or content.data):
        return UNFINISHED
    if reply is None:
        return (None if complete else no_json(content)) or "the answer has no candidates"
    if fold.finish not in _WHOLE and not _says(reply):
        return ": ".join(filter(None, [f"no content (finish_reason {fold.finish})", fold.why]))
    return None


def _says(reply: Message) -> bool:
    return (
        bool(reply.calls)
        or any(not isinstance(part, Thought) for part in reply.parts)
        or reply.content is not None
    )


def _reason(value: Any) -> str | None:
    """Read a finish reason, which may be a number."""
    if isinstance(value, int) and not isinstance(value, bool):
        return _REASONS.get(value, str(value))
    return text(value)


def _blocked(feedback: Mapping[str, Any]) -> str | None:
    reason = feedback.get("blockReason")
    if not reason or reason == "BLOCK_REASON_UNSPECIFIED":
        return None
    words = text(feedback.get("blockReasonMessage"))
    return f"{reason}: {words}" if words else str(reason)


# They add up to the vendor's total: thoughts are paid as output, results of Google's own tools as input.
_ASKED: Final = ("promptTokenCount", "toolUsePromptTokenCount")
_MADE: Final = ("candidatesTokenCount", "thoughtsTokenCount")


def _counts(value: Any) -> Mapping[str, Any]:
    """Give counts that say something; a stream's last ones hold."""
    fields = obj(value)
    return fields if any(count(fields.get(key)) for key in _ASKED + _MADE) else {}
