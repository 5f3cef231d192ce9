"""Items of OpenAI's Responses API, as answers hold them in `output` and requests in `input`.

https://platform.openai.com/docs/api-reference/responses/object (output). Neighbouring items of the
assistant are one message, in an answer as in the request that repeats it: words, thoughts, calls for
the client, and calls that the vendor carried out with their results.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from abs_replay.decoders import chat_messages, responses_tools
from abs_replay.decoders.events import Call, Message, Part, Said, Served, Thought, composed
from abs_replay.decoders.fields import items, obj, structure, text
from abs_replay.decoders.histories import LONGEST
from abs_replay.decoders.responses_tools import is_call, is_hosted, is_result, key, kind

_ROLES: Final = {"developer": "system"}
_COMPACTED: Final = ("compaction", "compaction_summary")


@dataclass(frozen=True, slots=True)
class Read:
    """What items hold: messages in order, whether they begin with a compacted history, and what is
    not told. `compaction` is the id of that history where they show nothing of it besides."""

    messages: tuple[Message, ...] = ()
    compacted: bool = False
    remarks: tuple[str, ...] = ()
    compaction: str | None = None


def reply(output: Sequence[Any], places: Sequence[str], at: str) -> tuple[Message, tuple[str, ...]]:
    """Make the answer's message of its items, and say what it does not show; `places` are the items'."""
    reader = _Reader(list(zip(map(obj, output), places, strict=True)), answer=True)
    return _composed(reader.parts, at), reader.told()


def history(values: Any, at: str) -> Read:
    """Read a request's input: a text, or items."""
    if isinstance(values, str):
        return Read((Message("user", values, at=at),))
    found = [(one, f"{at}[{i}]") for i, one in enumerate(items(values)) if isinstance(one, dict)]
    reader = _Reader(found, answer=False)
    reader.close()
    compactions = [item for item, _ in found if item.get("type") in _COMPACTED]
    new = compactions[:1] and compactions[0] is found[0][0] and all(m.role == "user" for m in reader.messages)
    compaction = compaction_id(compactions) if new else None
    return Read(tuple(reader.messages), bool(compactions), reader.told(), compaction)


def compaction_id(values: Sequence[Any]) -> str | None:
    """Give the id that the last compaction among items has."""
    found = [text(obj(value).get("id")) for value in values if kind(obj(value)) in _COMPACTED]
    return found[-1] if found else None


type _Placed = tuple[Mapping[str, Any], str]


@dataclass(slots=True)
class _Reader:
    """Reads items in order. In an answer every result is the vendor's; in a request, those of calls
    that the vendor carries out."""

    given: Sequence[_Placed]
    answer: bool
    messages: list[Message] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    _began: str = ""  # where the assistant's message does
    _last: Mapping[str, Any] = field(default_factory=dict)
    _results: dict[tuple[str, str | None], list[_Placed]] = field(default_factory=dict)
    _joined: set[int] = field(default_factory=set)  # results that stand with their calls
    _names: dict[str, str] = field(default_factory=dict)
    _silent: dict[str, int] = field(default_factory=dict)
    _remarks: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        kinds = [kind(item) for item, _ in self.given]
        named = list(zip(kinds, self.given, strict=True))
        hosted = {key(item) for name, (item, _) in named if is_call(name) and is_hosted(item)}
        for name, (item, at) in named if hosted or self.answer else ():
            if is_result(name) and (self.answer or key(item) in hosted):
                self._results.setdefault(key(item), []).append((item, at))
        for name, (item, at) in named:
            self._item(name, item, at)

    def _item(self, name: str, item: Mapping[str, Any], at: str) -> None:
        if name == "message":
            self._message(item, at)
        elif name == "reasoning":
            self._add(_thoughts(item, at), item, at)
        elif is_call(name):
            self._call(item, at)
        elif is_result(name):
            self._result(item, at)
        elif self.answer or name not in (*_COMPACTED, "mcp_list_tools"):
            self._untold(name, item)

    def _message(self, item: Mapping[str, Any], at: str) -> None:
        role = text(item.get("role")) or "assistant"
        if role != "assistant" and not self.answer:
            self.close()
            self.messages.append(_said(_ROLES.get(role, role), item.get("content"), at))
            return
        if kind(self._last) == "message" and not text(item.get("id")):
            # Two messages without ids are two answers; those of one answer bear its ids.
            self.close()
        self._add(chat_messages.words(item.get("content"), at, numbered=False), item, at)
        notes = [note for part in items(item.get("content")) for note in items(obj(part).get("annotations"))]
        if self.answer:
            self._remarks += chat_messages.annotated(notes)

    def _call(self, item: Mapping[str, Any], at: str) -> None:
        name = kind(item)
        if name not in responses_tools.KNOWN and self.answer:
            self._remarks.append(f"item {name} is not known: its fields are told as arguments")
        self._noted(item)
        done = responses_tools.served(item, at)
        asked = None if done else responses_tools.call(item, at)
        if asked and asked.call_id:
            self._names[asked.call_id] = asked.name
        part = done or (asked and self._carried_out(asked, item))
        if part:
            self._add([part], item, at)
        else:
            self._remarks.append(f"item {name} has no name")

    def _carried_out(self, asked: Call, item: Mapping[str, Any]) -> Part:
        """Join a call with its result where the vendor carried it out, else leave it to the client.

        An unknown tool that gives no id to answer to is the vendor's, as are all known ones of that kind.
        """
        waiting = self._results.get(key(item)) if self._results else None
        if waiting:
            result, place = waiting.pop(0)
            self._joined.add(id(result))
            return responses_tools.joined(asked, result, place)
        unknown = asked.call_id is None and kind(item) not in responses_tools.KNOWN
        return Served(asked, answered=False, at=asked.at) if unknown or is_hosted(item) else asked

    def _noted(self, item: Mapping[str, Any]) -> None:
        """Keep what a call's name does not say: its server, its namespace."""
        if not self.answer or kind(item) == responses_tools.APPROVAL:
            return
        for beside in ("server_label", "namespace"):
            if text(item.get(beside)):
                self._remarks.append(f"{beside} of {item.get('name')}: {item[beside]}")

    def _result(self, item: Mapping[str, Any], at: str) -> None:
        if id(item) in self._joined:
            return
        call_id = responses_tools.answered_call(item)
        if self.answer:
            # Of a program that an earlier answer began.
            asked = Call(key(item)[0], {}, call_id, at)
            self._add([responses_tools.joined(asked, item, at)], item, at)
            return
        self.close()
        name = text(item.get("name")) or self._names.get(call_id or "")
        self.messages.append(_answered(item, call_id, name, at))

    def _untold(self, name: str, item: Mapping[str, Any]) -> None:
        if name != "mcp_list_tools":
            self._silent[name] = self._silent.get(name, 0) + 1
            return
        failed = text(item.get("error"))
        listed = failed or ", ".join(text(obj(tool).get("name")) or "?" for tool in items(item.get("tools")))
        self._remarks.append(f"mcp_list_tools of {item.get('server_label')}: {listed}")

    def _add(self, parts: Sequence[Part], item: Mapping[str, Any], at: str) -> None:
        self._began = self._began or at
        self._last = item
        self.parts += parts

    def close(self) -> None:
        """End the assistant's message."""
        if self.parts:
            self.messages.append(_composed(self.parts, self._began))
        self.parts, self._began, self._last = [], "", {}

    def told(self) -> tuple[str, ...]:
        """Say what the messages do not show."""
        silent = [f"item {name} is not traced: {number}" for name, number in self._silent.items()]
        return tuple(dict.fromkeys([*self._remarks, *silent]))


def _said(role: str, content: Any, at: str) -> Message:
    words = chat_messages.content(content)
    if isinstance(words, str) and len(words) <= LONGEST:
        return known(role, words, None, None, at)
    return Message(role, words, at=at)


def _answered(item: Mapping[str, Any], call_id: str | None, name: str | None, at: str) -> Message:
    output = item.get("output")
    short = isinstance(output, str) and len(output) <= LONGEST
    if short and item.get("status") in (None, "completed"):
        return known("tool", output, call_id, name, at)
    content, error = responses_tools.result(item)
    return Message("tool", content, (), call_id, name, at, error=error)


@lru_cache(8192)
def known(role: str, words: str, call_id: str | None, name: str | None, at: str) -> Message:
    """Read a message once: each request repeats its history."""
    return Message(role, structure(words) if role == "tool" else words, (), call_id, name, at)


def _composed(parts: Sequence[Part], at: str) -> Message:
    """Make an assistant's message; it stands where its words do, if they stand in one place."""
    told = chat_messages.without_void(parts)
    places = {part.at for part in told if isinstance(part, Said)}
    return composed("assistant", told, places.pop() if len(places) == 1 else at)


def _thoughts(item: Mapping[str, Any], at: str) -> list[Thought]:
    """Read what is shown of the reasoning: summaries are paragraphs, the text itself is one."""
    summaries = [words for part in items(item.get("summary")) if (words := text(obj(part).get("text")))]
    shown = [words for part in items(item.get("content")) if (words := text(obj(part).get("text")))]
    return [Thought(words, at) for words in ("\n\n".join(summaries), "".join(shown)) if words]
