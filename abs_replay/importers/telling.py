"""The steps of a conversation that a format keeps as messages, one behind the other.

A message becomes the steps that assembly would make of it (DESIGN, traces): the user says, the assistant
responds and calls, a tool responds, what was only thought is internal. Messages are those of the decoders.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import Call, Message, Part, Said, Served, Thought
from abs_replay.exact_json import Json
from abs_replay.importers import trace_file
from abs_replay.trace import Step, Trace, Usage, Visibility

TIMELESS: Final = "no times were kept: the steps have none"
LONGEST_TAG: Final = 20_000  # letters


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a message beside its words. `at` is when it was there, in Unix seconds.

    `hidden` is whether the user saw none of it: its words are internal, its calls are shown all the same.
    """

    at: float | None = None
    took_ms: float | None = None
    model: str | None = None
    usage: Usage | None = None
    error: str | None = None
    hidden: bool = False


NOTHING_KNOWN: Final = Facts()


class Teller:
    """Tells one conversation, message by message."""

    def __init__(self) -> None:
        self._told: list[tuple[float | None, Step]] = []
        self._open: list[tuple[Call, Visibility]] = []
        self._groups = 0

    def __len__(self) -> int:
        return len(self._told)

    def tell(self, message: Message, facts: Facts = NOTHING_KNOWN) -> None:
        """Tell a message."""
        if message.role == "assistant":
            self._answer(message, facts)
        elif message.role == "tool":
            self._result(message, facts)
        elif message.role == "user":
            self._user(message, facts)
        elif message.role == "system":
            self._add("system", "says", facts, content=message.content, visibility=_seen(facts))
        else:
            self._add("external", "says", facts, target=message.role, content=message.content)

    def fail(self, error: str, facts: Facts = NOTHING_KNOWN, target: str | None = None) -> None:
        """Tell that no answer came: nobody's words, so that no behavior takes them for one."""
        self._add("system", "fails", facts, target=target, error=error)

    def trace(
        self,
        tags: Mapping[str, str] | None = None,
        started_at: float | None = None,
        session: str | None = None,
    ) -> Trace:
        """Give the trace; its id is a digest of what it holds. `started_at` is for steps without times."""
        times = [at for at, _ in self._told if at is not None]
        start = min(times, default=started_at)
        steps = (_placed(step, at, start) for at, step in self._told)
        found = Trace("", tuple(steps), session=session, started_at=start, tags=tags or {})
        return replace(found, id=identity(found), agent_version=found.tags.get("agent_version"))

    def _user(self, message: Message, facts: Facts) -> None:
        """Tell what the user said; tools that a simulated user calls are no business of the agent's."""
        if message.content is not None or not message.calls:
            actor = "system" if facts.hidden else "user"
            self._add(actor, "says", facts, content=message.content, visibility=_seen(facts))
        for call in message.calls:
            self._call(call, facts, None, "user", Visibility.INTERNAL)

    def _answer(self, message: Message, facts: Facts) -> None:
        parts = message.parts or _parts(message)
        group = self._group() if sum(isinstance(part, Call) for part in parts) > 1 else None
        first = len(self._told)
        for part in parts:
            match part:
                case Said():
                    self._speak("responds", part.content, facts, _seen(facts))
                case Thought():
                    self._speak("thinks", part.text, facts, Visibility.INTERNAL)
                case Call():
                    self._call(part, facts, group)
                case Served():
                    self._served(part, facts)
        self._note(first, facts)

    def _group(self) -> str:
        self._groups += 1
        return f"p{self._groups}"

    def _speak(self, action: str, content: Json, facts: Facts, seen: Visibility) -> None:
        took = facts.took_ms
        self._add("assistant", action, facts, content=content, duration_ms=took, visibility=seen)

    def _call(
        self,
        call: Call,
        facts: Facts,
        group: str | None,
        actor: str = "assistant",
        seen: Visibility = Visibility.USER,
    ) -> None:
        self._open.append((call, seen))
        self._add(
            actor,
            "calls",
            facts,
            visibility=seen,
            target=call.name,
            arguments=call.arguments,
            call_id=call.call_id,
            parallel_group=group,
        )

    def _served(self, part: Served, facts: Facts) -> None:
        self._call(part.call, facts, None)
        if part.answered:
            message = Message(
                "tool", part.content, call_id=part.call.call_id, name=part.call.name, error=part.error
            )
            self._result(message, Facts(facts.at))

    def _result(self, message: Message, facts: Facts) -> None:
        call, seen = self._answered(message)
        self._add(
            "tool",
            "responds",
            facts,
            target=call.name if call else message.name,
            content=message.content,
            call_id=(call and call.call_id) or message.call_id,
            duration_ms=facts.took_ms,
            visibility=seen,
            error=message.error or facts.error,
        )

    def _answered(self, message: Message) -> tuple[Call | None, Visibility]:
        """Find the call that is answered: by id, else the first open one of that name."""
        by_id = [one for one in self._open if message.call_id and one[0].call_id == message.call_id]
        nameless = [one for one in self._open if not (message.call_id and one[0].call_id)]
        named = [one for one in nameless if message.name in (None, one[0].name)]
        found = next(iter(by_id or named), None)
        if found is None:
            return None, Visibility.USER
        self._open = [one for one in self._open if one is not found]
        return found

    def _note(self, first: int, facts: Facts) -> None:
        """Note model, tokens and error of an answer where assembly does."""
        made = range(first, len(self._told))
        own = [index for index in made if self._told[index][1].actor == "assistant"]
        for index in own:
            self._change(index, model=facts.model)
        said = next((index for index in own if self._told[index][1].action != "thinks"), None)
        for index in own[:1] if said is None else [said]:
            self._change(index, usage=facts.usage, error=facts.error)

    def _change(self, index: int, **fields: Any) -> None:
        at, step = self._told[index]
        self._told[index] = at, replace(step, **fields)

    def _add(self, actor: str, action: str, facts: Facts, **fields: Any) -> None:
        self._told.append((facts.at, Step(len(self._told) + 1, actor, action, **fields)))


def _parts(message: Message) -> tuple[Part, ...]:
    """The parts of a plain message: its words, then its calls."""
    unsaid = message.content in (None, "") and bool(message.calls)
    return (*(() if unsaid else (Said(message.content),)), *message.calls)


def _seen(facts: Facts) -> Visibility:
    return Visibility.INTERNAL if facts.hidden else Visibility.USER


def _placed(step: Step, at: float | None, start: float | None) -> Step:
    return step if at is None or start is None else replace(step, at_ms=round((at - start) * 1000, 3))


def identity(trace: Trace) -> str:
    """An id that is the same for the same content."""
    data = exact_json.dumps(trace_file.as_json(trace)).encode("utf-8", "surrogatepass")
    return f"t-{hashlib.sha256(data).hexdigest()[:12]}"


def moment(value: Any) -> float | None:
    """A time as logs write it, in Unix seconds: ISO 8601, or a number of seconds or milliseconds.

    Without an offset it is UTC: what a file says must not depend on where it is read.
    """
    if isinstance(value, str):
        return _iso(value)
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    found = found / 1000 if found > 1e11 else found
    return found if 0 < found < 1e11 else None


def _iso(text: str) -> float | None:
    try:
        found = datetime.fromisoformat(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def tagged(pairs: Iterable[tuple[str, Any]]) -> dict[str, str]:
    """Make tags of what a format says beside the words: what is nothing, or too long, is left out."""
    shown = ((key, _shown(value)) for key, value in pairs)
    return {key: text for key, text in shown if text is not None and len(text) <= LONGEST_TAG}


def _shown(value: Any) -> str | None:
    if value is None or value in ("", [], {}):
        return None
    return value if isinstance(value, str) else exact_json.dumps(value)


def scalars(values: Mapping[str, Any], but: Iterable[str] = ()) -> Iterable[tuple[str, Any]]:
    """The fields of an object that are no lists or objects."""
    left_out = set(but)
    return ((k, v) for k, v in values.items() if k not in left_out and not isinstance(v, dict | list))
