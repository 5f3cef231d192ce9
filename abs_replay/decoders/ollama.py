"""Ollama's own API: `/api/chat` and `/api/generate`, plain and as lines of JSON, which is the default.

https://docs.ollama.com/api/chat, .../api/generate, .../api/streaming. Arguments are objects; a result
names its tool, or nothing at all.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import json_streams, media
from abs_replay.decoders.answered import attributed
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Call, Decoded, Message, Part, Said, Turn
from abs_replay.decoders.failures import UNFINISHED, failure, no_json
from abs_replay.decoders.fields import error_text, items, obj, parse_or_none, structure, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.runs import Runs, message
from abs_replay.decoders.shapes import declared, in_choices, start
from abs_replay.decoders.usage import usage
from abs_replay.exchange import Exchange, Role
from abs_replay.trace import Usage

_CHAT: Final = "/api/chat"
_GENERATE: Final = "/api/generate"
_WHOLE: Final = (None, "stop")
# A prompt that the server had in its cache has no count.
_TOKENS: Final = (("prompt_eval_count",), ("eval_count",))


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `messages` or a `prompt` to the paths, and agents that answer so elsewhere."""
    request, role = exchange.request, exchange.channel.role
    if request.method != "POST" or role is Role.TOOL:
        return False
    named = request.path.endswith((_CHAT, _GENERATE))
    if not named and role is not Role.AGENT:
        return False
    body = obj(parse_or_none(request_content(exchange).data))
    if not (items(body.get("messages")) or text(body.get("prompt"))):
        return False
    # Agents of all kinds are reached at /api/chat.
    if role is Role.AGENT:
        return _is_answer(response_content(exchange))
    return isinstance(body.get("model"), str) and not in_choices(exchange, response_content(exchange))


def _is_answer(content: Content) -> bool:
    first = obj(next(iter(json_streams.values(start(content).partition("\n")[0])), None))
    first = first or obj(parse_or_none(content.data))
    return isinstance(first.get("done"), bool) and ("message" in first or "response" in first)


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request, content = request_content(exchange), response_content(exchange)
    body = obj(parse_or_none(request.data))
    history, model = attributed(_history(body)), text(body.get("model"))
    parent, remarks = _context(body), request.remarks + content.remarks
    failed = failure(exchange, content)
    if failed or exchange.response is None:
        return Decoded("ollama", Turn(history, model=model, error=failed, parent_id=parent), remarks=remarks)
    values = json_streams.values(content.text)
    plain = body.get("stream") is False or declared(exchange).startswith("application/json")
    streamed = len(values) > 1 or not plain
    fold = _fold(values, streamed)
    complete = fold.done if streamed else None
    error = fold.error or _missing(fold, content, complete)
    model = fold.model or model
    turn = Turn(history, fold.reply(), model, fold.usage, error, fold.context, parent)
    remarks += tuple(dict.fromkeys(fold.remarks)) + fold.ending()
    return Decoded("ollama", turn, complete=complete, remarks=remarks)


def _context(body: Mapping[str, Any]) -> str | None:
    """Name an answer by its tokens, which `/api/generate` takes back to go on from there."""
    context = items(body.get("context"))
    if not context:
        return None
    return f"context-{hashlib.sha256(exact_json.dumps(context).encode()).hexdigest()[:16]}"


def _history(body: Mapping[str, Any]) -> Iterator[Message]:
    if "messages" in body:
        for index, value in enumerate(items(body["messages"])):
            if text(obj(value).get("role")):
                yield _message(value, f"request.messages[{index}]")
        return
    if system := text(body.get("system")):
        yield message("system", [Said(system)], "request.system")
    asked = Said(body.get("prompt"), "request.prompt")
    yield message("user", [asked, *_pictures(body, "request")], "request.prompt")


def _message(value: Mapping[str, Any], at: str) -> Message:
    role = value["role"]
    if role == "tool":
        said = value.get("content")
        name = text(value.get("tool_name")) or text(value.get("name"))
        content = structure(said) if isinstance(said, str) else said
        return Message("tool", content, (), text(value.get("tool_call_id")), name, at)
    runs = Runs()
    _read(runs, value, at, None)
    return message({"developer": "system"}.get(role, role), runs.parts(), at)


def _read(runs: Runs, value: Mapping[str, Any], base: str, index: int | None) -> None:
    """Read a message's thoughts, words, pictures and calls, or a piece of them, at its place in a stream."""
    thought, words = value.get("thinking"), value.get("content")
    if isinstance(thought, str) and thought:
        runs.thought(thought, base, index)
    if isinstance(words, str) and words:
        runs.said(words, base, index)
    elif words and not isinstance(words, str):
        runs.add(Said(words, place(base, index)))
    for part in (*_pictures(value, base, index), *_calls(value, base, index)):
        runs.add(part)


def _pictures(value: Mapping[str, Any], base: str, index: int | None = None) -> Iterator[Part]:
    for number, data in enumerate(items(value.get("images"))):
        at = f"{base}.images[{number}]" if index is None else place(base, index)
        if isinstance(data, str):
            yield Said({"image": media.named(data)}, at)


def _calls(value: Mapping[str, Any], base: str, index: int | None) -> Iterator[Call]:
    for number, call in enumerate(items(value.get("tool_calls"))):
        fields = obj(obj(call).get("function"))
        name = text(fields.get("name"))
        at = place(base, index) if index is not None else f"{base}.tool_calls[{number}]"
        if name:
            yield Call(name, arguments(fields.get("arguments")), text(obj(call).get("id")), at)


@dataclass(slots=True)
class _Fold:
    """What the values so far came to."""

    runs: Runs = field(default_factory=Runs)
    place: str = ""
    first: int | None = None
    finish: str | None = None
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    context: str | None = None
    done: bool = False
    remarks: list[str] = field(default_factory=list)

    def value(self, body: Mapping[str, Any], number: int | None) -> None:
        """Take in a whole answer (`number` None), or one line of a stream."""
        if body.get("error") is not None:
            self.error = error_text(body)
        if not body:
            self.remarks.append("an event is no JSON")
        self.model = text(body.get("model")) or self.model
        self.done = self.done or body.get("done") is True
        self.finish = text(body.get("done_reason")) or self.finish
        self.usage = usage(body, *_TOKENS) or self.usage
        self.context = _context(body) or self.context
        key = "message" if "message" in body else "response"
        if key in body:
            self._piece(body, key, number)

    def _piece(self, body: Mapping[str, Any], key: str, number: int | None) -> None:
        piece = obj(body[key]) if key == "message" else {**body, "content": body[key]}
        base = f"response.{key}" if number is None else EVENTS
        _read(self.runs, piece, base, number)
        if self.first is None:
            self.first = number
        self.place = place(base, self.first, number)

    def reply(self) -> Message | None:
        return message("assistant", self.runs.parts(), self.place) if self.place else None

    def ending(self) -> tuple[str, ...]:
        return () if self.finish in _WHOLE else (f"done_reason {self.finish}",)


def _fold(values: Iterable[Any], streamed: bool) -> _Fold:
    fold = _Fold()
    for number, value in enumerate(values):
        fold.value(obj(value), number if streamed else None)
    return fold


def _missing(fold: _Fold, content: Content, complete: bool | None) -> str | None:
    """Say why there is no answer, or not the whole of it."""
    if fold.place:
        return UNFINISHED if complete is False else None
    return no_json(content) or "the answer has no message"
