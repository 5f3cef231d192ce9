"""One sample of an Inspect log as a trace (https://inspect.aisi.org.uk/reference/inspect_ai.log.html)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from abs_replay.decoders import Call, Message, Part, Said, Served, chat_messages, composed
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.fields import items, obj, structure, text
from abs_replay.importers import loose_messages
from abs_replay.importers.telling import Facts, Teller, moment, tagged
from abs_replay.trace import Trace

_ATTACHED: Final = "attachment://"
type _Fields = Mapping[str, Any]


def told(sample: _Fields, header: _Fields) -> Trace:
    """Tell a sample; `header` is that of its log."""
    attached = obj(sample.get("attachments"))
    clock = _Clock(sample, attached)
    teller = Teller()
    values = [obj(value) for value in items(sample.get("messages"))]
    for value in values:
        whole = resolved(value, attached)
        teller.tell(message(whole), clock.facts(whole))
    failed = _failure(sample)
    if failed:
        teller.fail(failed)
    evaluated = obj(header.get("eval"))
    started = moment(sample.get("started_at")) or clock.began or moment(evaluated.get("created"))
    return teller.trace(tagged(_tags(sample, evaluated)), started)


def resolved(value: Any, attached: _Fields) -> Any:
    """Put in the texts that a log keeps aside."""
    if not attached:
        return value
    if isinstance(value, str):
        kept = attached.get(value.removeprefix(_ATTACHED)) if value.startswith(_ATTACHED) else None
        return kept if isinstance(kept, str) else value
    if isinstance(value, list):
        return [resolved(item, attached) for item in value]
    if isinstance(value, dict):
        return {key: resolved(item, attached) for key, item in value.items()}
    return value


def message(value: _Fields) -> Message:
    """Read a ChatMessage."""
    role = text(value.get("role")) or "assistant"
    if role == "tool":
        said = chat_messages.content(value.get("content"))
        return Message(
            "tool",
            structure(said) if isinstance(said, str) else said,
            call_id=text(value.get("tool_call_id")),
            name=text(value.get("function")),
            error=tool_error(value),
        )
    if role == "assistant":
        return composed(role, tuple(_parts(value)))
    return Message(role, chat_messages.content(value.get("content")))


def tool_error(value: _Fields) -> str | None:
    """Say why a tool failed: what kind of failure it is (`timeout`, `permission`, ..), then its words."""
    error = obj(value.get("error"))
    return ": ".join(words for key in ("type", "message") if (words := text(error.get(key)))) or None


def _parts(value: _Fields) -> Iterator[Part]:
    calls = [call for item in items(value.get("tool_calls")) if (call := _call(obj(item)))]
    content = value.get("content")
    if isinstance(content, list):
        for part in content:
            yield from _part(part)
    elif content != "" or not calls:
        yield Said(content)
    yield from calls


def _part(part: Any) -> Iterator[Part]:
    found = obj(part)
    name = text(found.get("name"))
    if found.get("type") != "tool_use" or not name:
        yield from chat_messages.words([part], "")
        return
    call = Call(
        name, arguments(found.get("arguments")), text(found.get("id"))
    )  # one of the server's own tools
    result = found.get("result")
    result = structure(result) if isinstance(result, str) else result
    yield Served(call, result, text(found.get("error")), answered=result is not None)


def _call(value: _Fields) -> Call | None:
    function = value.get("function")
    name = function if isinstance(function, str) else obj(function).get("name")
    given = value.get("arguments") if "arguments" in value else obj(function).get("arguments")
    return chat_messages.called(name, given, text(value.get("id")), "")


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a model event says of the message that it gave."""

    id: str | None
    said: Message
    facts: Facts


class _Clock:
    """When each message of a sample was there, as its events say."""

    def __init__(self, sample: _Fields, attached: _Fields) -> None:
        events = [obj(event) for event in items(sample.get("events"))]
        times = [at for event in events if (at := moment(event.get("timestamp"))) is not None]
        self.began = min(times, default=None)
        self._answers = [
            _answer(resolved(event, attached)) for event in events if event.get("event") == "model"
        ]
        self._tools = {
            event["id"]: _tool(event)
            for event in events
            if event.get("event") == "tool" and text(event.get("id"))
        }
        self._default = text(obj(sample.get("output")).get("model"))

    def facts(self, value: _Fields) -> Facts:
        """Give what is known of a message."""
        if value.get("role") == "tool":
            return self._tools.get(text(value.get("tool_call_id")) or "", Facts())
        if value.get("role") == "user":
            return Facts(self.began if value.get("source") == "input" else None)
        if value.get("role") != "assistant":
            return Facts()
        found = _matching(self._answers, value)
        if found is None:
            model = text(value.get("model"))
            return Facts(model=model or (self._default if value.get("source") == "generate" else None))
        self._answers.remove(found)
        return found.facts


def _matching(answers: Sequence[_Answer], value: _Fields) -> _Answer | None:
    """Find the event of an answer: by the message's id, else the first that says the same."""
    id_ = text(value.get("id"))
    by_id = [one for one in answers if id_ and one.id == id_]
    said = message(value)
    return next(iter(by_id or [one for one in answers if one.said == said]), None)


def _answer(event: _Fields) -> _Answer:
    output = obj(event.get("output"))
    given = obj(obj((items(output.get("choices")) or [None])[0]).get("message"))
    began, took = moment(event.get("timestamp")), _ms(event, output.get("time"))
    at = moment(event.get("completed")) or (began + took / 1000 if began and took else began)
    facts = Facts(
        at,
        took,
        model=text(output.get("model")) or text(event.get("model")),
        usage=loose_messages.usage(output.get("usage")),
        error=text(event.get("error")) or text(output.get("error")),
    )
    return _Answer(text(given.get("id")), message({"role": "assistant", **given}), facts)


def _tool(event: _Fields) -> Facts:
    took = _ms(event, None)
    began = moment(event.get("timestamp"))
    at = moment(event.get("completed")) or (began + took / 1000 if began and took else began)
    return Facts(at, took)


def _ms(event: _Fields, seconds: Any) -> float | None:
    began, ended = moment(event.get("timestamp")), moment(event.get("completed"))
    if began is not None and ended is not None and ended >= began:
        return round((ended - began) * 1000, 3)
    try:
        return round(float(seconds) * 1000, 3)
    except (TypeError, ValueError, OverflowError):
        return None


def _failure(sample: _Fields) -> str | None:
    error = sample.get("error")
    return text(error) or text(obj(error).get("message"))


def _tags(sample: _Fields, evaluated: _Fields) -> Iterator[tuple[str, Any]]:
    yield "task", evaluated.get("task")
    yield "sample", sample.get("id")
    yield "epoch", sample.get("epoch")
    yield "target", sample.get("target")
    yield "model", evaluated.get("model")
    yield "limit", obj(sample.get("limit")).get("type")
    for name, score in obj(sample.get("scores")).items():
        yield f"score.{name}", obj(score).get("value")
    score = obj(sample.get("score"))  # one score, in logs before version 2
    yield "score", score.get("value")
