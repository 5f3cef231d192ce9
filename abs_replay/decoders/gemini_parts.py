"""The parts of Gemini's contents, in answers and in the history that repeats them.

https://ai.google.dev/api/caching#Part. Keys are camelCase in answers, and snake_case in what some
clients send. A call has no id where the API gives none; what Google's side carries out itself
(`executableCode`, `toolCall`) is served.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import media
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.events import Call, Part, Said, Served
from abs_replay.decoders.fields import items, obj, text
from abs_replay.decoders.partial_args import PartialArgs
from abs_replay.decoders.places import place
from abs_replay.decoders.runs import Runs
from abs_replay.exact_json import Json

_DATA: Final = {
    "functionCall": "functionCall",
    "function_call": "functionCall",
    "executableCode": "executableCode",
    "executable_code": "executableCode",
    "codeExecutionResult": "codeExecutionResult",
    "code_execution_result": "codeExecutionResult",
    "toolCall": "toolCall",
    "tool_call": "toolCall",
    "toolResponse": "toolResponse",
    "tool_response": "toolResponse",
    "inlineData": "inlineData",
    "inline_data": "inlineData",
    "fileData": "fileData",
    "file_data": "fileData",
}
# What stands beside a part's data, and says nothing of its own.
_BESIDE: Final = frozenset(
    [
        "text",
        "thought",
        "thoughtSignature",
        "thought_signature",
        "videoMetadata",
        "video_metadata",
        "mediaResolution",
        "media_resolution",
        "mediaProcessing",
        "media_processing",
        "partMetadata",
        "part_metadata",
        "speechMetadata",
        "audioMetadata",
        "documentMetadata",
        "spreadsheetMetadata",
    ]
)
# https://ai.google.dev/api/caching#Outcome; numbers where the client asked for `enum-encoding=int`.
_OUTCOMES: Final = {2: "OUTCOME_FAILED", 3: "OUTCOME_DEADLINE_EXCEEDED"}
_CODE: Final = "code_execution"  # the tool's name in a request's `tools`


def pick(fields: Mapping[str, Any], camel: str, snake: str) -> Any:
    """Give a field under either of its names."""
    value = fields.get(camel)
    return fields.get(snake) if value is None else value


@dataclass(slots=True)
class _Open:
    """A call whose arguments are still coming."""

    position: int
    call: Call
    base: str
    first: int
    last: int
    args: PartialArgs = field(default_factory=PartialArgs)

    def whole(self) -> Call:
        at = place(self.base, self.first, self.last)
        return replace(self.call, arguments=self.args.arguments(), at=at)


@dataclass(slots=True)
class Reader:
    """Reads parts in order, from one content or from the pieces of a stream."""

    runs: Runs = field(default_factory=Runs)
    remarks: list[str] = field(default_factory=list)
    _open: _Open | None = None
    _waiting: list[tuple[int, Served]] = field(default_factory=list)

    def part(self, value: Any, base: str, index: int) -> None:
        """Read one part, which stands at `base[index]`."""
        fields = obj(value)
        words = fields.get("text") if fields else value
        if isinstance(words, str):
            self._words(words, fields.get("thought") is True, base, index)
            if len(fields) == 1:
                return
        for key, item in fields.items():
            if key not in _BESIDE and item is not None:
                self._data(key, item, fields.get("thought") is True, base, index)

    def _words(self, words: str, thought: bool, base: str, index: int) -> None:
        if words and thought:
            self.runs.thought(words, base, index)
        elif words:
            self.runs.said(words, base, index)

    def _data(self, key: str, item: Any, thought: bool, base: str, index: int) -> None:
        fields, at = obj(item), f"{base}[{index}]"
        match _DATA.get(key):
            case "functionCall":
                self._call(fields, base, index)
            case "executableCode":
                asked = {name: fields[name] for name in ("language", "code") if name in fields}
                self._serve(Call(_CODE, asked, text(fields.get("id")), at))
            case "codeExecutionResult":
                self._served(_CODE, fields, fields.get("output"), _outcome(fields), at)
            case "toolCall":
                self._serve(Call(_tool(fields), arguments(fields.get("args")), text(fields.get("id")), at))
            case "toolResponse":
                self._served(_tool(fields), fields, fields.get("response"), None, at)
            case "inlineData" | "fileData" as kind:
                self._media({kind: named(fields)}, thought, base, index)
            case _:
                self.runs.add(Said({key: item}, at))
                self.remarks.append(f"a part {key} is not known")

    def _media(self, what: Json, thought: bool, base: str, index: int) -> None:
        if thought:
            self.runs.thought(exact_json.dumps(what), base, index)
        else:
            self.runs.add(Said(what, f"{base}[{index}]"))

    def _call(self, fields: Mapping[str, Any], base: str, index: int) -> None:
        name = text(fields.get("name"))
        goes_on = pick(fields, "willContinue", "will_continue") is True
        pieces = items(pick(fields, "partialArgs", "partial_args"))
        if name:
            self._close()
            call = Call(name, arguments(fields.get("args")), text(fields.get("id")), f"{base}[{index}]")
            position = self.runs.add(call)
            if goes_on or pieces:
                self._open = _Open(position, call, base, index, index)
        elif self._open is None:
            self.remarks.append("a functionCall has no name")
        if self._open is None:
            return
        self._open.last = index if base == self._open.base else self._open.last
        self._open.args.value.update(obj(fields.get("args")))
        for piece in pieces:
            self._open.args.add(obj(piece))
        if not goes_on:
            self._close()

    def _close(self) -> None:
        """End the call that is still open, with the arguments that came."""
        if self._open:
            self.runs.replace(self._open.position, self._open.whole())
            if self._open.args.lost:
                self.remarks.append(f"a partial argument of {self._open.call.name} has no usable path")
            self._open = None

    def _serve(self, call: Call) -> None:
        served = Served(call, answered=False, at=call.at)
        self._waiting.append((self.runs.add(served), served))

    def _served(
        self, name: str, fields: Mapping[str, Any], content: Json, error: str | None, at: str
    ) -> None:
        """Join a result to the call of its id, else to the first that waits."""
        call_id = text(fields.get("id"))
        of_name = [(i, one) for i, one in self._waiting if one.call.name == name]
        known = [pair for pair in of_name if pair[1].call.call_id == call_id] or (
            of_name if not call_id else []
        )
        if not known:
            self.runs.add(Served(Call(name, {}, call_id, at), content, error, at=at))
            return
        position, served = known[0]
        self._waiting.remove(known[0])
        self.runs.replace(position, replace(served, content=content, error=error, answered=True, at=at))

    def parts(self) -> list[Part]:
        """Give all parts so far."""
        self._close()
        return self.runs.parts()


def _outcome(fields: Mapping[str, Any]) -> str | None:
    outcome = fields.get("outcome")
    found = _OUTCOMES.get(outcome) if isinstance(outcome, int) else text(outcome)
    return None if found in ("OUTCOME_OK", "OUTCOME_UNSPECIFIED") else found


def _tool(fields: Mapping[str, Any]) -> str:
    """Name a server's tool as a request declares it: the searches for text and pictures are one tool."""
    kind = text(pick(fields, "toolType", "tool_type")) or "server_tool"
    return kind.lower().removesuffix("_web").removesuffix("_image")


def named(fields: Mapping[str, Any]) -> Json:
    """Name a file or bytes: type, address, size and digest, not the bytes."""
    data = fields.get("data")
    told = {
        "mimeType": pick(fields, "mimeType", "mime_type"),
        "fileUri": pick(fields, "fileUri", "file_uri"),
        "displayName": pick(fields, "displayName", "display_name"),
    }
    named = {key: value for key, value in told.items() if value is not None}
    return named | media.named(data) if isinstance(data, str) else named
