"""The history that a Gemini request sends: `systemInstruction` and `contents`.

https://ai.google.dev/api/generate-content#request-body. A content of role `user` may hold what tools
answered, which are messages of their own. SDKs send a streamed answer back in as many contents as it
had chunks: neighbouring ones of the model are one message.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from abs_replay import exact_json
from abs_replay.decoders.answered import attributed
from abs_replay.decoders.events import Message, Said
from abs_replay.decoders.fields import items, obj, structure, text
from abs_replay.decoders.gemini_parts import Reader, named, pick
from abs_replay.decoders.runs import Runs, message
from abs_replay.exact_json import Json

_ROLES: Final = {"model": "assistant", "assistant": "assistant", "system": "system"}


def history(body: Mapping[str, Any]) -> tuple[Message, ...]:
    """Read all messages of a request."""
    reading = _Reading()
    key = "systemInstruction" if "systemInstruction" in body else "system_instruction"
    if body.get(key):
        reading.content(body[key], "system", f"request.{key}")
    for index, content in enumerate(contents(body)):
        fields = obj(content)
        named = text(fields.get("role")) or ""
        reading.content(fields, _ROLES.get(named.lower(), "user"), f"request.contents[{index}]")
    return attributed(reading.messages())


def contents(body: Mapping[str, Any]) -> list[Any]:
    """Give the contents of a request; one alone may stand without a list."""
    value = body.get("contents")
    return [value] if isinstance(value, dict) else items(value)


@dataclass(slots=True)
class _Reading:
    """The messages so far, and the one that is still being read."""

    found: list[Message] = field(default_factory=list)
    role: str = ""
    at: str = ""
    reader: Reader | None = None

    def content(self, value: Any, role: str, at: str) -> None:
        """Read a content's parts; only the model's words may go on from the content before."""
        if role != "assistant" or self.role != role:
            self._end()
        words = _words(value) if role != "assistant" else None
        if words:
            self.found.append(message(role, [Said(words)], at))
            return
        place = at
        for index, part in enumerate(_parts(value)):
            result = _response(part)
            if result is not None:
                self._end()
                place = f"{at}.parts[{index}]"
                self.found.append(_result(result, place))
                place = f"{at}.parts[{index + 1}]"
                continue
            if self.reader is None:
                # Parts of the user's are apart, pieces of an answer are not.
                self.reader = Reader(Runs("" if role == "assistant" else "\n"))
                self.role, self.at = role, place
            self.reader.part(part, f"{at}.parts", index)

    def _end(self) -> None:
        if self.reader:
            parts = self.reader.parts()
            if parts:
                self.found.append(message(self.role, parts, self.at))
        self.role, self.reader = "", None

    def messages(self) -> list[Message]:
        self._end()
        return self.found


def _parts(value: Any) -> Iterator[Any]:
    """Give the parts of a content; a text, and one part without a list, are taken as such, too."""
    parts = value if isinstance(value, str) else obj(value).get("parts", obj(value).get("text"))
    yield from parts if isinstance(parts, list) else [] if parts is None else [parts]


def _words(value: Any) -> str | None:
    """Give the words of a content that holds one text and nothing else, as most do."""
    parts = obj(value).get("parts")
    if isinstance(parts, list) and len(parts) == 1 and obj(parts[0]).keys() == {"text"}:
        return text(parts[0]["text"])
    return None


def _response(part: Any) -> Mapping[str, Any] | None:
    for key in ("functionResponse", "function_response"):
        if isinstance(part, dict) and isinstance(part.get(key), dict):
            return cast(Mapping[str, Any], part[key])
    return None


def _result(fields: Mapping[str, Any], at: str) -> Message:
    """Read what a tool answered.

    By convention `output` alone is what it gave, and `error` says that it failed
    (https://ai.google.dev/api/caching#FunctionResponse).
    """
    response = fields.get("response")
    content: Json = structure(response) if isinstance(response, str) else response
    error = _error(obj(response).get("error"))
    if isinstance(response, dict) and "output" in response and response.keys() <= {"output", "error"}:
        output = response["output"]
        if error is None:
            content = structure(output) if isinstance(output, str) else output
    more = [{"inlineData": named(data)} for part in items(fields.get("parts")) if (data := _data(part))]
    if more:
        content = [content, *more]
    name, call_id = text(fields.get("name")), text(fields.get("id"))
    return Message("tool", content, (), call_id, name, at, error=error)


def _data(part: Any) -> Mapping[str, Any]:
    return obj(pick(obj(part), "inlineData", "inline_data")) or obj(pick(obj(part), "fileData", "file_data"))


def _error(error: Any) -> str | None:
    if not error or error is True:
        return "error" if error else None
    return text(error) or text(obj(error).get("message")) or exact_json.dumps(error)
