"""OpenAI chat completions, plain and streamed, as the many servers that imitate it write them.

https://platform.openai.com/docs/api-reference/chat and .../chat-streaming. Choice 0 is traced: with
`n` above 1 the others are alternatives, of which a conversation continues at most one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import chat_messages, sse
from abs_replay.decoders.chat_deltas import Deltas
from abs_replay.decoders.content import Content, request_content, response_content
from abs_replay.decoders.events import Decoded, Message, Turn
from abs_replay.decoders.failures import UNFINISHED, failure, no_json
from abs_replay.decoders.fields import count, items, obj, parse_or_none, text
from abs_replay.decoders.openai_api import asked_model, error_words, path
from abs_replay.decoders.shapes import in_choices, is_stream
from abs_replay.decoders.usage import usage
from abs_replay.exchange import Exchange, Outcome, Role
from abs_replay.trace import Usage

_SUFFIX: Final = "/chat/completions"
# How an answer ends that was not cut off: OpenAI's words, and those of servers that imitate it.
_WHOLE: Final = ("stop", "tool_calls", "function_call", "eos", "stop_sequence", "end_turn", "tool_use")
_TOKENS: Final = (("prompt_tokens",), ("completion_tokens",))
_SOURCES: Final = ("citations", "search_results")  # beside the choices (Perplexity, xAI)


def claims(exchange: Exchange) -> bool:
    """Claim POSTs of `messages` to the path, and agents that answer in this shape elsewhere."""
    if exchange.request.method != "POST" or exchange.channel.role is Role.TOOL:
        return False
    if not isinstance(obj(parse_or_none(request_content(exchange).data)).get("messages"), list):
        return False
    return path(exchange).endswith(_SUFFIX) or in_choices(exchange, response_content(exchange))


@dataclass(slots=True)
class _Answer:
    """What an answer comes to, whether it came at once or in events."""

    reply: Message | None = None
    model: str | None = None
    response_id: str | None = None
    usage: Usage | None = None
    finish: str | None = None
    error: str | None = None
    complete: bool | None = None
    choices: set[int] = field(default_factory=set)
    sources: dict[str, int] = field(default_factory=dict)
    annotations: list[Any] = field(default_factory=list)
    spoken: bool = False
    remarks: list[str] = field(default_factory=list)

    def meta(self, body: Mapping[str, Any]) -> None:
        """Take in what a body or a chunk tells beside its choices."""
        self.model = text(body.get("model")) or self.model
        self.response_id = self.response_id or text(body.get("id"))
        if body.get("usage") or body.get("x_groq"):
            # The last chunk of Groq's streams has its usage in an object of its own.
            beside = obj(body.get("x_groq")).get("usage")
            self.usage = usage(obj(body.get("usage")), *_TOKENS) or usage(obj(beside), *_TOKENS) or self.usage
        for key in _SOURCES:
            if items(body.get(key)):
                self.sources[key] = len(body[key])

    def choice(self, choice: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        """Take in what choice 0 tells beside its message's words."""
        self.finish = text(choice.get("finish_reason")) or self.finish
        if choice.get("error") is not None:
            self.error = error_words(choice)
        if message.get("annotations"):
            self.annotations += items(message["annotations"])
        if audio := obj(message.get("audio")):
            self.spoken = self.spoken or bool(text(audio.get("data")) or text(audio.get("transcript")))

    def told(self) -> tuple[str, ...]:
        """Say what the steps do not show."""
        said = list(dict.fromkeys(self.remarks))
        if len(self.choices) > 1:
            said.append(f"choice 0 of {len(self.choices)} is traced, the others are alternatives")
        if self.finish and self.finish.lower() not in _WHOLE:
            said.append(f"finish_reason {self.finish}")
        said += chat_messages.annotated(self.annotations)
        said += [f"{key} are not traced: {number}" for key, number in self.sources.items() if number]
        return tuple(said + (["of audio, the transcript is traced"] if self.spoken else []))


def decode(exchange: Exchange) -> Decoded:
    """Give the turn: the history of the request, and the reply."""
    request = request_content(exchange)
    body = obj(parse_or_none(request.data))
    history = chat_messages.messages(body.get("messages"), "request.messages")
    content = response_content(exchange)
    failed = failure(exchange, content, error_words)
    if failed:
        answer = _Answer(error=failed)
    elif is_stream(exchange, content):
        answer = _streamed(sse.events(content.text), exchange.outcome)
    else:
        answer = _plain(content)
    turn = Turn(
        history,
        answer.reply,
        answer.model or asked_model(exchange, body),
        answer.usage,
        answer.error,
        response_id=answer.response_id,
    )
    remarks = request.remarks + content.remarks + answer.told()
    return Decoded("openai_chat", turn, complete=answer.complete, remarks=remarks)


def _plain(content: Content) -> _Answer:
    answer, body = _Answer(), parse_or_none(content.data)
    answer.meta(obj(body))
    choice = _first(items(obj(body).get("choices")))
    if choice is None:
        answer.error = error_words(body) or no_json(content) or "the answer has no choices"
        return answer
    answer.choices = set(range(len(items(obj(body).get("choices")))))
    message = obj(choice.get("message"))
    answer.choice(choice, message)
    if message:
        answer.reply = chat_messages.message({**message, "role": "assistant"}, "response.choices[0].message")
    elif not answer.error:
        # A filtered choice of Azure has none (learn.microsoft.com, Azure OpenAI, content filtering).
        answer.error, answer.finish = f"no message (finish_reason {answer.finish})", None
    return answer


def _first(choices: list[Any]) -> Mapping[str, Any] | None:
    """Give choice 0 by its index, which need not be where it stands."""
    found = [choice for choice in choices if isinstance(choice, dict)]
    return min(found, key=lambda choice: count(choice.get("index")), default=None)


def _streamed(events: Iterable[sse.Event], outcome: Outcome) -> _Answer:
    answer, deltas, done = _Answer(), Deltas(), False
    for number, event in enumerate(events):
        if event.data.strip() == "[DONE]":
            done = True
            continue
        for chunk in _chunks(event, answer):
            _chunk(chunk, number, answer, deltas)
    if 0 in answer.choices:
        answer.reply = deltas.message()
    # Some servers never send [DONE]; there, a finish reason on a connection that ended well is the end.
    answer.complete = done or (answer.finish is not None and outcome is Outcome.COMPLETE)
    if not answer.error and not answer.complete:
        answer.error = UNFINISHED
    return answer


def _chunks(event: sse.Event, answer: _Answer) -> list[Mapping[str, Any]]:
    """Give the chunks of an event, several where it is a list, and note what is wrong with it."""
    body = parse_or_none(event.data)
    bodies: list[Any] = body if isinstance(body, list) else [body]
    chunks: list[Mapping[str, Any]] = [one for one in bodies if isinstance(one, dict)]
    if event.name == "error" or any(chunk.get("error") is not None for chunk in chunks):
        answer.error = error_words(body) or event.data[:200]
    elif not chunks and event.data.strip():
        answer.remarks.append("an event is no JSON")
    return chunks


def _chunk(body: Mapping[str, Any], number: int, answer: _Answer, deltas: Deltas) -> None:
    answer.meta(body)
    for choice in items(body.get("choices")):
        if not isinstance(choice, dict):
            continue
        answer.choices.add(count(choice.get("index")))
        if count(choice.get("index")):
            continue
        delta, message = obj(choice.get("delta")), obj(choice.get("message"))
        answer.choice(choice, delta or message)
        if delta:
            deltas.add(delta, number)
        elif message:
            deltas.add_whole(message, number)
