"""OpenAI chat completions, plain and streamed, as the many servers that imitate it write them.

https://platform.openai.com/docs/api-reference/chat and .../chat-streaming. Choice 0 is traced: with
`n` above 1 the others are alternatives, of which a conversation continues at most one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from abs_replay.decoders import chat_messages, sse
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, Message, Turn
from abs_replay.decoders.failures import failure
from abs_replay.decoders.fields import count, error_text, fault, items, obj, parse_or_none, text
from abs_replay.exchange import Exchange, Outcome, Role, header
from abs_replay.trace import Usage

_SUFFIX = "/chat/completions"


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `messages` to the path, and agents that answer in this shape elsewhere."""
    if exchange.request.method != "POST" or exchange.channel.role is Role.TOOL:
        return False
    if not isinstance(obj(parse_or_none(request_content(exchange).data)).get("messages"), list):
        return False
    return exchange.request.path.endswith(_SUFFIX) or _answers_in_choices(exchange)


def _answers_in_choices(exchange: Exchange) -> bool:
    content = response_content(exchange)
    if not _is_stream(exchange, content):
        return isinstance(obj(parse_or_none(content.data)).get("choices"), list)
    return '"choices"' in content.text[:4096]


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request = request_content(exchange)
    body = obj(parse_or_none(request.data))
    history = chat_messages.messages(body.get("messages"), "request.messages")
    content = response_content(exchange)
    remarks = request.remarks + content.remarks
    failed = failure(exchange, content)
    if failed or exchange.response is None:
        turn = Turn(history, model=text(body.get("model")), error=failed)
        return Decoded("openai_chat", turn, remarks=remarks)
    if _is_stream(exchange, content):
        return _streamed(exchange, history, body, content, remarks)
    return _plain(history, body, content, remarks)


def _is_stream(exchange: Exchange, content: Content) -> bool:
    headers = exchange.response.headers if exchange.response else ()
    return sse.is_stream(header(headers, "content-type") or "", content.text)


def _plain(
    history: tuple[Message, ...], request: Mapping[str, Any], content: Content, remarks: tuple[str, ...]
) -> Decoded:
    body = parse_or_none(content.data)
    choice = _first(items(obj(body).get("choices")))
    model = text(obj(body).get("model")) or text(request.get("model"))
    usage = _usage(obj(body).get("usage"))
    if choice is None:
        error = error_text(body) or _no_choices(content)
        return Decoded("openai_chat", Turn(history, None, model, usage, error), remarks=remarks)
    finish = text(choice.get("finish_reason"))
    message = obj(choice.get("message"))
    if not message:
        # A filtered choice of Azure has none (learn.microsoft.com, Azure OpenAI, content filtering).
        turn = Turn(history, None, model, usage, f"no message (finish_reason {finish})")
        return Decoded("openai_chat", turn, remarks=remarks)
    reply = chat_messages.message(message, "response.choices[0].message")
    return Decoded("openai_chat", Turn(history, reply, model, usage), remarks=remarks + _ending(finish))


def _no_choices(content: Content) -> str:
    wrong = fault(content.data) if content.data else "it is empty"
    return f"the answer is no JSON ({wrong})" if wrong else "the answer has no choices"


def _first(choices: list[Any]) -> Mapping[str, Any] | None:
    """Give choice 0 by its index, which need not be where it stands."""
    found = [choice for choice in choices if isinstance(choice, dict)]
    return min(found, key=lambda choice: count(choice.get("index")), default=None)


def _ending(reason: str | None) -> tuple[str, ...]:
    return (f"finish_reason {reason}",) if reason in ("length", "content_filter") else ()


def _usage(value: Any) -> Usage | None:
    fields = obj(value)
    if not fields:
        return None
    return Usage(count(fields.get("prompt_tokens")), count(fields.get("completion_tokens")))


@dataclass(slots=True)
class _CallParts:
    """A call as its deltas build it; id and name may be repeated in each, so the first one counts."""

    call_id: str | None = None
    name: str | None = None
    arguments: list[str] = field(default_factory=list)
    custom: bool = False

    def add(self, delta: Mapping[str, Any]) -> None:
        self.call_id = self.call_id or text(delta.get("id"))
        self.custom = self.custom or "custom" in delta
        named = obj(delta.get("custom" if "custom" in delta else "function"))
        self.name = self.name or text(named.get("name"))
        piece = named.get("input" if "custom" in delta else "arguments")
        if isinstance(piece, str):
            self.arguments.append(piece)

    def as_json(self) -> dict[str, Any]:
        inner = {"name": self.name, "arguments": "".join(self.arguments)}
        if self.custom:
            return {"id": self.call_id, "custom": {"name": self.name, "input": inner["arguments"]}}
        return {"id": self.call_id, "function": inner}


@dataclass(slots=True)
class _Fold:
    """What the events so far came to."""

    words: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, _CallParts] = field(default_factory=dict)
    single: _CallParts | None = None
    finish: str | None = None
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    began: bool = False
    done: bool = False
    remarks: list[str] = field(default_factory=list)

    def event(self, event: sse.Event) -> None:
        if event.data.strip() == "[DONE]":
            self.done = True
            return
        body = parse_or_none(event.data)
        if event.name == "error" or obj(body).get("error") is not None:
            self.error = error_text(body) or event.data[:200]
        elif isinstance(body, dict):
            self._chunk(body)
        elif event.data.strip():
            self.remarks.append("an event is no JSON")

    def _chunk(self, body: Mapping[str, Any]) -> None:
        self.model = text(body.get("model")) or self.model
        self.usage = _usage(body.get("usage")) or self.usage
        for choice in items(body.get("choices")):
            if obj(choice) and not count(choice.get("index")):
                self.began = True
                self.finish = text(choice.get("finish_reason")) or self.finish
                # Some servers send the last chunk as a whole message.
                self._delta(obj(choice.get("delta")) or obj(choice.get("message")))

    def _delta(self, delta: Mapping[str, Any]) -> None:
        said = chat_messages.content(delta.get("content"))
        if isinstance(said, str):
            self.words.append(said)
        if isinstance(delta.get("refusal"), str):
            self.refusal.append(delta["refusal"])
        for position, call in enumerate(items(delta.get("tool_calls"))):
            if isinstance(call, dict):
                self._call(call, position)
        if obj(delta.get("function_call")):
            self.single = self.single or _CallParts()
            self.single.add({"function": delta["function_call"]})

    def _call(self, delta: Mapping[str, Any], position: int) -> None:
        index = delta.get("index")
        if not isinstance(index, int):
            # Servers that leave the index out send whole calls (Mistral): each is a new one.
            index = len(self.calls) if text(delta.get("id")) or position else max(len(self.calls) - 1, 0)
        self.calls.setdefault(index, _CallParts()).add(delta)

    def reply(self) -> Message | None:
        if not self.began:
            return None
        value: dict[str, Any] = {
            "content": "".join(self.words) if self.words else None,
            "refusal": "".join(self.refusal),
            "tool_calls": [self.calls[index].as_json() for index in sorted(self.calls)],
        }
        if self.single:
            value["function_call"] = self.single.as_json()["function"]
        return chat_messages.message(value, "response.choices[0].delta")


def _fold(events: Iterable[sse.Event]) -> _Fold:
    fold = _Fold()
    for event in events:
        fold.event(event)
    return fold


def _streamed(
    exchange: Exchange,
    history: tuple[Message, ...],
    request: Mapping[str, Any],
    content: Content,
    remarks: tuple[str, ...],
) -> Decoded:
    fold = _fold(sse.events(content.text))
    # Some servers never send [DONE]; there, a finish reason on a connection that ended well is the end.
    complete = fold.done or (fold.finish is not None and exchange.outcome is Outcome.COMPLETE)
    error = fold.error or (None if complete else "the stream ended before its last event")
    model = fold.model or text(request.get("model"))
    turn = Turn(history, fold.reply(), model, fold.usage, error)
    remarks += tuple(dict.fromkeys(fold.remarks)) + _ending(fold.finish)
    return Decoded("openai_chat", turn, complete=complete, remarks=remarks)
