"""What an agent answers over A2A: a message, or a task, whole or in updates.

https://a2a-protocol.org/latest/topics/life-of-a-task and .../specification/#streaming. What an agent says
while it works is no answer, and is told as a thought, as Google's ADK takes it; unless the task ends with
no other words. Artifacts are answers, and so is the message of the last state.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import a2a_parts
from abs_replay.decoders.events import Message, Part, Said, Thought, composed
from abs_replay.decoders.fields import obj, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.exact_json import Json, dumps, equal

_WORKING: Final = ("submitted", "working", "unknown", "unspecified")
_FAILED: Final = ("failed", "rejected", "canceled", "cancelled")
_ENDED: Final = ("completed", "input-required", "auth-required", *_FAILED)
_MEMBERS: Final = ("task", "message", "statusUpdate", "artifactUpdate")


@dataclass(frozen=True, slots=True)
class Update:
    """A result, with its place; `event` is its number in a stream."""

    value: Mapping[str, Any]
    at: str
    event: int | None = None

    def within(self, name: str) -> str:
        return self.at if self.event is not None else f"{self.at}.{name}"


@dataclass(slots=True)
class _Artifact:
    parts: list[Json]
    at: str
    first: int | None = None
    last: int | None = None


@dataclass(slots=True)
class Outcome:
    """What the updates of one answer come to."""

    task: str | None = None
    context: str | None = None
    state: str | None = None
    final: bool = False
    history: tuple[Message, ...] = ()
    _artifacts: dict[str, _Artifact] = field(default_factory=dict)
    _worked: list[Said] = field(default_factory=list)
    _last: Said | None = None
    _seen: set[str] = field(default_factory=set)

    @property
    def ended(self) -> bool:
        """Whether the agent has no more to say until it is asked again."""
        return self.final or self.state in _ENDED

    @property
    def error(self) -> str | None:
        """Why the task failed, in the agent's words."""
        if self.state not in _FAILED:
            return None
        words = self._last.content if self._last else None
        detail = words if isinstance(words, str) or words is None else dumps(words)
        return f"task {self.state}: {detail}" if detail else f"task {self.state}"

    def reply(self) -> Message | None:
        """Give what the agent said; None where that is nothing."""
        told: list[Part] = [Said(a2a_parts.content(a.parts), a.at) for a in self._artifacts.values()]
        if self._last and not any(isinstance(p, Said) and equal(p.content, self._last.content) for p in told):
            told.append(self._last)
        if not told and self.ended:
            told.extend(self._worked)
        else:
            words = [(one.content, one.at) for one in self._worked]
            told = [*(Thought(w if isinstance(w, str) else dumps(w), at) for w, at in words), *told]
        return composed("assistant", told, told[-1].at) if told else None

    def take(self, update: Update) -> None:
        """Take in one result."""
        inner = _unwrapped(update)
        value = inner.value
        self.context = text(value.get("contextId")) or text(value.get("sessionId")) or self.context
        if _is_message(value):
            self.final, self._last = True, a2a_parts.said(value, inner.at) or self._last
            return
        self.task = text(value.get("taskId")) or text(value.get("id")) or self.task
        self.final = self.final or value.get("final") is True
        artifacts = value.get("artifacts")
        if isinstance(artifacts, list):
            self._snapshot(artifacts, inner)
        if isinstance(value.get("artifact"), dict):
            self._chunk(value["artifact"], value, inner)
        if isinstance(value.get("status"), dict):
            self._status(value["status"], inner)
        if isinstance(value.get("history"), list):
            self._history(value["history"], inner)

    def _status(self, status: Mapping[str, Any], update: Update) -> None:
        self.state = _state(status) or self.state
        message = obj(status.get("message"))
        said = a2a_parts.said(message, update.within("status.message"))
        named = text(message.get("messageId")) or (dumps(said.content) if said else "")
        if said is None or named in self._seen:
            return
        self._seen.add(named)
        if self.state in _WORKING and not update.value.get("final"):
            self._worked.append(said)
        else:
            self._last = said

    def _snapshot(self, artifacts: Sequence[Any], update: Update) -> None:
        """Take in a task's artifacts as they stand: what came in chunks is in them."""
        found: dict[str, _Artifact] = {}
        for number, artifact in enumerate(artifacts):
            parts = a2a_parts.parts_of(obj(artifact))
            name = _name(obj(artifact), number)
            if parts and name in self._artifacts and equal(self._artifacts[name].parts, parts):
                found[name] = self._artifacts[name]
            elif parts:
                at = update.within(f"artifacts[{number}]")
                found[name] = _Artifact(parts, at, update.event, update.event)
        self._artifacts = {**self._artifacts, **found}

    def _chunk(self, artifact: Mapping[str, Any], event: Mapping[str, Any], update: Update) -> None:
        parts = a2a_parts.parts_of(artifact)
        name, number = _name(artifact, 0), update.event
        before = self._artifacts.get(name)
        # Before 0.2 the artifact itself says whether it goes on.
        if before and (event.get("append") is True or artifact.get("append") is True):
            before.parts = a2a_parts.appended(before.parts, parts)
            before.last = number
            if before.first is not None and number is not None:
                before.at = place(EVENTS, before.first, number)
        elif parts:
            self._artifacts[name] = _Artifact(parts, update.within("artifact"), number, number)

    def _history(self, history: Iterable[Any], update: Update) -> None:
        found = [a2a_parts.message(one, update.within("history")) for one in history if isinstance(one, dict)]
        self.history = tuple(found)


def _unwrapped(update: Update) -> Update:
    """Give what a result of version 1.0 holds under the name of its kind."""
    for name in _MEMBERS:
        inner = update.value.get(name)
        if isinstance(inner, dict) and "kind" not in update.value and "status" not in update.value:
            return Update(inner, update.within(name), update.event)
    return update


def _is_message(value: Mapping[str, Any]) -> bool:
    return "status" not in value and ("messageId" in value or "role" in value)


def _name(artifact: Mapping[str, Any], number: int) -> str:
    return text(artifact.get("artifactId")) or dumps(artifact.get("index", number))


def _state(status: Mapping[str, Any]) -> str | None:
    """Give a state in the words of before 1.0: `TASK_STATE_INPUT_REQUIRED` is `input-required`."""
    state = text(status.get("state"))
    return state.lower().removeprefix("task_state_").replace("_", "-") if state else None
