"""Messages in the shape of OpenAI's chat API, which the agent contract shares.

https://platform.openai.com/docs/api-reference/chat/create (messages): content is text or a list of
parts, a call's arguments are JSON inside a text, a tool's message names its call.
"""

from collections.abc import Mapping
from typing import Any, Final

from abs_replay.decoders.events import Call, Message
from abs_replay.decoders.fields import items, obj, parse_or_none, structure, text
from abs_replay.exact_json import Json

_ROLES: Final = {"developer": "system", "function": "tool", "human": "user", "ai": "assistant"}
_TEXT_PARTS: Final = ("text", "input_text", "output_text")
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 8192, 4096  # messages, and characters of one
_READ: Final[dict[tuple[str, str | None, str | None], tuple[Mapping[str, Any], Message]]] = {}
_THOUGHTS: Final = ("thinking", "reasoning")  # parts that the model thinks and does not say


def messages(values: Any, at: str) -> tuple[Message, ...]:
    """Read a list of messages; what is no message is left out."""
    return tuple(
        _remembered(value, f"{at}[{index}]")
        for index, value in enumerate(items(values))
        if isinstance(value, dict) and text(value.get("role"))
    )


def _remembered(value: Mapping[str, Any], at: str) -> Message:
    """Read a message, or give what was read of its equal: each request repeats its history."""
    said = value.get("content")
    if said is not None and not isinstance(said, str):
        return message(value, at)
    key = (at, said, text(value.get("tool_call_id")))
    known = _READ.get(key)
    if known and known[0] == value:
        return known[1]
    read = message(value, at)
    if _is_short(said, read, value):
        if len(_READ) >= _MOST_REMEMBERED:
            _READ.clear()
        _READ[key] = value, read
    return read


def _is_short(said: str | None, read: Message, value: Mapping[str, Any]) -> bool:
    """Say whether a message is worth remembering. Arguments that are no text are not: 1 equals true."""
    asked = [obj(obj(item).get("function")).get("arguments") for item in items(value.get("tool_calls"))]
    given = [one for one in asked if isinstance(one, str)]
    whole = len(given) == len(asked) == len(read.calls)
    return whole and len(said or "") + sum(map(len, given)) <= _LONGEST_REMEMBERED


def message(value: Mapping[str, Any], at: str) -> Message:
    """Read one message, whatever is missing from it."""
    role = text(value.get("role")) or "assistant"
    role = _ROLES.get(role, role)
    said = content(value.get("content"))
    if said is None:
        # A refusal comes in the words' place (guides/structured-outputs, refusals).
        said = text(value.get("refusal"))
    if role == "tool":
        said = structure(said) if isinstance(said, str) else said
        return Message(role, said, (), text(value.get("tool_call_id")), text(value.get("name")), at)
    return Message(role, said, calls(value, at), at=at)


def content(value: Any) -> Json:
    """Give the words: text, text parts joined by newlines, else the parts as they are."""
    if not isinstance(value, list):
        return value  # type: ignore[no-any-return]
    said = [part for part in value if obj(part).get("type") not in _THOUGHTS]
    texts = [_part_text(part) for part in said]
    words = [words for words in texts if words is not None]
    return "\n".join(words) if len(words) == len(said) else said


def _part_text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    fields = obj(part)
    kind = fields.get("type", "text")
    words = fields.get("refusal" if kind == "refusal" else "text")
    return words if kind in (*_TEXT_PARTS, "refusal") and isinstance(words, str) else None


def calls(value: Mapping[str, Any], at: str) -> tuple[Call, ...]:
    """Read a message's calls, the old single `function_call` among them."""
    found = [call(item, f"{at}.tool_calls[{i}]") for i, item in enumerate(items(value.get("tool_calls")))]
    single = obj(value.get("function_call"))
    if single and not found:
        found = [_named(single, None, f"{at}.function_call")]
    return tuple(item for item in found if item is not None)


def call(value: Any, at: str) -> Call | None:
    """Read one call; a custom tool's input is free text (guides/function-calling, custom tools)."""
    fields = obj(value)
    custom = obj(fields.get("custom"))
    if custom and not fields.get("function"):
        named: Mapping[str, Any] = {"name": custom.get("name"), "arguments": custom.get("input")}
    else:
        named = obj(fields.get("function"))
    return _named(named, text(fields.get("id")), at)


def _named(named: Mapping[str, Any], call_id: str | None, at: str) -> Call | None:
    name = text(named.get("name"))
    return Call(name, arguments(named.get("arguments")), call_id, at) if name else None


def arguments(value: Any) -> Json:
    """Read arguments: nothing is `{}`, JSON text is what it says, and other text stays text."""
    if value is None:
        return {}
    if not isinstance(value, str):
        return value  # type: ignore[no-any-return]
    if not value.strip():
        return {}
    parsed = parse_or_none(value)
    return parsed if isinstance(parsed, dict) else {} if value.strip() == "null" else value
