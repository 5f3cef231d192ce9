"""Conversations as lists of messages, one a line or in one document.

    {"messages": [{"role": "user", "content": "..."}, ...], "tools": [...]}     or the bare list
    {"conversations": [{"from": "human", "value": "..."}, ...]}                  ShareGPT

The first is what OpenAI fine-tunes on (https://platform.openai.com/docs/guides/fine-tuning, chat format), and
what most logs of chats come down to. What else stands beside the messages becomes tags.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders import Message
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.events import Call
from abs_replay.decoders.fields import items, obj, parse_or_none, text
from abs_replay.importers import loose_messages
from abs_replay.importers.imported import Imported
from abs_replay.importers.source import Source
from abs_replay.importers.telling import TIMELESS, Facts, Teller, moment, scalars, tagged
from abs_replay.trace import Trace

_TIMES: Final = ("timestamp", "created_at", "created", "time")
_KEYS: Final = ("messages", "conversation", "conversations")
_SPEAKERS: Final = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "system": "system",
    "tool": "tool",
    "observation": "tool",
    "function_response": "tool",
}
type _Chat = tuple[Mapping[str, Any], int | None, str]


def recognises(source: Source) -> bool:
    """Whether there is a list of messages with roles, or of turns `from` somebody."""
    head = source.text or ""
    if '"role"' not in head and '"from"' not in head:
        return False
    if source.json:
        return _is_first_chat(source.json)
    lines = source.json_lines
    return isinstance(lines, tuple) and (_is_chat(lines[0].value) or _is_message(lines[0].value))


def _is_first_chat(value: Any) -> bool:
    first = value[0] if isinstance(value, list) and value else None
    return _is_chat(value) or _is_chat(first)


def _is_chat(value: Any) -> bool:
    """Whether this is a conversation: a list of messages, or an object that has one."""
    if isinstance(value, list):
        return bool(value) and _is_message(value[0])
    return _key(obj(value)) is not None


def _key(chat: Mapping[str, Any]) -> str | None:
    """The key under which an object has a conversation."""
    if {"role", "from"} & chat.keys():
        return None
    return next((key for key in _KEYS if _is_turn((items(chat.get(key)) or [None])[0])), None)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("role"), str) and "jsonrpc" not in value


def _is_turn(value: Any) -> bool:
    return _is_message(value) or (isinstance(value, dict) and {"from", "value"} <= value.keys())


def read(source: Source) -> Imported:
    """Read every conversation; raises `UsageError` with the line."""
    traces = tuple(_trace(source, *chat) for chat in _chats(source))
    if not traces:
        raise source.wrong("holds no conversation")
    return Imported(traces=traces, remarks=(TIMELESS,) * sum(_is_timeless(trace) for trace in traces))


def _is_timeless(trace: Trace) -> bool:
    return all(step.at_ms is None for step in trace.steps)


def _chats(source: Source) -> Iterator[_Chat]:
    if source.json or source.path.suffix == ".json":
        value = source.need_json()
        several = isinstance(value, list) and not _is_chat(value)
        for index, chat in enumerate(value if several else [value]):
            yield _fields(chat), None, f"[{index}]" if several else ""
        return
    lines = source.need_json_lines()
    if all(_is_message(line.value) for line in lines):
        yield {"messages": [line.value for line in lines]}, None, ""
        return
    for line in lines:
        yield _fields(line.value), line.number, ""


def _fields(chat: Any) -> Mapping[str, Any]:
    return {"messages": chat} if isinstance(chat, list) else obj(chat)


def _trace(source: Source, chat: Mapping[str, Any], line: int | None, where: str) -> Trace:
    teller = Teller()
    key = _key(chat)
    if key is None:
        raise source.wrong(
            "expected a conversation: an object with `messages`, or a list of them", line, where
        )
    for index, value in enumerate(chat[key]):
        if not _is_turn(value):
            place = ".".join(part for part in (where, f"{key}[{index}]") if part)
            raise source.wrong("expected a message with a `role`", line, place)
        for message in _messages(value):
            teller.tell(message, _facts(value, chat))
    tags = {**dict(scalars(chat)), **dict(scalars(obj(chat.get("metadata"))))}
    return teller.trace(tagged(tags.items()), _time(chat))


def _messages(value: Mapping[str, Any]) -> tuple[Message, ...]:
    if "role" in value:
        return loose_messages.messages(value)
    speaker, words = str(value["from"]), value["value"]
    if speaker == "function_call":
        return (Message("assistant", calls=_calls(words)),)
    return loose_messages.messages({"role": _SPEAKERS.get(speaker.lower(), speaker), "content": words})


def _calls(words: Any) -> tuple[Call, ...]:
    """A call that a ShareGPT conversation writes as JSON (LLaMA-Factory's form of it)."""
    asked = obj(parse_or_none(words) if isinstance(words, str) else words)
    return (Call(text(asked.get("name")) or "unknown", arguments(asked.get("arguments", words))),)


def _facts(value: Mapping[str, Any], chat: Mapping[str, Any]) -> Facts:
    model = text(value.get("model")) or text(chat.get("model"))
    return Facts(_time(value), model=model, usage=loose_messages.usage(value.get("usage")))


def _time(value: Mapping[str, Any]) -> float | None:
    return next((at for key in _TIMES if (at := moment(value.get(key))) is not None), None)
