"""Amazon Bedrock: Converse, and InvokeModel around the bodies of Anthropic's models and of Nova's.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html. The
model's id stands in the path. Streams are binary (`aws_events`); those of InvokeModel wrap the model's
own events. Bodies of other models are told as the structures that they are, with a remark.
"""

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

from abs_replay.decoders import anthropic_answers, aws_events, converse
from abs_replay.decoders.anthropic_answers import Answer, Fold
from abs_replay.decoders.anthropic_messages import History, history
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.content_blocks import named
from abs_replay.decoders.events import Decoded, Message
from abs_replay.decoders.failures import failure, no_json
from abs_replay.decoders.fields import error_text, items, obj, parse_or_none
from abs_replay.decoders.places import EVENTS, place
from abs_replay.decoders.shapes import declared, in_choices
from abs_replay.exchange import Exchange, Role, header

_PATH: Final = re.compile(r"/model/(.+)/(converse|converse-stream|invoke|invoke-with-response-stream)$")
_NO_TALK: Final = re.compile(r"embed|rerank|image|canvas|stability\.")  # models that answer in no words
_NAMES: Final = frozenset(
    ("messageStart", "contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata")
)


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of JSON to a model's path, unless an answer in choices makes them OpenAI's."""
    asked = _PATH.search(exchange.request.path)
    if not asked or exchange.request.method != "POST" or exchange.channel.role is Role.TOOL:
        return False
    body = parse_or_none(request_content(exchange).data)
    if not isinstance(body, dict) or (asked[2] != "converse" and _NO_TALK.search(unquote(asked[1]))):
        return False
    talks = isinstance(body.get("messages"), list)
    return not (talks and in_choices(exchange, response_content(exchange)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request: the model, its history, and which format of bodies the model has."""

    model: str
    family: str  # "converse", "anthropic", or "" for any other
    past: History


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request, content = request_content(exchange), response_content(exchange)
    asked = _asked(exchange.request.path, obj(parse_or_none(request.data)))
    failed = failure(exchange, content, lambda body: _error(exchange, body))
    answer = Answer(error=failed) if failed else _answer(exchange, asked, content)
    remarks = request.remarks + content.remarks + asked.past.remarks + answer.remarks
    if not asked.family:
        remarks += (f"the body of {asked.model} is told as it is",)
    return Decoded("bedrock", answer.turn(asked.past, asked.model), complete=answer.complete, remarks=remarks)


def _asked(path: str, body: Mapping[str, Any]) -> _Asked:
    found = _PATH.search(path)
    model, operation = (unquote(found[1]), found[2]) if found else ("", "")
    if operation.startswith("converse") or _is_nova(body):
        return _Asked(model, "converse", history(body, converse.block))
    if "anthropic_version" in body and isinstance(body.get("messages"), list):
        return _Asked(model, "anthropic", history(body))
    return _Asked(model, "", History((Message("user", named(body), at="request"),)))


def _is_nova(body: Mapping[str, Any]) -> bool:
    """Say whether a body has Nova's messages: their blocks bear no type, and are lists always."""
    contents = [obj(message).get("content") for message in items(body.get("messages"))]
    found = [block for content in contents for block in items(content)]
    lists = bool(found) and all(isinstance(content, list) for content in contents)
    return lists and all(isinstance(block, dict) and "type" not in block for block in found)


def _error(exchange: Exchange, body: Any) -> str | None:
    """Give an error's words and its name, which stands in a header."""
    headers = exchange.response.headers if exchange.response else ()
    name = (header(headers, "x-amzn-errortype") or "").partition(":")[0]
    return ": ".join(part for part in (name, error_text(body)) if part) or None


def _answer(exchange: Exchange, asked: _Asked, content: Content) -> Answer:
    if aws_events.is_stream(declared(exchange), content.data):
        return _streamed(asked, aws_events.read(content.data))
    if wrong := no_json(content):
        return Answer(error=wrong)
    body = parse_or_none(content.data)
    match asked.family:
        case "converse":
            return converse.answer(body, asked.past)
        case "anthropic":
            return anthropic_answers.whole(body, asked.past)
        case _:
            return Answer(Message("assistant", named(body), at="response"))


def _streamed(asked: _Asked, stream: aws_events.Stream) -> Answer:
    fold, kept = Fold(), list[Any]()
    for number, frame in enumerate(stream.frames):
        for event in _events(frame):
            if asked.family or event.get("type") == "error":
                fold.event(number, event)
            else:
                kept.append(named(event))
    if asked.family:
        return fold.answer(asked.past, stream.fault)
    reply = Message("assistant", kept, at=place(EVENTS, 0, len(stream.frames) - 1)) if kept else None
    return Answer(reply, error=fold.error or stream.fault)


def _events(frame: aws_events.Frame) -> Iterator[Mapping[str, Any]]:
    """Give the events of a frame in Anthropic's shape, or as the model's own."""
    kind = frame.headers.get(":message-type", "event")
    body = parse_or_none(frame.payload)
    name = frame.headers.get(":event-type", "")
    if kind != "event":
        yield {"type": "error", "error": {"message": _exception(frame, body)}}
    elif name == "chunk":
        yield from _unwrapped(_chunk(obj(body).get("bytes")))
    else:
        yield from converse.events(name, body)


def _exception(frame: aws_events.Frame, body: Any) -> str:
    """Give the words of a frame that ends its stream with an exception, or an error that has no shape."""
    name = frame.headers.get(":exception-type") or frame.headers.get(":error-code") or "error"
    words = error_text(body) or frame.headers.get(":error-message")
    return f"{name}: {words}" if words else name


def _chunk(data: Any) -> Any:
    try:
        return parse_or_none(base64.b64decode(data if isinstance(data, str) else ""))
    except ValueError:
        return None


def _unwrapped(event: Any) -> Iterator[Mapping[str, Any]]:
    """Give a model's own event; Nova's are those of Converse, each under its name."""
    names = [name for name in obj(event) if name in _NAMES]
    if names:
        yield from converse.events(names[0], event[names[0]])
    else:
        yield obj(event)
