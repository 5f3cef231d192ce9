"""Events of an Inspect transcript without messages: what its models were asked, what its tools did.

https://inspect.aisi.org.uk/reference/inspect_ai.event.html
"""

from collections.abc import Iterator, Sequence
from typing import Any

from abs_replay.decoders import Span, ToolUse, Turn
from abs_replay.decoders.fields import items, obj, structure, text
from abs_replay.importers import loose_messages, reported_work
from abs_replay.importers.inspect_samples import message, tool_error
from abs_replay.importers.telling import moment
from abs_replay.trace import Trace


def traces(events: Sequence[Any]) -> tuple[Trace, ...]:
    """Tell what events show."""
    return reported_work.traces(_spans(events), "inspect")


def _spans(events: Sequence[Any]) -> Iterator[Span]:
    for number, event in enumerate(map(obj, events)):
        began = moment(event.get("timestamp"))
        if began is None:
            continue
        ended = max(moment(event.get("completed")) or began, began)
        turn = _turn(event) if event.get("event") == "model" else None
        use = _use(event) if event.get("event") == "tool" else None
        if turn or use:
            id_ = text(event.get("uuid")) or f"event-{number}"
            yield Span(id_, began, ended, turn, use, parent_id=text(event.get("span_id")))


def _turn(event: Any) -> Turn:
    output = obj(event.get("output"))
    given = obj(obj((items(output.get("choices")) or [None])[0]).get("message"))
    return Turn(
        tuple(message(obj(value)) for value in items(event.get("input"))),
        message({"role": "assistant", **given}) if given else None,
        text(output.get("model")) or text(event.get("model")),
        loose_messages.usage(output.get("usage")),
        text(event.get("error")) or text(output.get("error")),
    )


def _use(event: Any) -> ToolUse | None:
    name = text(event.get("function"))
    if name is None:
        return None
    result = event.get("result")
    return ToolUse(
        name,
        event.get("arguments") or {},
        structure(result) if isinstance(result, str) else result,
        tool_error(event),
    )
