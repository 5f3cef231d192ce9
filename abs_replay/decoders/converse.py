"""Amazon Bedrock's blocks and events, put into the shape of Anthropic's; Nova's own are the same.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html and
.../API_runtime_ConverseStreamOutput.html. A block is known by its one key, an event by its name.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders.anthropic_answers import Answer, whole
from abs_replay.decoders.anthropic_messages import History
from abs_replay.decoders.fields import error_text, items, obj, text

_COUNTERS: Final = {  # Nova's own bodies have the longer names
    "inputTokens": "input_tokens",
    "outputTokens": "output_tokens",
    "cacheReadInputTokens": "cache_read_input_tokens",
    "cacheWriteInputTokens": "cache_creation_input_tokens",
    "cacheReadInputTokenCount": "cache_read_input_tokens",
    "cacheWriteInputTokenCount": "cache_creation_input_tokens",
}


def block(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Put a content block into Anthropic's shape; what has no such shape stays as it is."""
    for key, read in _BLOCKS.items():
        if key in value:
            return read(value[key]) or value
    return value


def _said(value: Any) -> dict[str, Any]:
    return {"type": "text", "text": value} if isinstance(value, str) else {}


def _cited(value: Any) -> dict[str, Any]:
    words = [obj(one).get("text") for one in items(obj(value).get("content"))]
    return _said("".join(one for one in words if isinstance(one, str)))


def _guarded(value: Any) -> dict[str, Any]:
    return _said(obj(obj(value).get("text")).get("text"))


def _thought(value: Any) -> dict[str, Any]:
    return {"type": "thinking", "thinking": obj(obj(value).get("reasoningText")).get("text")}


def _called(value: Any) -> dict[str, Any]:
    fields = obj(value)
    kind = "server_tool_use" if fields.get("type") == "server_tool_use" else "tool_use"
    return {"type": kind, "id": fields.get("toolUseId"), **_of(fields, "name", "input")}


def _answered(value: Any) -> dict[str, Any]:
    """Read a result; one that has a type comes from the vendor's own tool of that name."""
    fields = obj(value)
    kind = text(fields.get("type"))
    found = items(fields.get("content"))
    content = found[0]["json"] if len(found) == 1 and "json" in obj(found[0]) else _results(found)
    return {
        "type": f"{kind.removesuffix('_result')}_tool_result" if kind else "tool_result",
        "tool_use_id": fields.get("toolUseId"),
        "content": content or None,
        "is_error": fields.get("status") == "error",
    }


def _results(found: Any) -> list[Any]:
    return [block(one) if isinstance(one, dict) else one for one in items(found)]


def _of(fields: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: fields.get(key) for key in keys}


_BLOCKS: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "text": _said,
    "toolUse": _called,
    "toolResult": _answered,
    "reasoningContent": _thought,
    "citationsContent": _cited,
    "guardContent": _guarded,
    "cachePoint": lambda value: {"type": "cache_point"},
}


def answer(body: Any, history: History) -> Answer:
    """Read an answer that came at once."""
    fields = obj(body)
    message = obj(obj(fields.get("output")).get("message"))
    if not isinstance(message.get("content"), list):
        return Answer(error=error_text(body) or "the answer has no message")
    return whole(
        {
            "content": _results(message["content"]),
            "stopReason": fields.get("stopReason"),
            "usage": _usage(fields.get("usage")),
        },
        history,
        "response.output.message",
    )


def _usage(value: Any) -> dict[str, Any]:
    return {_COUNTERS[key]: found for key, found in obj(value).items() if key in _COUNTERS}


def events(name: str, value: Any) -> Iterator[Mapping[str, Any]]:
    """Put a stream's event into Anthropic's shape."""
    fields = obj(value)
    index = fields.get("contentBlockIndex")
    match name:
        case "messageStart":
            yield {"type": "message_start"}
        case "contentBlockStart":
            yield {
                "type": "content_block_start",
                "index": index,
                "content_block": block(obj(fields.get("start"))),
            }
        case "contentBlockDelta":
            yield {"type": "content_block_delta", "index": index, "delta": _delta(obj(fields.get("delta")))}
        case "contentBlockStop":
            yield {"type": "content_block_stop", "index": index}
        case "messageStop":
            yield {"type": "message_delta", "delta": _of(fields, "stopReason")}
            yield {"type": "message_stop"}
        case "metadata":
            yield {"type": "message_delta", "usage": _usage(fields.get("usage"))}
        case _:
            yield {"type": name}


def _delta(delta: Mapping[str, Any]) -> Mapping[str, Any]:
    thought = obj(delta.get("reasoningContent"))
    if "text" in delta:
        return {"type": "text_delta", "text": delta["text"]}
    if "toolUse" in delta:
        return {"type": "input_json_delta", "partial_json": obj(delta["toolUse"]).get("input")}
    if "toolResult" in delta:
        return {"type": "tool_result_delta", "content": _results(delta["toolResult"])}
    if "text" in thought:
        return {"type": "thinking_delta", "thinking": thought["text"]}
    kind = (
        "signature_delta"
        if thought
        else "citations_delta"
        if "citation" in delta
        else next(iter(delta), None)
    )
    return {"type": kind}
