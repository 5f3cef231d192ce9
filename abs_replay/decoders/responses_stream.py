"""A streamed answer of OpenAI's Responses API put together.

https://platform.openai.com/docs/api-reference/responses-streaming. The last event holds the whole
answer; where it never came, or leaves the items out, they are those of `response.output_item.done`, and
of an item that broke off what its deltas gave. Items go by `output_index`: ids change between the
events of one item (GitHub Copilot). Events go by the `type` in their data, which servers always send.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from abs_replay.decoders import sse
from abs_replay.decoders.fields import count, items, obj, parse_or_none, text
from abs_replay.decoders.openai_api import error_words
from abs_replay.decoders.places import EVENTS, place

_LAST: Final = ("completed", "incomplete", "failed", "cancelled", "done")
# Where a delta's text belongs: the kind of item that it tells of, and the way to the text in it. A name
# in brackets numbers the parts of a list, and the last name is that of the text.
TEXTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "output_text": ("message", ("content", "[content_index]", "text")),
    "refusal": ("message", ("content", "[content_index]", "refusal")),
    "reasoning_text": ("reasoning", ("content", "[content_index]", "text")),
    "reasoning_summary_text": ("reasoning", ("summary", "[summary_index]", "text")),
    "function_call_arguments": ("function_call", ("arguments",)),
    "custom_tool_call_input": ("custom_tool_call", ("input",)),
    "mcp_call_arguments": ("mcp_call", ("arguments",)),
    "code_interpreter_call_code": ("code_interpreter_call", ("code",)),
    "apply_patch_call_operation_diff": ("apply_patch_call", ("operation", "diff")),
    "shell_call_command": ("shell_call", ("action", "commands", "[command_index]")),
}
_PART_KINDS: Final = {"text": "output_text", "refusal": "refusal"}

type _Way = tuple[str | int, ...]


@dataclass(slots=True)
class _Item:
    """An item as its events tell it, and the events that do."""

    first: int
    last: int
    shell: Mapping[str, Any] = field(default_factory=dict)
    done: bool = False
    texts: dict[_Way, list[str]] = field(default_factory=dict)

    def whole(self) -> Mapping[str, Any]:
        """Give the item, with the texts that came for it."""
        if self.done or not self.texts:
            return self.shell
        found: dict[str, Any] = dict(self.shell)
        for way in sorted(self.texts):
            _put(found, way, "".join(self.texts[way]))
        return found

    @property
    def at(self) -> str:
        return place(EVENTS, self.first, self.last)


def _put(inner: Any, way: _Way, value: str) -> None:
    """Put a text into an item. Objects on the way are copied, for they may be shared; a part that is
    numbered beyond the end of its list is the next one."""
    for name, following in pairwise(way):
        known = inner[name] if isinstance(name, int) and name < len(inner) else None
        known = known if isinstance(name, int) else inner.get(name)
        fresh = list(items(known)) if isinstance(following, int) else dict(obj(known))
        inner = _set(inner, name, fresh)
    _set(inner, way[-1], value)
    if isinstance(inner, dict) and way[-1] in _PART_KINDS:
        inner.setdefault("type", _PART_KINDS[str(way[-1])])


def _set(inner: Any, name: str | int, value: Any) -> Any:
    if isinstance(name, int) and name >= len(inner):
        inner.append(value)
    else:
        inner[name] = value
    return value


@dataclass(slots=True)
class Streamed:
    """What the events came to. `response` is the answer, its `output` the items as far as they came;
    `places` say which events show each. `ended` where the last event came."""

    response: dict[str, Any] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)
    error: str | None = None
    ended: bool = False
    remarks: list[str] = field(default_factory=list)
    _items: dict[int, _Item] = field(default_factory=dict)
    _last: int | None = None

    def event(self, number: int, event: sse.Event) -> None:
        if event.data.strip() == "[DONE]":
            self.ended = True  # OpenRouter's, after the last event
            return
        body = parse_or_none(event.data)
        if not isinstance(body, dict):
            self.remarks += ["an event is no JSON"] if event.data.strip() else []
            return
        name = text(body.get("type")) or event.name
        if name == "error" or (body.get("error") is not None and "response" not in body):
            self.error = error_words(body) or event.data[:200]
        elif isinstance(body.get("response"), dict):
            self._snapshot(name.removeprefix("response."), body["response"], number)
        elif isinstance(body.get("output_index"), int):
            self._of_item(name.removeprefix("response."), body, number)

    def _snapshot(self, name: str, response: Mapping[str, Any], number: int) -> None:
        self.response = {**self.response, **response}
        if name in _LAST:
            self.ended, self._last = True, number

    def _of_item(self, name: str, body: Mapping[str, Any], number: int) -> None:
        item = self._items.setdefault(body["output_index"], _Item(number, number))
        item.last = number
        if isinstance(body.get("item"), dict):
            item.shell, item.done = body["item"], name == "output_item.done"
            return
        stem, _, step = name.rpartition(".")
        kind, way = TEXTS.get(stem, ("", ()))
        if not kind:
            return
        item.shell = item.shell or (
            {"type": kind, "role": "assistant"} if kind == "message" else {"type": kind}
        )
        slot = tuple(count(body.get(one[1:-1])) if one.startswith("[") else one for one in way)
        piece = body.get("delta" if step == "delta" else _field(way))
        if isinstance(piece, str):
            known = item.texts.setdefault(slot, [])
            if step != "delta":
                known.clear()  # the whole text
            known.append(piece)

    def close(self) -> None:
        """Give the answer its items, where its last event did not."""
        given = items(self.response.get("output"))
        if given and self._last is not None:
            known = {name: one for one in self._items.values() if (name := text(one.shell.get("id")))}
            named = [known.get(text(obj(item).get("id")) or "") for item in given]
            self.places = [
                self._place(same or self._items.get(index), obj(item), self._last)
                for index, (item, same) in enumerate(zip(given, named, strict=True))
            ]
            return
        ordered = [self._items[index] for index in sorted(self._items)]
        self.response["output"] = [item.whole() for item in ordered]
        self.places = [item.at for item in ordered]

    def _place(self, known: _Item | None, item: Mapping[str, Any], last: int) -> str:
        """Name the events of an item that the last event repeats; some leave items out."""
        fits = known is not None and known.shell.get("type") == item.get("type")
        return known.at if known and fits else place(EVENTS, last, last)

    @property
    def at(self) -> str:
        """Name the events of all items."""
        spans = list(self._items.values())
        if not spans:
            return "response" if self._last is None else place(EVENTS, self._last, self._last)
        return place(EVENTS, min(one.first for one in spans), max(one.last for one in spans))


def _field(way: tuple[str, ...]) -> str:
    return "command" if way[-1].startswith("[") else way[-1]


def streamed(events: Iterable[sse.Event]) -> Streamed:
    """Put the events of a body together."""
    found = Streamed()
    for number, event in enumerate(events):
        found.event(number, event)
    found.close()
    return found
