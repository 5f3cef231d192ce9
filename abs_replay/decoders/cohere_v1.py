"""Cohere's chat, version 1, plain and streamed: https://docs.cohere.com/v1/reference/chat.

The user's `message` stands apart from the `chat_history`; calls have no ids; a stream is lines of JSON,
or events. With a `conversation_id` the server keeps the history.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from abs_replay.decoders import json_streams, sse
from abs_replay.decoders.answered import attributed
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.cohere_ending import broken, cost, ending
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Call, Decoded, Message, Said, Served, Turn
from abs_replay.decoders.failures import UNFINISHED, failure, no_json
from abs_replay.decoders.fields import error_text, items, obj, parse_or_none, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.runs import Runs, message
from abs_replay.decoders.shapes import is_stream, start
from abs_replay.exchange import Exchange, Role

_SUFFIX: Final = "/v1/chat"
_ROLES: Final = {"chatbot": "assistant", "assistant": "assistant", "system": "system"}


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of a `message` to the path, and agents that answer in this shape elsewhere."""
    request, role = exchange.request, exchange.channel.role
    if request.method != "POST" or role is Role.TOOL:
        return False
    named = request.path.endswith(_SUFFIX)
    if not named and role is not Role.AGENT:
        return False
    body = obj(parse_or_none(request_content(exchange).data))
    if not isinstance(body.get("message"), str) or "messages" in body:
        return False
    return (named and role is Role.LLM) or _is_answer(response_content(exchange))


def _is_answer(content: Content) -> bool:
    if '"event_type"' in start(content):
        return True
    return obj(parse_or_none(content.data)).keys() >= {"text", "generation_id"}


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request, content = request_content(exchange), response_content(exchange)
    body = obj(parse_or_none(request.data))
    history, model = attributed(_history(body)), text(body.get("model"))
    session, remarks = text(body.get("conversation_id")), request.remarks + content.remarks
    failed = failure(exchange, content)
    if failed or exchange.response is None:
        turn = Turn(history, model=model, error=failed)
        return Decoded("cohere_v1", turn, session=session, remarks=remarks)
    streamed, values = _values(exchange, content)
    fold = _fold(values) if streamed else _whole(values)
    error = fold.error or broken(fold.finish)
    if error is None and streamed and not fold.done:
        error = UNFINISHED
    elif error is None and fold.reply is None:
        error = no_json(content) or "the answer has no text"
    turn = Turn(history, fold.reply, model, cost(fold.meta), error, fold.response_id)
    remarks += tuple(dict.fromkeys(fold.remarks)) + ending(fold.finish)
    complete = fold.done if streamed else None
    return Decoded("cohere_v1", turn, complete=complete, session=session, remarks=remarks)


def _values(exchange: Exchange, content: Content) -> tuple[bool, list[Any]]:
    """Give the values of an answer, and whether they are a stream's."""
    if is_stream(exchange, content):
        # A last event of another API's servers, which gateways add.
        return True, [parse_or_none(e.data) for e in sse.events(content.text) if e.data.strip() != "[DONE]"]
    values = json_streams.values(content.text)
    return len(values) > 1 or any("event_type" in obj(value) for value in values), values


def _history(body: Mapping[str, Any]) -> Iterator[Message]:
    preamble, words = text(body.get("preamble")), text(body.get("message"))
    if preamble:
        yield message("system", [Said(preamble)], "request.preamble")
    for index, value in enumerate(items(body.get("chat_history"))):
        yield from _message(obj(value), f"request.chat_history[{index}]")
    if words:
        yield message("user", [Said(words)], "request.message")
    yield from _results(body, "request")


def _message(value: Mapping[str, Any], at: str) -> Iterator[Message]:
    role = (text(value.get("role")) or "").lower()
    if role == "tool":
        yield from _results(value, at)
    elif role:
        words = text(value.get("message"))
        said = [Said(words, f"{at}.message")] if words else []
        yield message(_ROLES.get(role, "user"), [*said, *_calls(value, at)], at)


def _calls(value: Mapping[str, Any], at: str) -> Iterator[Call]:
    for index, call in enumerate(items(value.get("tool_calls"))):
        fields = obj(call)
        name = text(fields.get("name"))
        if name:
            yield Call(name, arguments(fields.get("parameters")), at=f"{at}.tool_calls[{index}]")


def _results(value: Mapping[str, Any], at: str) -> Iterator[Message]:
    for index, result in enumerate(items(value.get("tool_results"))):
        fields = obj(result)
        outputs = fields.get("outputs")
        content = outputs[0] if isinstance(outputs, list) and len(outputs) == 1 else outputs
        name = text(obj(fields.get("call")).get("name"))
        yield Message("tool", content, name=name, at=f"{at}.tool_results[{index}]")


def _searches(value: Mapping[str, Any], at: str) -> Iterator[Served]:
    """Read what the server searched by itself, through its connectors."""
    documents = [obj(one) for one in items(value.get("documents"))]
    for result in map(obj, items(value.get("search_results"))):
        query = text(obj(result.get("search_query")).get("text"))
        name = text(obj(result.get("connector")).get("id")) or "search"
        ids = items(result.get("document_ids"))
        found = [one for one in documents if one.get("id") in ids]
        call = Call(name, {"query": query} if query else {}, at=at)
        yield Served(call, found, text(result.get("error_message")), at=at)


@dataclass(slots=True)
class _Fold:
    """What an answer came to."""

    reply: Message | None = None
    response_id: str | None = None
    finish: str | None = None
    meta: Any = None
    error: str | None = None
    done: bool = False
    remarks: list[str] = field(default_factory=list)

    def read(self, value: Mapping[str, Any]) -> None:
        """Take in what a whole answer says beside its words."""
        self.response_id = text(value.get("response_id")) or text(value.get("generation_id"))
        self.finish = text(value.get("finish_reason")) or self.finish
        self.meta = value.get("meta") or self.meta


def _whole(values: list[Any]) -> _Fold:
    fold, value = _Fold(), obj(values[0] if values else None)
    fold.read(value)
    if isinstance(value.get("text"), str):
        fold.reply = _answer(value, "response")
    else:
        fold.error = error_text(value)
    return fold


def _answer(value: Mapping[str, Any], at: str) -> Message:
    words = text(value.get("text"))
    said = [Said(words, f"{at}.text")] if words else []
    return message("assistant", [*_searches(value, at), *said, *_calls(value, at)], at)


def _fold(values: Iterable[Any]) -> _Fold:
    fold, runs, span = _Fold(), Runs(), [0, -1]
    for number, value in enumerate(values):
        body, at = obj(value), f"{EVENTS}[{number}]"
        words = body.get("text")
        match body.get("event_type"):
            case "text-generation" | "tool-calls-chunk" if isinstance(words, str) and words:
                runs.said(words, EVENTS, number)
            case "tool-calls-generation":
                for part in _calls(body, at):
                    runs.add(replace(part, at=at))
            case "search-results":
                for found in _searches(body, at):
                    runs.add(found)
            case "stream-end":
                fold.done = True
                fold.finish = text(body.get("finish_reason"))
                fold.read(obj(body.get("response")))
                fold.error = text(body.get("error")) or fold.error
            case None if body:
                fold.error = error_text(body) or fold.error
            case None:
                fold.remarks.append("an event is no JSON")
        span[1] = number if body.get("event_type") else span[1]
    if span[1] >= 0:
        fold.reply = message("assistant", runs.parts(), place(EVENTS, *span))
    return fold
