"""OpenAI's Responses API, plain and streamed, and as Azure, xAI, OpenRouter and Groq offer it.

https://platform.openai.com/docs/api-reference/responses. A request that names a previous response or a
conversation sends new items alone. One answered in the background is asked for again and again: such a
GET shows an answer begun before. A compaction (`POST ../responses/compact`) makes of a history an item
that the next requests begin with: it is a turn that says nothing, answered by that item's id, so that a
request which holds the item and new words alone has what it goes on from.
Cancelling, deleting and listing items are claimed by nobody.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import responses_items, sse
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, Message, Turn
from abs_replay.decoders.failures import UNFINISHED, failure, no_json
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.decoders.openai_api import asked_model, error_words, path
from abs_replay.decoders.responses_stream import streamed
from abs_replay.decoders.shapes import is_stream, start
from abs_replay.decoders.usage import usage
from abs_replay.exchange import Exchange, Role

_POLL: Final = re.compile(r"/responses/([^/]+)$")
_COMPACT: Final = "/responses/compact"
_UNDERWAY: Final = ("queued", "in_progress")
_WHOLE: Final = ("completed", "complete")
_BEGINNINGS: Final = ('"response.created"', '"response.in_progress"', '"response.queued"')


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `input` to the path, GETs of a response, and agents that answer in this shape."""
    if exchange.channel.role is Role.TOOL:
        return False
    where = path(exchange)
    if exchange.request.method == "GET":
        polled = _POLL.search(where)
        return polled is not None and (polled[1].startswith("resp_") or _answers_in_items(exchange))
    if exchange.request.method != "POST":
        return False
    body = obj(parse_or_none(request_content(exchange).data))
    if where.endswith(_COMPACT):
        return "input" in body or "previous_response_id" in body
    asks = isinstance(body.get("input"), str | list)
    if where.endswith("/responses"):
        return asks or isinstance(body.get("prompt"), dict)
    return asks and _answers_in_items(exchange)


def _answers_in_items(exchange: Exchange) -> bool:
    content = response_content(exchange)
    if is_stream(exchange, content):
        return any(beginning in start(content) for beginning in _BEGINNINGS)
    body = obj(parse_or_none(content.data))
    return body.get("object") == "response" and isinstance(body.get("output"), list)


@dataclass(slots=True)
class _Answer:
    """What an answer comes to, whether it came at once or in events."""

    response: Mapping[str, Any] = field(default_factory=dict)
    reply: Message | None = None
    error: str | None = None
    complete: bool | None = None
    remarks: tuple[str, ...] = ()


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: what the request sends that is new or all, and the answer."""
    request, content = request_content(exchange), response_content(exchange)
    body = obj(parse_or_none(request.data))
    asked = _asked(body)
    answer = _answered(exchange, content)
    response = answer.response
    before = text(body.get("previous_response_id")) or text(response.get("previous_response_id"))
    polled = _POLL.search(path(exchange)) if exchange.request.method == "GET" else None
    turn = Turn(
        asked.messages,
        answer.reply,
        text(response.get("model")) or asked_model(exchange, body),
        usage(obj(response.get("usage")), ("input_tokens",), ("output_tokens",)),
        answer.error,
        response_id=text(response.get("id")),
        parent_id=before or asked.compaction,
        poll_of=polled[1] if polled else None,
        compacted=asked.compacted,
        compacts=path(exchange).endswith(_COMPACT) and not answer.error,
    )
    session = _conversation(body) or _conversation(response)
    remarks = request.remarks + content.remarks + asked.remarks + answer.remarks
    return Decoded("openai_responses", turn, complete=answer.complete, session=session, remarks=remarks)


def _asked(body: Mapping[str, Any]) -> responses_items.Read:
    """Read what a request says: instructions, then its input."""
    instructions = body.get("instructions")
    before = responses_items.history(
        [] if isinstance(instructions, str) else instructions, "request.instructions"
    )
    if text(instructions):
        before = responses_items.Read((Message("system", instructions, at="request.instructions"),))
    given = responses_items.history(body.get("input"), "request.input")
    prompt = text(obj(body.get("prompt")).get("id"))
    hidden = (f"prompt {prompt} is kept by the server: its words are not traced",) if prompt else ()
    messages = before.messages + given.messages
    told = before.remarks + given.remarks + hidden
    return responses_items.Read(messages, given.compacted, told, given.compaction)


def _conversation(body: Mapping[str, Any]) -> str | None:
    given = body.get("conversation")
    return text(given) or text(obj(given).get("id"))


def _answered(exchange: Exchange, content: Content) -> _Answer:
    failed = failure(exchange, content, error_words)
    if failed:
        return _Answer(error=failed)
    if path(exchange).endswith(_COMPACT):
        return _compacted(content)
    return _streamed(content) if is_stream(exchange, content) else _plain(content)


def _plain(content: Content) -> _Answer:
    body = parse_or_none(content.data)
    response = obj(body)
    output = response.get("output")
    if not isinstance(output, list):
        error = error_words(body) or no_json(content) or "the answer has no output"
        return _Answer(response, error=error)
    places = [f"response.output[{index}]" for index in range(len(output))]
    if text(response.get("status")) in _UNDERWAY:
        # What is there so far, the answer that a later request asks for tells, too.
        more = (f"output so far is not traced: {len(output)}",) if output else ()
        return _Answer(response, remarks=(f"status {response['status']}", *more))
    return _read(response, places, "response.output")


def _streamed(content: Content) -> _Answer:
    found = streamed(sse.events(content.text))
    answer = _read(found.response, found.places, found.at)
    answer.complete = found.ended
    answer.remarks = (*dict.fromkeys(found.remarks), *answer.remarks)
    answer.error = answer.error or found.error
    if not found.ended and not answer.error:
        answer.error = UNFINISHED
    if answer.error and not found.places:
        answer.reply = None
    return answer


def _read(response: Mapping[str, Any], places: list[str], at: str) -> _Answer:
    """Read the items of an answer that came to an end, good or bad."""
    output = items(response.get("output"))
    reply, remarks = responses_items.reply(output, places, at)
    status, reason = text(response.get("status")), text(obj(response.get("incomplete_details")).get("reason"))
    failed = error_words(response) if response.get("error") is not None else None
    if status in ("failed", "cancelled"):
        failed = failed or f"status {status}"
    if status and status not in (*_WHOLE, *_UNDERWAY, "failed", "cancelled"):
        remarks += (f"status {status}{f' ({reason})' if reason else ''}",)
    return _Answer(response, reply if output or not failed else None, failed, remarks=remarks)


def _compacted(content: Content) -> _Answer:
    """Give a compaction's answer: the id of the item that stands for the history, and no words."""
    answer = _plain(content)
    output = items(answer.response.get("output"))
    told = (f"the history was compacted into {len(output)} items",) if not answer.error else ()
    known = {**answer.response, "id": responses_items.compaction_id(output)}
    return _Answer(known, error=answer.error, remarks=told)
