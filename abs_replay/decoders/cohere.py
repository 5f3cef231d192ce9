"""Cohere's chat, version 2, plain and streamed.

https://docs.cohere.com/reference/chat and .../reference/chat-stream. What the model plans before it
calls (`tool_plan`) is said; thoughts are parts of the content.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import chat_messages, sse
from abs_replay.decoders.answered import attributed
from abs_replay.decoders.cohere_ending import broken, cost, ending
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Call, Decoded, Message, Said, Turn
from abs_replay.decoders.failures import UNFINISHED, failure, no_json
from abs_replay.decoders.fields import count, error_text, items, obj, parse_or_none, structure, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.runs import Runs, message
from abs_replay.decoders.shapes import in_choices, is_stream, start
from abs_replay.exact_json import Json
from abs_replay.exchange import Exchange, Role
from abs_replay.trace import Usage

_SUFFIX: Final = "/v2/chat"
_ROLES: Final = {"developer": "system", "chatbot": "assistant"}


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `messages` to the path, and agents that answer in this shape elsewhere."""
    request, role = exchange.request, exchange.channel.role
    if request.method != "POST" or role is Role.TOOL:
        return False
    named = request.path.endswith(_SUFFIX)
    if not named and role is not Role.AGENT:
        return False
    if not isinstance(obj(parse_or_none(request_content(exchange).data)).get("messages"), list):
        return False
    content = response_content(exchange)
    other = role is not Role.LLM or in_choices(exchange, content)
    return _is_answer(exchange, content) or (named and not other)


def _is_answer(exchange: Exchange, content: Content) -> bool:
    if is_stream(exchange, content):
        return '"message-start"' in start(content)
    body = obj(parse_or_none(content.data))
    return isinstance(body.get("message"), dict) and "finish_reason" in body and "done" not in body


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request, content = request_content(exchange), response_content(exchange)
    body = obj(parse_or_none(request.data))
    history = attributed(_history(body.get("messages")))
    model, remarks = text(body.get("model")), request.remarks + content.remarks
    failed = failure(exchange, content)
    if failed or exchange.response is None:
        return Decoded("cohere", Turn(history, model=model, error=failed), remarks=remarks)
    if not is_stream(exchange, content):
        return _plain(history, model, content, remarks)
    fold = _fold(sse.events(content.text))
    error = fold.error or broken(fold.finish)
    if error is None and not fold.done:
        error = UNFINISHED
    turn = Turn(history, fold.reply(), model, fold.usage, error, fold.response_id)
    remarks += tuple(dict.fromkeys(fold.remarks)) + ending(fold.finish)
    return Decoded("cohere", turn, complete=fold.done, remarks=remarks)


def _plain(
    history: tuple[Message, ...], model: str | None, content: Content, remarks: tuple[str, ...]
) -> Decoded:
    body = obj(parse_or_none(content.data))
    given, finish = body.get("message"), text(body.get("finish_reason"))
    if not isinstance(given, dict):
        error = error_text(body) or no_json(content) or "the answer has no message"
        return Decoded("cohere", Turn(history, model=model, error=error), remarks=remarks)
    reply = _assistant(given, "response.message")
    turn = Turn(history, reply, model, cost(body.get("usage")), broken(finish), text(body.get("id")))
    return Decoded("cohere", turn, remarks=remarks + ending(finish))


def _history(values: Any) -> Iterable[Message]:
    for index, value in enumerate(items(values)):
        role = (text(obj(value).get("role")) or "").lower()
        if role:
            yield _message(value, _ROLES.get(role, role), f"request.messages[{index}]")


def _message(value: Mapping[str, Any], role: str, at: str) -> Message:
    if role == "assistant":
        return _assistant(value, at)
    if role == "tool":
        return Message("tool", _result(value.get("content")), (), text(value.get("tool_call_id")), None, at)
    said = chat_messages.content(value.get("content"))
    return message(role, [Said(said, at)] if said is not None else [], at)


def _assistant(value: Mapping[str, Any], at: str) -> Message:
    """Read an answer, or the echo of one: thoughts, the plan, words, calls."""
    runs, plan = Runs(), text(value.get("tool_plan"))
    content = value.get("content")
    for index, block in enumerate([content] if isinstance(content, str) else items(content)):
        fields = obj(block)
        thought, words = fields.get("thinking"), fields.get("text") if fields else block
        if isinstance(thought, str):
            runs.thought(thought, f"{at}.content", index)
            continue
        _planned(runs, plan, at)
        plan = None
        if not isinstance(words, str):
            runs.add(Said(block, f"{at}.content[{index}]"))
        elif words:
            runs.said(words, f"{at}.content", index)
    _planned(runs, plan, at)
    return message("assistant", [*runs.parts(), *chat_messages.calls(value, at)], at)


def _planned(runs: Runs, plan: str | None, at: str) -> None:
    """Say the plan, which stands before the words."""
    if plan:
        runs.add(Said(plan, f"{at}.tool_plan"))


def _result(content: Any) -> Json:
    """Read what a tool answered: text, or documents that hold it."""
    if not isinstance(content, list):
        return structure(content) if isinstance(content, str) else content
    found = [_document(block) for block in content]
    return found[0] if len(found) == 1 else found


def _document(block: Any) -> Json:
    fields = obj(block)
    held = obj(fields.get("document")).get("data", fields.get("text", block))
    return structure(held) if isinstance(held, str) else held


@dataclass(slots=True)
class _CallParts:
    """A call as its events build it."""

    position: int
    call: Call
    first: int
    last: int
    pieces: list[str] = field(default_factory=list)

    def whole(self) -> Call:
        given = chat_messages.arguments("".join(self.pieces))
        return Call(self.call.name, given, self.call.call_id, place(EVENTS, self.first, self.last))


@dataclass(slots=True)
class _Fold:
    """What the events so far came to."""

    runs: Runs = field(default_factory=Runs)
    calls: dict[int, _CallParts] = field(default_factory=dict)
    planning: bool = False
    span: tuple[int, int] | None = None
    finish: str | None = None
    usage: Usage | None = None
    error: str | None = None
    response_id: str | None = None
    done: bool = False
    remarks: list[str] = field(default_factory=list)

    def event(self, event: sse.Event, number: int) -> None:
        if event.data.strip() == "[DONE]":
            self.done = True
            return
        body = obj(parse_or_none(event.data))
        kind = text(body.get("type")) or event.name
        delta = obj(body.get("delta"))
        given = obj(delta.get("message"))
        if not body and event.data.strip():
            self.remarks.append("an event is no JSON")
        match kind:
            case "message-start":
                self.response_id = text(body.get("id")) or self.response_id
                self._cover(number)
            case "tool-plan-delta" | "content-start" | "content-delta":
                self._words(given, number)
            case "tool-call-start" | "tool-call-delta":
                self._call(count(body.get("index")), given.get("tool_calls"), number)
            case "message-end":
                self._end(delta, number)
            case _ if kind == "error" or text(body.get("message")):
                self.error = error_text(body) or event.data[:200]

    def _cover(self, number: int) -> None:
        self.span = (self.span[0] if self.span else number, number)

    def _words(self, given: Mapping[str, Any], number: int) -> None:
        content, plan = obj(given.get("content")), text(given.get("tool_plan"))
        self._cover(number)
        if (plan is not None) is not self.planning:
            self.runs.cut()
            self.planning = plan is not None
        words, thought = plan or text(content.get("text")), text(content.get("thinking"))
        if thought:
            self.runs.thought(thought, EVENTS, number)
        if words:
            self.runs.said(words, EVENTS, number)

    def _call(self, index: int, given: Any, number: int) -> None:
        fields = obj(items(given)[0] if items(given) else given)
        function = obj(fields.get("function"))
        name = text(function.get("name"))
        self._cover(number)
        if index not in self.calls:
            if name is None:
                self.remarks.append("a call has no name")
                return
            call = Call(name, {}, text(fields.get("id")))
            self.calls[index] = _CallParts(self.runs.add(call), call, number, number)
        self.calls[index].last = number
        if isinstance(function.get("arguments"), str):
            self.calls[index].pieces.append(function["arguments"])

    def _end(self, delta: Mapping[str, Any], number: int) -> None:
        self._cover(number)
        self.done = True
        self.finish = text(delta.get("finish_reason"))
        self.usage = cost(delta.get("usage"))
        self.error = text(delta.get("error")) or self.error

    def reply(self) -> Message | None:
        if self.span is None:
            return None
        for call in self.calls.values():
            self.runs.replace(call.position, call.whole())
        return message("assistant", self.runs.parts(), place(EVENTS, *self.span))


def _fold(events: Iterable[sse.Event]) -> _Fold:
    fold = _Fold()
    for number, event in enumerate(events):
        fold.event(event, number)
    return fold
