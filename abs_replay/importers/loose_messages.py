"""Messages as logs keep them, in whichever shape the client had them: read without knowing which.

OpenAI's chat and Responses APIs, Anthropic's and Gemini's, LangChain's messages (as they are dumped, and as
`lc` constructors), and plain text. What is none of these is kept as a structure that was said.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from abs_replay.decoders import (
    Call,
    Message,
    Part,
    Said,
    anthropic_messages,
    chat_messages,
    composed,
    gemini_history,
    responses_items,
)
from abs_replay.decoders.fields import count, items, obj, parse_or_none, text
from abs_replay.decoders.usage import cached, reasoned
from abs_replay.exact_json import Json
from abs_replay.trace import Usage

type _Fields = Mapping[str, Any]

# https://github.com/langchain-ai/langchain, libs/core/langchain_core/messages
_LANGCHAIN: Final = {
    "human": "user",
    "ai": "assistant",
    "system": "system",
    "tool": "tool",
    "function": "tool",
    "developer": "system",
}
_CLASS: Final = re.compile(r"(Human|AI|System|Tool|Function)Message(Chunk)?")
_BLOCKS: Final = ("tool_use", "tool_result", "server_tool_use", "mcp_tool_use", "redacted_thinking")
_CALL_BLOCKS: Final = ("tool_use", "tool_call", "input_json_delta")
# Beside `input_tokens`, which leaves them out: https://docs.claude.com/en/docs/build-with-claude/prompt-caching
_CACHED: Final = ("cache_creation_input_tokens", "cache_read_input_tokens")
_ITEMS: Final = ("function_call", "function_call_output", "reasoning", "message")
_ASKED: Final = ("messages", "input", "prompts", "prompt", "contents", "question", "query", "chat_history")


def messages(value: Any, role: str = "user") -> tuple[Message, ...]:
    """Read a message, or a list of them (or of lists of them); words alone are said by `role`."""
    value = _structure(value)
    if value is None or value in ("", [], {}):
        return ()
    if isinstance(value, list):
        if _are_items(value):
            return responses_items.history(value, "").messages
        return tuple(one for item in value for one in messages(item, role))
    if isinstance(value, dict):
        return tuple(_message(value, role))
    return (_of(role, value),)


def asked(value: Any) -> tuple[Message, ...]:
    """Read what a model was asked: a request's body, or what a client made of it."""
    value = _structure(value)
    body = obj(value)
    if not body or _is_message(body):
        return messages(value)
    if body.get("contents"):
        return gemini_history.history(body)
    key = next((key for key in _ASKED if body.get(key)), None)
    if key is None:
        return messages(value)
    system = body.get("system") or body.get("instructions") or body.get("system_instruction")
    if key == "input" and isinstance(body[key], list):
        return (*messages(system, "system"), *responses_items.history(body[key], "").messages)
    return (*messages(system, "system"), *messages(body[key]))


def answered(value: Any) -> Message | None:
    """Read what a model answered: a response's body, or what a client made of it; None for nothing."""
    value = _structure(value)
    if value is None or value in ("", [], {}):
        return None
    body = obj(value)
    for key, read in _ANSWERS.items():
        if body.get(key) and not _is_message(body):
            return read(body)
    found = messages(value, "assistant")
    return _joined(found)


def called(value: Any) -> Json:
    """What a tool was called with: JSON inside a text is what it says."""
    found = _structure(value)
    inner = obj(found)
    if set(inner) == {"input"}:  # LangChain's tools get one text
        found = _structure(inner["input"])
    return {} if found is None else found


def returned(value: Any) -> tuple[Json, str | None, str | None]:
    """What a tool gave: content, the id of the call it answers, and why it failed."""
    found = _structure(value)
    inner = obj(found)
    if set(inner) in ({"output"}, {"result"}):
        found = _structure(next(iter(inner.values())))
    message = next((one for one in messages(found, "tool")), None) if _is_message(obj(found)) else None
    if message is None or message.role != "tool":
        return found, None, None
    return message.content, message.call_id, message.error


def usage(value: Any) -> Usage | None:
    """Count tokens, by whichever of their names; what went through Anthropic's cache went in."""
    counted = obj(value)
    names = (
        ("input_tokens", "prompt_tokens", "promptTokens", "inputTokens", "input", "prompt"),
        ("output_tokens", "completion_tokens", "completionTokens", "outputTokens", "output", "completion"),
    )
    found = [next((count(counted[name]) for name in those if name in counted), None) for those in names]
    if found == [None, None]:
        return None
    beside = sum(count(counted.get(name)) for name in _CACHED) if "input_tokens" in counted else 0
    return Usage((found[0] or 0) + beside, found[1] or 0, cached(counted), reasoned(counted))


def _structure(value: Any) -> Any:
    """The object or list that a text wholly is, as exports write it into a column."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    found = parse_or_none(value)
    return value if found is None else found


def _is_message(value: _Fields) -> bool:
    return "role" in value or _langchain(value) is not None


def _are_items(values: list[Any]) -> bool:
    """Whether these are items of the Responses API, and not messages of the chat API alone."""
    return all(isinstance(value, dict) for value in values) and any(
        value.get("type") in _ITEMS for value in values
    )


def _message(value: _Fields, role: str) -> Iterator[Message]:
    found = _langchain(value)
    if found is not None:
        yield _of_langchain(*found)
    elif "role" not in value:
        words = value.get("content", value)
        yield _of(role, words if isinstance(words, str) else value)
    elif any(obj(block).get("type") in _BLOCKS for block in items(value.get("content"))):
        yield from anthropic_messages.messages(value, "")
    elif isinstance(value.get("parts"), list) and "content" not in value:
        yield from gemini_history.history({"contents": [value]})
    else:
        yield _of_chat(value)


def _of_chat(value: _Fields) -> Message:
    message = chat_messages.message({**value, "role": text(value.get("role")) or "assistant"}, "")
    calls = tuple(_flat(call) for call in items(value.get("tool_calls")) if "function" not in obj(call))
    known = tuple(call for call in calls if call is not None)
    return _with(message, known) if known and not message.calls else message


def _flat(value: Any) -> Call | None:
    """A call as LangChain and others have it: name and arguments beside each other."""
    fields = obj(value)
    given = next((fields[key] for key in ("args", "arguments", "input") if key in fields), None)
    return chat_messages.called(fields.get("name"), given, text(fields.get("id")), "")


def _with(message: Message, calls: tuple[Call, ...]) -> Message:
    parts: list[Part] = [*(message.parts or ((Said(message.content),) if message.content else ())), *calls]
    return composed(message.role, parts)


def _langchain(value: _Fields) -> tuple[str, _Fields] | None:
    """The role and the fields of a LangChain message, None for what is none."""
    kwargs = value.get("kwargs")
    if value.get("type") == "constructor" and isinstance(kwargs, dict):
        name = _CLASS.fullmatch(str((items(value.get("id")) or [""])[-1]))
        return (_LANGCHAIN[name[1].lower()], kwargs) if name else None
    kind = str(value.get("type")).removesuffix("MessageChunk").lower()
    if kind not in _LANGCHAIN or "role" in value:
        return None
    data = value.get("data")
    fields = data if isinstance(data, dict) else value
    return (_LANGCHAIN[kind], fields) if "content" in fields else None


def _of_langchain(role: str, fields: _Fields) -> Message:
    more = obj(fields.get("additional_kwargs"))
    content = fields.get("content")
    plain = {
        **fields,
        "role": role,
        "tool_calls": fields.get("tool_calls") or more.get("tool_calls"),
        "reasoning_content": more.get("reasoning_content"),
    }
    if isinstance(content, list):  # a call of Anthropic's stands among the blocks and in `tool_calls`
        plain["content"] = [block for block in content if obj(block).get("type") not in _CALL_BLOCKS]
    message = _of_chat(plain)
    if role == "tool" and fields.get("status") == "error":
        return replace(message, error=text(content) or "the tool failed")
    return message


def _of(role: str, words: Json) -> Message:
    return composed(role, [Said(words)]) if role == "assistant" else Message(role, words)


def _joined(found: tuple[Message, ...]) -> Message | None:
    """One answer of the assistant's messages; what tools answered within is none of it."""
    own = [message for message in found if message.role == "assistant"]
    if len(own) <= 1:
        return own[0] if own else None
    parts = [part for message in own for part in (message.parts or _parts(message))]
    return composed("assistant", parts)


def _parts(message: Message) -> tuple[Part, ...]:
    return (*((Said(message.content),) if message.content is not None else ()), *message.calls)


def _choices(body: _Fields) -> Message | None:
    first = obj(items(body["choices"])[0]) if items(body["choices"]) else {}
    return answered(first.get("message") or first.get("text"))


def _generations(body: _Fields) -> Message | None:
    """LangChain's LLMResult: a list for each prompt, of its alternatives."""
    first: Any = body["generations"]
    while isinstance(first, list):
        first = first[0] if first else None
    return answered(obj(first).get("message")) or answered(obj(first).get("text"))


def _candidates(body: _Fields) -> Message | None:
    first = obj(items(body["candidates"])[0]) if items(body["candidates"]) else {}
    found = gemini_history.history({"contents": [{"role": "model", **obj(first.get("content"))}]})
    return _joined(found)


def _output(body: _Fields) -> Message | None:
    output = body["output"]
    if isinstance(output, list) and _are_items(output):
        return responses_items.reply(output, [""] * len(output), "")[0]
    return answered(output)


def _content(body: _Fields) -> Message | None:
    return _joined(messages({"role": "assistant", "content": body["content"]}))


# Of several, the first: LangChain's chat models give `generations` with an `llm_output` beside them.
_ANSWERS: Final[Mapping[str, Callable[[_Fields], Message | None]]] = {
    "choices": _choices,
    "generations": _generations,
    "candidates": _candidates,
    "messages": lambda body: _joined(messages(body["messages"], "assistant")),
    "message": lambda body: answered(body["message"]),
    "output": _output,
    "content": _content,
    "text": lambda body: answered(body["text"]),
}
