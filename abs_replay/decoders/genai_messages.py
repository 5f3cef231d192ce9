"""Messages in the attributes and events of spans, however an instrumentation writes them.

OpenTelemetry since 1.37: lists of messages with parts (opentelemetry.io/docs/specs/semconv/gen-ai, the
schemas gen-ai-input-messages.json and gen-ai-output-messages.json); 1.28 to 1.36: an event a message;
before that, and OpenLLMetry: an attribute for each member (`gen_ai.prompt.0.content`). OpenInference:
the same under other names (github.com/Arize-ai/openinference, spec/semantic_conventions.md).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from abs_replay.decoders import chat_messages, media
from abs_replay.decoders.events import Call, Message, Part, Said, Served
from abs_replay.decoders.fields import items, obj, parse_or_none, structure, text
from abs_replay.decoders.runs import Runs, message
from abs_replay.exact_json import Json

_TEXTS: Final = ("text", "output_text", "input_text")
_THOUGHTS: Final = ("reasoning", "thinking")
_CALLS: Final = ("tool_call", "server_tool_call")
_RESULTS: Final = ("tool_call_response", "server_tool_call_response")
_DEEPEST: Final = 16  # members of a flat name: more is no message
_EVENT: Final = "gen_ai."
_EVENT_ROLES: Final = ("system", "user", "assistant", "tool")


def parsed(value: Any) -> Any:
    """Give the JSON that an attribute holds as a text, or as a structure."""
    return parse_or_none(value) if isinstance(value, str) else value


# -- lists of messages with parts ---------------------------------------------


def listed(value: Any, at: str) -> list[Message]:
    """Read a list of messages, whose content may be parts or, in drafts, as in OpenAI's chat API."""
    found: list[Message] = []
    for one in items(parsed(value)):
        if isinstance(one, dict):
            found += _of_parts(one, at) if isinstance(one.get("parts"), list) else [_chat(one, at)]
    return found


def instructions(value: Any, at: str) -> list[Message]:
    """Read the system's instructions: a list of parts, or a text."""
    parts = parsed(value)
    if not isinstance(parts, list):
        return [Message("system", value, at=at)] if text(value) else []
    return _of_parts({"role": "system", "parts": parts}, at)


def _of_parts(value: Mapping[str, Any], at: str) -> list[Message]:
    role = text(value.get("role")) or "assistant"
    parts = [part for part in items(value.get("parts")) if isinstance(part, dict)]
    if role == "assistant":
        return [message("assistant", _parts(parts, at), at)]
    said = [part for part in parts if part.get("type") not in _RESULTS]
    answers = [_result(part, at) for part in parts if part.get("type") in _RESULTS]
    if not said and answers:
        return answers
    return [*answers, _chat({"role": role, "content": [_plain(part) for part in said]}, at)]


def _parts(parts: Iterable[Mapping[str, Any]], at: str) -> list[Part]:
    """Give the parts of what a model said; a result goes to the call of the same message."""
    runs, asked = Runs(), dict[str, tuple[int, Call]]()
    for part in parts:
        kind, words = part.get("type"), part.get("content", part.get("text"))
        if kind in _TEXTS and isinstance(words, str):
            if words:
                runs.said(words, at, None)
        elif kind in _THOUGHTS and isinstance(words, str):
            if words:
                runs.thought(words, at, None)
        elif kind in _CALLS and text(part.get("name")):
            call = _call(part, at)
            position = runs.add(call if kind == "tool_call" else Served(call, answered=False, at=at))
            asked[call.call_id or ""] = position, call
        elif kind in _RESULTS:
            answer = _result(part, at)
            name = answer.call_id or ""
            if name in asked:
                position, call = asked.pop(name)
                runs.replace(position, Served(call, answer.content, at=at))
            else:
                call = Call(answer.name or "tool", {}, answer.call_id, at)
                runs.add(Served(call, answer.content, at=at))
        else:
            runs.add(Said(_named(part), at))
    return runs.parts()


def _call(part: Mapping[str, Any], at: str) -> Call:
    given = part.get("arguments", part.get("server_tool_call"))
    return Call(str(part["name"]), chat_messages.arguments(given), text(part.get("id")), at)


def _result(part: Mapping[str, Any], at: str) -> Message:
    given = part.get("response", part.get("result", part.get("server_tool_call_response")))
    said = structure(given) if isinstance(given, str) else given
    return Message("tool", said, call_id=text(part.get("id")), name=text(part.get("name")), at=at)


def _plain(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a part as OpenAI's chat API writes it, where it is text."""
    words = part.get("content", part.get("text"))
    if part.get("type") in _TEXTS and isinstance(words, str):
        return {"type": "text", "text": words}
    return _named(part)


def _named(part: Mapping[str, Any]) -> dict[str, Json]:
    """Give a part with the name of its bytes in place of them."""
    packed = part.get("type") == "blob"
    return {
        key: media.named(value) if packed and key == "content" and isinstance(value, str) else value
        for key, value in part.items()
    }


# -- an attribute for each member ---------------------------------------------


def nested(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Give the list that attributes under a name come to: `P.0.role`, `P.0.tool_calls.1.name` .."""
    whole = attributes.get(prefix)
    if isinstance(whole, list):
        return whole
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for name, value in attributes.items():
        if name.startswith(start):
            _plant(tree, name[len(start) :].split("."), value)
    return items(_lists(tree))


def _plant(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    for name in path[: min(len(path), _DEEPEST) - 1]:
        inner = tree.setdefault(name, {})
        if not isinstance(inner, dict):
            return
        tree = inner
    tree[path[-1]] = value


def _lists(value: Any) -> Any:
    """Turn objects whose names are numbers into lists."""
    if not isinstance(value, dict):
        return value
    inner = {name: _lists(item) for name, item in value.items()}
    if inner and all(name.isdecimal() for name in inner):
        return [inner[name] for name in sorted(inner, key=lambda name: (len(name), name))]
    return inner


def flat(attributes: Mapping[str, Any], prefix: str, at: str) -> list[Message]:
    """Read OpenLLMetry's messages: members as in OpenAI's chat API, but calls without `function`."""
    found = [obj(one) for one in nested(attributes, prefix)]
    return [_chat(one, at) for one in found if "role" in one or "content" in one or "tool_calls" in one]


def open_inference(attributes: Mapping[str, Any], prefix: str, at: str) -> list[Message]:
    """Read OpenInference's messages."""
    found = [_unprefixed(one) for one in nested(attributes, prefix)]
    return [_chat(_from_open_inference(one), at) for one in found if one]


def _unprefixed(value: Any) -> Mapping[str, Any]:
    """Give what stands under `message`; in structured logs its members bear that as a prefix."""
    if isinstance(value, dict) and any(name.startswith("message.") for name in value):
        tree: dict[str, Any] = {}
        for name, item in value.items():
            _plant(tree, name.split("."), item)
        value = _lists(tree)
    return obj(obj(value).get("message"))


def _from_open_inference(value: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(value)
    contents = [obj(_member(one, "message_content")) for one in items(value.get("contents"))]
    if contents:
        thought = [text(one.get("text")) or "" for one in contents if one.get("type") in _THOUGHTS]
        found["content"] = [_content(one) for one in contents if one.get("type") not in _THOUGHTS]
        found["reasoning"] = "".join(thought)
    found["tool_calls"] = [_member(one, "tool_call") for one in items(value.get("tool_calls"))]
    name = text(value.get("function_call_name"))
    if name:
        found["tool_calls"].append({"name": name, "arguments": value.get("function_call_arguments_json")})
    return found


def _member(value: Any, name: str) -> Any:
    if isinstance(value, dict) and name not in value:
        tree: dict[str, Any] = {}
        for key, item in value.items():
            _plant(tree, key.split("."), item)
        value = tree
    return obj(value).get(name)


def _content(one: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(one.get("text"), str) and one.get("type") in (None, *_TEXTS):
        return {"type": "text", "text": one["text"]}
    return one


# -- OpenAI's chat API --------------------------------------------------------


def _chat(value: Mapping[str, Any], at: str) -> Message:
    """Read a message as in OpenAI's chat API, whose content may be a list of parts inside a text."""
    said = value.get("content")
    inner = parsed(said) if isinstance(said, str) and said.startswith('[{"') else None
    if isinstance(inner, list) and all(isinstance(part, dict) and "type" in part for part in inner):
        said = inner
    calls = [_function(obj(one)) for one in items(parsed(value.get("tool_calls")))]
    read = {**value, "content": said, "tool_calls": calls}
    if text(value.get("role")) == "tool" and "tool_call_id" not in value:
        read["tool_call_id"] = value.get("id")
    return _placed(chat_messages.message(read, at), at)


def _placed(message: Message, at: str) -> Message:
    """Name the span as the place of all that a message holds: there are no smaller ones."""
    calls = tuple(replace(call, at=at) for call in message.calls)
    parts = tuple(replace(part, at=at) for part in message.parts)
    return replace(message, calls=calls, parts=parts) if calls or parts else message


def _function(call: Mapping[str, Any]) -> Mapping[str, Any]:
    if "function" in call:
        return call
    given = {"name": call.get("name"), "arguments": call.get("arguments")}
    return {"id": call.get("id"), "type": "function", "function": given}


# -- an event a message -------------------------------------------------------


def told(events: Iterable[tuple[str, Mapping[str, Any]]], at: str) -> Iterator[tuple[bool, Message]]:
    """Give the messages of a span's events, each with whether the model said it."""
    for name, attributes in events:
        body = _body(attributes)
        if name == "gen_ai.choice":
            inner = parsed(body.get("message"))
            value = inner if isinstance(inner, dict) else body
            if not body.get("index"):
                yield True, _chat({**value, "role": "assistant"}, at)
        elif name.startswith(_EVENT) and name.endswith(".message"):
            role = name.removeprefix(_EVENT).removesuffix(".message")
            if role in _EVENT_ROLES:
                yield False, _chat({"role": role, **body}, at)
        elif name == "gen_ai.content.prompt":
            yield from ((False, one) for one in written(attributes.get("gen_ai.prompt"), "user", at))
        elif name == "gen_ai.content.completion":
            said = written(attributes.get("gen_ai.completion"), "assistant", at)
            yield from ((True, one) for one in said)


def _body(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give an event's body, which instrumentations put into one attribute, or member by member."""
    for name in ("gen_ai.event.content", "event_body", "body"):
        body = parsed(attributes.get(name))
        if isinstance(body, dict):
            return body
    tree: dict[str, Any] = {}
    for name, value in attributes.items():
        _plant(tree, name.split("."), value)
    return obj(_lists(tree))


def written(value: Any, role: str, at: str) -> list[Message]:
    """Read a prompt or a completion that is one attribute: messages as JSON, or a text."""
    found = parsed(value)
    if isinstance(found, list):
        return [_chat({"role": role, **one}, at) for one in found if isinstance(one, dict)]
    if isinstance(found, dict) and ("role" in found or "content" in found):
        return [_chat({"role": role, **found}, at)]
    return [Message(role, value, at=at)] if text(value) else []
