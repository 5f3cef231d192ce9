"""A chat message put together from the deltas of a stream, in the order in which its parts began.

https://platform.openai.com/docs/api-reference/chat-streaming. Its words are one text however thoughts
and calls lie between their pieces, for that is how a plain answer and the next request show them; only
content in parts (Mistral) tells that words came before and after a thought.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from abs_replay.decoders import chat_messages
from abs_replay.decoders.events import Call, Message, Part, Said, Thought, composed
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.decoders.places import EVENTS, place
from abs_replay.exact_json import Json

# What a piece of a kind ends: words after a thought, or a picture, are other words.
_ENDS: Final[Mapping[str, tuple[str, ...]]] = {
    "thought": ("text", "structure"),
    "text": ("thought", "structure"),
    "structure": ("text", "thought", "structure"),
}
_PLAIN: Final = frozenset(("role", "content"))
_UNSAID: Final = ("thought", "reasoning")


@dataclass(slots=True)
class _Span:
    """The events that show a thing."""

    first: int
    last: int

    @property
    def at(self) -> str:
        return place(EVENTS, self.first, self.last)


@dataclass(slots=True)
class _Run:
    """Pieces of one kind that belong together."""

    kind: str
    span: _Span
    pieces: list[Any]

    def part(self) -> Said | Thought:
        content = self.pieces[0] if self.kind == "structure" else "".join(self.pieces)
        return (Thought if self.kind in _UNSAID else Said)(content, self.span.at)


@dataclass(slots=True)
class _CallParts:
    """A call as its deltas build it; id and name may be repeated in each, so the first one counts."""

    index: int
    span: _Span
    call_id: str | None = None
    name: str | None = None
    pieces: list[str] = field(default_factory=list)
    whole: Json = None  # arguments that came as an object

    def add(self, delta: Mapping[str, Any], number: int) -> None:
        name, given = chat_messages.asked(delta)
        self.call_id = self.call_id or text(delta.get("id"))
        self.name = self.name or text(name)
        self.span.last = number
        if isinstance(given, str):
            self.pieces.append(given)
        elif given is not None:
            self.whole = given

    def is_before(self, delta: Mapping[str, Any]) -> bool:
        """Say whether a delta begins another call: it has a name, and this one is whole."""
        name, _ = chat_messages.asked(delta)
        # Servers that repeat the name in each delta would have all of them read each time.
        closed = bool(self.pieces) and self.pieces[-1].rstrip().endswith("}")
        return closed and bool(text(name)) and isinstance(parse_or_none("".join(self.pieces)), dict)

    def call(self) -> Call | None:
        given = "".join(self.pieces) or self.whole
        return chat_messages.called(self.name, given, self.call_id, self.span.at)


@dataclass(slots=True)
class Deltas:
    """What the deltas so far came to. `number` is the event that a delta stands in."""

    _runs: list[_Run] = field(default_factory=list)
    _open: dict[str, _Run] = field(default_factory=dict)
    _calls: list[_CallParts] = field(default_factory=list)
    _numbered: dict[int, _CallParts] = field(default_factory=dict)
    _named: dict[str, _CallParts] = field(default_factory=dict)
    _served: dict[int, tuple[_Span, dict[str, Any]]] = field(default_factory=dict)
    _empty: int | None = None  # the first event whose words are empty

    def add(self, delta: Mapping[str, Any], number: int) -> None:
        if delta.keys() <= _PLAIN:  # as most are
            self._content(delta.get("content"), number)
            return
        for thought in chat_messages.reasoning(delta, ""):
            self._piece("reasoning", thought.text, number)
        for position, tool in enumerate(items(delta.get("executed_tools"))):
            self._tool(obj(tool), position, number)
        self._content(delta.get("content"), number)
        for image in items(delta.get("images")):
            self._piece("structure", image, number)
        self._piece("refusal", text(delta.get("refusal")), number)
        self._piece("audio", chat_messages.transcript(delta.get("audio")), number)
        for position, call in enumerate(items(delta.get("tool_calls"))):
            if isinstance(call, dict):
                self._call(call, position, number)
        if single := obj(delta.get("function_call")):
            self._call({"function": single, "index": 0}, 0, number)

    def add_whole(self, message: Mapping[str, Any], number: int) -> None:
        """Add a message that stands where a delta should: some servers end with the whole of it."""
        known = "".join(piece for run in self._runs if run.kind == "text" for piece in run.pieces)
        if not known and not self._calls:
            self.add(message, number)
            return
        said, calls = message.get("content"), None if self._calls else message.get("tool_calls")
        rest = said.removeprefix(known) if isinstance(said, str) else None
        self.add({"content": rest, "tool_calls": calls}, number)

    def _content(self, value: Any, number: int) -> None:
        if isinstance(value, str):
            self._piece("text", value, number)
        elif isinstance(value, list):
            for part in value:
                self._piece(*chat_messages.sorted_out(part), number)
        else:
            self._piece("structure", value, number)

    def _piece(self, kind: str, piece: Any, number: int) -> None:
        if piece == "" and self._empty is None:
            self._empty = number
        if piece is None or piece == "" or kind == "reference":
            return
        for ended in _ENDS.get(kind, ()):
            self._open.pop(ended, None)
        run = self._open.get(kind)
        if run is None:
            run = self._open[kind] = _Run(kind, _Span(number, number), [])
            self._runs.append(run)
        run.pieces.append(piece)
        run.span.last = number

    def _tool(self, tool: Mapping[str, Any], position: int, number: int) -> None:
        """Take in what an event tells of a tool that the server ran: first the call, then its result."""
        index = tool["index"] if isinstance(tool.get("index"), int) else position
        span, known = self._served.setdefault(index, (_Span(number, number), {}))
        span.last = number
        known.update((key, value) for key, value in tool.items() if value is not None)

    def _call(self, delta: Mapping[str, Any], position: int, number: int) -> None:
        known = self._known(delta, position)
        if known is None:
            index = delta["index"] if isinstance(delta.get("index"), int) else len(self._calls)
            known = self._numbered[index] = _CallParts(index, _Span(number, number))
            self._calls.append(known)
        known.add(delta, number)
        if known.call_id:
            self._named.setdefault(known.call_id, known)

    def _known(self, delta: Mapping[str, Any], position: int) -> _CallParts | None:
        """Find the call that a delta goes on with. Servers that leave the index out send whole calls
        (Mistral), and some number all of them 0 (Gemini's compatible endpoint)."""
        index, call_id = delta.get("index"), text(delta.get("id"))
        if isinstance(index, int):
            known = self._numbered.get(index)
            other = known and call_id and known.call_id not in (None, call_id)
            return None if known and other and known.is_before(delta) else known
        if call_id:
            return self._named.get(call_id)
        last = self._calls[-1] if self._calls and not position else None
        return None if last and last.is_before(delta) else last

    def message(self) -> Message:
        """Give the message so far."""
        runs = self._heard()
        told: list[tuple[int, Part]] = [(run.span.first, run.part()) for run in runs]
        for span, tool in self._served.values():
            if part := chat_messages.served(tool, span.at):
                told.append((span.first, part))
        begun = min((one.span.first for one in self._calls), default=0)
        ordered = sorted(self._calls, key=lambda one: one.index)
        told += [(begun, call) for one in ordered if (call := one.call())]
        if not told and self._empty is not None:
            told = [(0, Said("", place(EVENTS, self._empty, self._empty)))]
        parts = [part for _, part in sorted(told, key=lambda pair: pair[0])]
        return composed("assistant", parts, self._at(runs))

    def _heard(self) -> list[_Run]:
        """Give the runs; what an answer says aloud is its words only where it writes none."""
        written = any(run.kind in ("text", "structure") for run in self._runs)
        return [run for run in self._runs if run.kind != "audio" or not written]

    def _at(self, runs: list[_Run]) -> str:
        """Name the events of the words, or of all there is where there are none."""
        said = [run.span for run in runs if run.kind not in _UNSAID]
        every = [*(run.span for run in runs), *(one.span for one in self._calls)]
        spans = said or [*every, *(span for span, _ in self._served.values())]
        if not spans:
            return "response" if self._empty is None else place(EVENTS, self._empty, self._empty)
        return place(EVENTS, min(span.first for span in spans), max(span.last for span in spans))
