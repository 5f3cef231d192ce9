"""A trace's steps as what a model and its tools did: who was asked what, and answered what.

Steps of the assistant beside each other are one answer, to all that stands before them; so is a failure
behind what the model thought in the same exchange. What only a later request's history shows was said
before, and is no answer that anybody saw come. What was internal is left out, since messages can not say
that the user saw none of it; thoughts they can tell.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.exact_json import Json
from abs_replay.trace import Step, Trace, Usage, Visibility

_MS: Final = 0.001
_SPOKEN: Final = ("says", "responds")
_ANSWERS: Final = ("responds", "calls", "thinks")
_HISTORY: Final = re.compile(r"request\b(?!\.resourceSpans\b)")  # spans are sent after what they tell of
type Part = dict[str, Any]
type Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelTurn:
    """One answer, or none where `parts` is empty; times are Unix seconds. `seen_in` are the exchanges that
    show it. It is `timed` where somebody saw when it was there; else its times are made up, in order."""

    before: tuple[Message, ...]
    parts: tuple[Part, ...]
    began: float
    ended: float
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    seen_in: tuple[str, ...] = ()
    timed: bool = True


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool was asked and answered; times are Unix seconds, `timed` as of a `ModelTurn`."""

    name: str
    arguments: Json
    content: Json
    call_id: str | None
    began: float
    ended: float
    error: str | None = None
    timed: bool = True


type Event = ModelTurn | ToolAnswer


def events(trace: Trace, start: float) -> list[Event]:
    """Give what happened in a trace that began at `start`, in order."""
    reader = _Reader(start)
    for step in trace.steps:
        reader.step(step)
    reader.close()
    if reader.waiting:
        unanswered = ModelTurn(tuple(reader.before), (), reader.asked, reader.now)
        reader.found.append(replace(unanswered, timed=trace.steps[-1].at_ms is not None))
    return reader.found


@dataclass(slots=True)
class _Reader:
    """Reads steps in order; `now` is when the last of them was there."""

    start: float
    now: float = 0.0
    asked: float = 0.0  # when the last thing was there that an answer may be to
    found: list[Event] = field(default_factory=list)
    before: list[Message] = field(default_factory=list)
    waiting: bool = False  # for an answer to what was said last
    _answer: list[Step] = field(default_factory=list)
    _open: list[tuple[Step, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.now = self.asked = self.start

    def step(self, step: Step) -> None:
        if step.visibility is Visibility.INTERNAL and step.action != "thinks":
            return
        if step.actor == "assistant" and step.action in _ANSWERS:
            if self._answer and self._is_apart(self._answer[-1], step):
                self.close()
            self._tick(step)
            self._answer.append(step)
            return
        if step.actor == "system" and step.action == "fails":
            self._failed(step)
            return
        self.close()
        self._tick(step)
        if step.actor == "tool":
            self._tool(step)
        elif step.action in _SPOKEN:
            self._heard(step)

    @staticmethod
    def _is_apart(before: Step, step: Step) -> bool:
        """Say whether steps beside each other are of two answers: twice words, or words of another model,
        or of a history.

        A call that no model made (an agent's own, of an HTTP tool) has none.
        """
        twice = before.action == step.action != "calls"
        return twice or before.model != step.model or _is_history(before) != _is_history(step)

    def close(self) -> None:
        """End an answer."""
        if not self._answer:
            return
        steps = self._answer
        parts = tuple(part for step in steps for part in _parts(step))
        if not _is_history(steps[0]):
            self._found(steps, parts)
            self.waiting = False
        self.before.append({"role": "assistant", "parts": parts})
        # No call is carried out before the answer that asks for it has ended.
        self._open += [(step, self.now) for step in steps if step.action == "calls"]
        self._answer, self.asked = [], self.now

    def _found(self, steps: list[Step], parts: tuple[Part, ...]) -> None:
        seen_in = dict.fromkeys(source.exchange for step in steps for source in step.sources)
        turn = ModelTurn(
            tuple(self.before),
            parts,
            self._began(*steps),
            self.now,
            next((step.model for step in steps if step.model), None),
            _added(steps),
            next((step.error for step in steps if step.error), None),
            tuple(seen_in),
            any(step.at_ms is not None for step in steps),
        )
        self.found.append(turn)

    def _failed(self, step: Step) -> None:
        """Tell that no answer came, but for what the model thought before."""
        thoughts = self._answer
        if not all(one.action == "thinks" and _is_shared(one, step) for one in thoughts):
            self.close()
            thoughts = []
        self._tick(step)
        self._found([*thoughts, step], tuple(part for one in thoughts for part in _parts(one)))
        self._answer, self.waiting = [], False

    def _tool(self, step: Step) -> None:
        call, since = self._called(step)
        began = since if step.duration_ms is None else max(self.now - step.duration_ms * _MS, since)
        arguments = call.arguments if call else {}
        name = step.target or (call.target if call else None) or "unknown"
        call_id = step.call_id or (call.call_id if call else None)
        timed = step.at_ms is not None
        answer = ToolAnswer(name, arguments, step.content, call_id, began, self.now, step.error, timed)
        self.found.append(answer)
        self._heard(step)

    def _called(self, step: Step) -> tuple[Step | None, float]:
        by_id = [one for one in self._open if step.call_id and one[0].call_id == step.call_id]
        named = [one for one in self._open if one[0].target == step.target]
        found = next(iter(by_id or named), None)
        if found is None:
            return None, self.now
        self._open = [one for one in self._open if one is not found]
        return found

    def _heard(self, step: Step) -> None:
        self.before.append(_message(step))
        self.waiting, self.asked = True, self.now

    def _tick(self, step: Step) -> None:
        """Go on to when a step was there; one without a time takes what it took, or a moment."""
        took = max(step.duration_ms or 0.0, 1.0) * _MS
        self.now = self.now + took if step.at_ms is None else max(self.now, self.start + step.at_ms * _MS)

    def _began(self, *steps: Step) -> float:
        """When an answer began: as long before its end as it took, else when it was asked for."""
        took = max((step.duration_ms for step in steps if step.duration_ms is not None), default=None)
        return self.asked if took is None else max(self.now - took * _MS, self.asked)


def _is_history(step: Step) -> bool:
    """Say whether only a request's history shows a step of the assistant's: nobody saw it come."""
    if step.model or step.usage or step.duration_ms is not None:
        return False
    return bool(step.sources) and all(_HISTORY.match(source.at) for source in step.sources)


def _is_shared(one: Step, other: Step) -> bool:
    """Say whether one exchange shows both, and neither as history."""
    if _is_history(one):
        return False
    return bool({source.exchange for source in one.sources} & {source.exchange for source in other.sources})


def _added(steps: list[Step]) -> Usage | None:
    counted = [step.usage for step in steps if step.usage]
    return sum(counted, Usage()) if counted else None


def _parts(step: Step) -> list[Part]:
    """The parts that a step comes to (semconv's gen-ai-output-messages.json)."""
    if step.action == "calls":
        called = {"type": "tool_call", "name": step.target or "unknown", "arguments": step.arguments}
        return [{**called, "id": step.call_id} if step.call_id else called]
    if step.action == "thinks":
        return [{"type": "reasoning", "content": step.content}]
    said = step.content
    if isinstance(said, list | tuple) and all(isinstance(part, dict) and "type" in part for part in said):
        return [dict(part) for part in said if isinstance(part, dict)]  # pictures and the like, as they are
    return [{"type": "text", "content": said if isinstance(said, str) else exact_json.dumps(said)}]


def _message(step: Step) -> Message:
    """A message of a history (semconv's gen-ai-input-messages.json)."""
    if step.actor != "tool":
        return {"role": step.actor, "parts": _parts(step)}
    told: Part = {"type": "tool_call_response", "response": step.content}
    return {"role": "tool", "parts": [{**told, "id": step.call_id} if step.call_id else told]}
