"""Anthropic's Messages API, plain and streamed, at its own path, under a gateway's, or on Vertex.

https://platform.claude.com/docs/en/api/messages. Vertex has the model in the path and the version in the
body (.../build-with-claude/claude-on-vertex-ai). Counting tokens and batches are no turns. The reply to
a request whose last message is the assistant's own words (a prefill) is told with these words in front,
for that is the message that the user sees and the next request repeats.
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote

from abs_replay.decoders import anthropic_answers, sse
from abs_replay.decoders.anthropic_answers import Answer, Fold
from abs_replay.decoders.anthropic_messages import History, history
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded
from abs_replay.decoders.failures import failure, no_json
from abs_replay.decoders.fields import obj, parse_or_none, text
from abs_replay.decoders.shapes import in_choices, is_stream, start
from abs_replay.exchange import Exchange, Role

_VERTEX: Final = re.compile(r"/models/(?!count-tokens:)([^/:]+):(?:rawPredict|streamRawPredict)$")
_ELSEWHERE: Final = re.compile(r"/chat/completions$|/(?:converse|invoke)[^/]*$")  # paths of other APIs


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `messages` to the API's paths, and agents that answer in this shape elsewhere."""
    request = exchange.request
    by_agent = exchange.channel.role is Role.AGENT and not _ELSEWHERE.search(request.path)
    known = request.path.endswith("/messages") or bool(_VERTEX.search(request.path))
    if request.method != "POST" or exchange.channel.role is Role.TOOL or not (known or by_agent):
        return False
    body = obj(parse_or_none(request_content(exchange).data))
    if not isinstance(body.get("messages"), list):
        return False
    if _is_asked(request.path, body):
        return not _answers_otherwise(exchange)
    return by_agent and _answers_in_blocks(exchange)


def _is_asked(path: str, body: Mapping[str, Any]) -> bool:
    """Say whether a path and a body are this API's; `max_tokens` is required there, and seldom elsewhere."""
    if _VERTEX.search(path):
        return "anthropic_version" in body
    return path.endswith("/v1/messages") or (path.endswith("/messages") and "max_tokens" in body)


def _answers_otherwise(exchange: Exchange) -> bool:
    """Say whether an answer has another format's shape: an agent's, or a gateway's that mixes them."""
    content = response_content(exchange)
    if in_choices(exchange, content):
        return True
    return not is_stream(exchange, content) and isinstance(
        obj(parse_or_none(content.data)).get("message"), dict
    )


def _answers_in_blocks(exchange: Exchange) -> bool:
    content = response_content(exchange)
    if is_stream(exchange, content):
        return '"message_start"' in start(content)
    body = obj(parse_or_none(content.data))
    return body.get("type") == "message" and isinstance(body.get("content"), list)


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request, content = request_content(exchange), response_content(exchange)
    body = obj(parse_or_none(request.data))
    past = history(body)
    failed = failure(exchange, content)
    answer = Answer(error=failed) if failed else _answer(exchange, content, past)
    remarks = request.remarks + content.remarks + past.remarks + answer.remarks
    turn = answer.turn(past, _model(exchange.request.path, body))
    return Decoded("anthropic", turn, complete=answer.complete, remarks=remarks)


def _model(path: str, body: Mapping[str, Any]) -> str | None:
    named = _VERTEX.search(path)
    return text(body.get("model")) or (unquote(named[1]) if named else None)


def _answer(exchange: Exchange, content: Content, past: History) -> Answer:
    if is_stream(exchange, content):
        return _streamed(content, past)
    if wrong := no_json(content):
        return Answer(error=wrong)
    return anthropic_answers.whole(parse_or_none(content.data), past)


def _streamed(content: Content, past: History) -> Answer:
    fold = Fold()
    for number, event in enumerate(sse.events(content.text)):
        body = parse_or_none(event.data)
        if event.name == "error" and obj(body).get("type") != "error":
            body = {"type": "error", "error": body if body is not None else event.data}
        if body is not None or event.data.strip():
            fold.event(number, body)
    return fold.answer(past)
