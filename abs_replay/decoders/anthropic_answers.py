"""Answers of Anthropic's Messages API: a whole message, or the events that build one.

https://platform.claude.com/docs/en/build-with-claude/streaming. Usage is counted as that page says, the
last figure of each counter; what went in are the three counters of input together, of which
`input_tokens` alone leaves out what the cache knew (.../prompt-caching, tracking performance).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders.anthropic_messages import History
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.content_blocks import Block, blocks
from abs_replay.decoders.events import Message, Turn
from abs_replay.decoders.failures import UNFINISHED
from abs_replay.decoders.fields import error_text, items, obj, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.usage import usage
from abs_replay.trace import Usage

_GOOD_ENDS: Final = ("end_turn", "tool_use", "stop_sequence")
_ASKED: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_MADE: Final = ("output_tokens",)
_PIECES: Final = {  # by the delta's type: the field that holds a piece, and the kind of its block
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", None),
    "compaction_delta": ("content", "compaction"),
    "tool_result_delta": ("content", None),  # Bedrock's; Anthropic's results come whole
}
_NO_PIECE: Final = (None, None)
_UNTOLD: Final = ("signature_delta", "citations_delta")


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back. `complete` is None for what was no stream."""

    reply: Message | None = None
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    response_id: str | None = None
    complete: bool | None = None
    remarks: tuple[str, ...] = ()

    def turn(self, history: History, model: str | None) -> Turn:
        """Make the turn; `model` is the request's, for where the answer names none."""
        return Turn(
            history.messages,
            self.reply,
            self.model or model,
            self.usage,
            self.error,
            self.response_id,
            compacted=history.compacted,
            begun=history.prefill or None,
        )


def whole(body: Any, history: History, at: str = "response") -> Answer:
    """Read a message that came at once; `at` is its place in the body."""
    fields = obj(body)
    content = fields.get("content")
    if not isinstance(content, list | str):
        return Answer(error=error_text(body) or "the answer has no content")
    found = blocks(content)
    return Answer(
        history.reply(found, f"{at}.content", at),
        _model(text(fields.get("model")), found),
        usage(obj(fields.get("usage")), _ASKED, _MADE),
        response_id=text(fields.get("id")),
        remarks=_ending(fields) + _aside(found),
    )


def _model(model: str | None, found: list[Block]) -> str | None:
    """Name the model that wrote the words: after a fallback it is another one than was begun with."""
    to = [text(obj(block.value.get("to")).get("model")) for block in found if _is(block, "fallback")]
    return next((name for name in reversed(to) if name), model)


def _is(block: Block, kind: str) -> bool:
    return block.value.get("type") == kind


def _ending(fields: Mapping[str, Any]) -> tuple[str, ...]:
    """Tell an end that cut the answer, or that waits for the client, in the vendor's word."""
    key = "stopReason" if "stopReason" in fields else "stop_reason"  # Bedrock's word, and Anthropic's
    reason = text(fields.get(key))
    if reason is None or reason in _GOOD_ENDS:
        return ()
    why = text(obj(fields.get("stop_details")).get("explanation"))
    return (f"{key} {reason}: {why}" if why else f"{key} {reason}",)


def _aside(found: list[Block]) -> tuple[str, ...]:
    """Tell what blocks say of the answer itself."""
    remarks = [_fallback(block.value) for block in found if _is(block, "fallback")]
    if any(_is(block, "compaction") for block in found):
        remarks.append("the history was compacted")
    return tuple(remarks)


def _fallback(value: Mapping[str, Any]) -> str:
    names = [text(obj(value.get(key)).get("model")) or "another model" for key in ("from", "to")]
    return "fallback from {} to {}".format(*names)


@dataclass(slots=True)
class _Growing:
    """A block as its deltas build it."""

    value: Mapping[str, Any]
    first: int
    last: int
    pieces: list[str] = field(default_factory=list)
    results: list[tuple[Any, list[str]]] = field(default_factory=list)  # each with its texts

    def add(self, piece: Any) -> None:
        """Add a piece of text, or of what a tool answered: blocks, of which texts go on in texts."""
        if isinstance(piece, str):
            self.pieces.append(piece)
            return
        for block in items(piece):
            words = obj(block).get("text")
            if not isinstance(words, str):
                self.results.append((block, []))
            elif self.results and self.results[-1][1]:
                self.results[-1][1].append(words)
            else:
                self.results.append((block, [words]))

    def block(self) -> Block:
        return Block({**self.value, **self._built("".join(self.pieces))}, self.first, self.last)

    def _built(self, pieces: str) -> dict[str, Any]:
        match self.value.get("type"):
            case "text" | "thinking" | "compaction" as kind:
                key = "content" if kind == "compaction" else kind
                return {key: (text(self.value.get(key)) or "") + pieces}
            case _ if self.results:
                return {"content": [_joined(block, said) for block, said in self.results]}
            case _:
                # The start shows `{}`, or, of a call that code made, the whole input.
                return {"input": arguments(pieces)} if pieces.strip() else {}


def _joined(block: Any, said: list[str]) -> Any:
    return {**block, "text": "".join(said)} if said else block


@dataclass(slots=True)
class Fold:
    """What the events so far came to."""

    grown: list[_Growing] = field(default_factory=list)
    open: dict[Any, _Growing] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)
    counters: dict[str, Any] = field(default_factory=dict)
    error: str | None = None
    began: tuple[int, int] | None = None
    done: bool = False
    remarks: list[str] = field(default_factory=list)

    def event(self, number: int, body: Any) -> None:
        """Take in one event's JSON; `number` is its place in the stream."""
        fields = obj(body)
        match fields.get("type"):
            case "content_block_delta":
                self._delta(number, fields.get("index"), obj(fields.get("delta")))
            case "message_start":
                self._start(number, obj(fields.get("message")))
            case "content_block_start":
                self._open(number, fields.get("index"), obj(fields.get("content_block")))
            case "content_block_stop":
                self._close(number, fields.get("index"))
            case "message_delta":
                self.message |= obj(fields.get("delta"))
                self._count(fields)
            case "message_stop":
                self.done = True
            case "ping":
                pass
            case "error":
                self.error = error_text(body) or "the stream broke off with an error"
            case None:
                self._note("an event is no JSON, or bears no type")
            case kind:
                self._note(f"an event of type {kind} is left out")

    def _start(self, number: int, message: Mapping[str, Any]) -> None:
        """Begin a message; gateways that try again within one stream begin it anew."""
        if self.grown:
            self._note("the stream begins its message again; what came before is left out")
        self.grown, self.open, self.done = [], {}, False
        self.message, self.began = dict(message), (number, number)
        self._count(message)
        # A message that code resumes comes whole.
        self.grown += [_Growing(one.value, number, number) for one in blocks(message.get("content"))]

    def _open(self, number: int, index: Any, value: Mapping[str, Any]) -> _Growing:
        growing = _Growing(value, number, number)
        self.grown.append(growing)
        self.open[_key(index)] = growing
        return growing

    def _delta(self, number: int, index: Any, delta: Mapping[str, Any]) -> None:
        kind = delta.get("type")
        name, block_kind = _PIECES.get(kind, _NO_PIECE) if isinstance(kind, str) else _NO_PIECE
        growing = self.open.get(_key(index))
        if growing is None and block_kind:
            growing = self._open(number, index, {"type": block_kind})
        if growing:
            growing.last = number
            if block_kind and "type" not in growing.value:  # Bedrock's text may start as nothing at all
                growing.value = {"type": block_kind}
        if growing and name:
            growing.add(delta.get(name))
        elif kind not in _UNTOLD:
            self._note(f"a delta of type {kind} is left out")

    def _close(self, number: int, index: Any) -> None:
        growing = self.open.pop(_key(index), None)
        if growing:
            growing.last = number

    def _count(self, fields: Mapping[str, Any]) -> None:
        self.counters |= {key: value for key, value in obj(fields.get("usage")).items() if value is not None}

    def _note(self, remark: str) -> None:
        if remark not in self.remarks:
            self.remarks.append(remark)

    def answer(self, history: History, broken: str | None = None) -> Answer:
        """Give the answer, as far as it came; `broken` says what ended the stream, if not its last event."""
        found = [growing.block() for growing in self.grown]
        return Answer(
            self._reply(history, found),
            _model(text(self.message.get("model")), found),
            usage(self.counters, _ASKED, _MADE),
            self.error or (None if self.done else broken or UNFINISHED),
            text(self.message.get("id")),
            self.done,
            (*self.remarks, *_ending(self.message), *_aside(found)),
        )

    def _reply(self, history: History, found: list[Block]) -> Message | None:
        if not found and self.began is None:
            return None
        first, last = (found[0].first, max(one.last for one in found)) if found else self.began or (0, 0)
        return history.reply(found, EVENTS, place(EVENTS, first, last))


def _key(index: Any) -> int:
    return index if isinstance(index, int) else 0
