"""Calls and results among the items of OpenAI's Responses API.

https://platform.openai.com/docs/guides/tools. Web search, file search, the code interpreter, image
generation and remote MCP run at the vendor's, and an item holds the call with what the answer shows of
its result. Functions, custom tools, the local shell, patches and the computer are for the client,
which sends the result as an item of its own; so is the shell, but in a container of the vendor's.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import chat_messages, media
from abs_replay.decoders.events import Call, Served
from abs_replay.decoders.fields import items, obj, structure, text
from abs_replay.decoders.histories import LONGEST
from abs_replay.exact_json import Json

APPROVAL: Final = "mcp_approval_request"
_BAD: Final = ("failed", "incomplete")
# Fields of a call's item that are no arguments.
_FRAME: Final = ("id", "type", "status", "call_id", "caller", "created_by")


def kind(item: Mapping[str, Any]) -> str:
    """Say what an item is; messages and references need not say it themselves."""
    named = text(item.get("type"))
    if named:
        return named
    return "message" if text(item.get("role")) else "item_reference" if text(item.get("id")) else "?"


def is_call(name: str) -> bool:
    """Say whether items of a kind ask for a call."""
    return name.endswith("_call") or name in (APPROVAL, "program")


def is_result(name: str) -> bool:
    """Say whether items of a kind answer a call."""
    return name.endswith("_output") or name == "mcp_approval_response"


def key(item: Mapping[str, Any]) -> tuple[str, str | None]:
    """Give what a call and its result have in common: the tool's kind, and an id where there is one."""
    return kind(item).removesuffix("_output").removesuffix("_call"), text(item.get("call_id"))


def is_hosted(item: Mapping[str, Any]) -> bool:
    """Say whether the vendor carries a call out and tells the result in an item of its own."""
    if item.get("type") == "program" or item.get("execution") == "server":
        return True
    return obj(item.get("environment")).get("type") == "container_reference"


def call(item: Mapping[str, Any], at: str) -> Call | None:
    """Read a call whose result, if any, is an item of its own; None where it has no name."""
    name = kind(item)
    call_id = text(item.get("call_id"))
    match name:
        case "function_call":
            return _function(item.get("name"), item.get("arguments"), call_id, at)
        case "custom_tool_call":
            return chat_messages.called(item.get("name"), item.get("input"), call_id, at)
        case "mcp_approval_request":
            # The tool itself is called once this is granted, in an item under its own name.
            asked = {"name": item.get("name"), "arguments": chat_messages.arguments(item.get("arguments"))}
            label = {"server_label": item["server_label"]} if text(item.get("server_label")) else {}
            return Call(name, asked | label, text(item.get("id")), at)
    given = _GIVEN.get(name, _fields)(item)
    return chat_messages.called(name.removesuffix("_call"), given, call_id, at)


def _function(name: Any, given: Any, call_id: str | None, at: str) -> Call | None:
    if isinstance(name, str) and isinstance(given, str) and len(given) <= LONGEST:
        return known_function(name, given, call_id, at)
    return chat_messages.called(name, given, call_id, at)


@lru_cache(8192)
def known_function(name: str, given: str, call_id: str | None, at: str) -> Call | None:
    """Read a call once: each request repeats its history."""
    return chat_messages.called(name, given, call_id, at)


def _fields(item: Mapping[str, Any]) -> Json:
    return {key: value for key, value in item.items() if key not in _FRAME}


def _computer(item: Mapping[str, Any]) -> Json:
    """Give one action, or several, and the checks that the client is to acknowledge."""
    given = item["action"] if obj(item.get("action")) else {"actions": items(item.get("actions"))}
    checks = items(item.get("pending_safety_checks"))
    return {**given, "pending_safety_checks": checks} if checks else given


_GIVEN: Final[Mapping[str, Callable[[Mapping[str, Any]], Json]]] = {
    "local_shell_call": lambda item: obj(item.get("action")),
    "shell_call": lambda item: obj(item.get("action")),
    "apply_patch_call": lambda item: obj(item.get("operation")),
    "computer_call": _computer,
    "tool_search_call": lambda item: chat_messages.arguments(item.get("arguments")),
    "program": lambda item: {"code": item.get("code")},
}


def result(item: Mapping[str, Any]) -> tuple[Json, str | None]:
    """Read what a call came to, and why it failed where it is marked so."""
    if kind(item) == "mcp_approval_response":
        return {name: item[name] for name in ("approve", "reason") if item.get(name) is not None}, None
    value = next((item[name] for name in ("output", "result", "tools") if item.get(name) is not None), None)
    content = chat_messages.content(value)
    content = structure(content) if isinstance(content, str) else content
    status = item.get("status")
    if status not in _BAD:
        return content, None
    return content, (text(value) if status == "failed" else None) or f"status {status}"


def answered_call(item: Mapping[str, Any]) -> str | None:
    """Give the id of the call that a result answers; a local shell's result may have it as its own."""
    return text(item.get("call_id")) or text(item.get("approval_request_id")) or text(item.get("id"))


def joined(asked: Call, item: Mapping[str, Any], at: str) -> Served:
    """Join a call that the vendor carried out with the item of its result."""
    content, error = result(item)
    return Served(asked, content, error, at=at)


def served(item: Mapping[str, Any], at: str) -> Served | None:
    """Read an item that holds a call with its result; None where it is none."""
    read = _SERVED.get(kind(item))
    name = text(item.get("name")) or kind(item).removesuffix("_call")
    if read is None or name == "mcp":
        return None
    given, content = read(item)
    status = item.get("status")
    error = _error(item.get("error")) or (f"status {status}" if status in _BAD else None)
    asked = Call(name, given, text(item.get("id")), at)
    return Served(asked, content, error, answered=content is not None or error is not None, at=at)


def _error(error: Any) -> str | None:
    """Find the words of a tool's failure: a text, an object, or parts of a tool's result."""
    fields = obj(error)
    words = chat_messages.content(fields.get("content"))
    known = text(error) or text(fields.get("message")) or text(words)
    return known or (None if error is None else exact_json.dumps(error))


def _web_search(item: Mapping[str, Any]) -> tuple[Json, Json]:
    """Give the search, the page opened or what was looked for in it; sources come where asked for."""
    action = dict(obj(item.get("action")))
    sources = action.pop("sources", None)
    return action, sources if items(sources) else None


def _code(item: Mapping[str, Any]) -> tuple[Json, Json]:
    outputs = item.get("outputs")
    logs = [obj(one).get("logs") for one in items(outputs)]
    texts = [one for one in logs if isinstance(one, str)]
    content = "\n".join(texts) if texts and len(texts) == len(logs) else outputs
    return {"code": item.get("code")}, content


def _image(item: Mapping[str, Any]) -> tuple[Json, Json]:
    """Give the picture by its name: its data says nothing to a reader."""
    named = ("revised_prompt", "action", "size", "quality", "background", "output_format")
    given = {name: item[name] for name in named if item.get(name) is not None}
    data = text(item.get("result"))
    return given, media.named(data) if data else None


def _mcp(item: Mapping[str, Any]) -> tuple[Json, Json]:
    output = item.get("output")
    shown = structure(output) if isinstance(output, str) else output
    return chat_messages.arguments(item.get("arguments")), shown


_SERVED: Final[Mapping[str, Callable[[Mapping[str, Any]], tuple[Json, Json]]]] = {
    "web_search_call": _web_search,
    "file_search_call": lambda item: ({"queries": item.get("queries")}, item.get("results")),
    "code_interpreter_call": _code,
    "image_generation_call": _image,
    "mcp_call": _mcp,
}
KNOWN: Final = (*_SERVED, *_GIVEN, APPROVAL, "function_call", "custom_tool_call")
