"""What tools of MCP answer: content blocks, structures, failures, and what is not an answer yet.

https://modelcontextprotocol.io/specification/2025-11-25/server/tools and .../basic/utilities/tasks;
2026-07-28: .../basic/patterns/mrtr and the tasks extension
(github.com/modelcontextprotocol/ext-tasks), whose task stands in the result itself.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import media
from abs_replay.decoders.events import ToolUse
from abs_replay.decoders.fields import error_text, items, obj, structure, text
from abs_replay.decoders.json_rpc import Received
from abs_replay.exact_json import Json

_LEFT_OUT: Final = ("_meta", "annotations")
_RELATED: Final = "io.modelcontextprotocol/related-task"
_FAILED: Final = ("failed", "cancelled")


def told(use: ToolUse, answer: Received) -> ToolUse:
    """Give the use with what a server answered to it, or with the ticket of what is to come."""
    error = answer.error
    if error is not None:
        return replace(use, content=error, error=error, answered_at=answer.within("error"), ticket=None)
    return result(use, obj(answer.message.get("result")), answer.within("result"))


def result(use: ToolUse, found: Mapping[str, Any], at: str) -> ToolUse:
    """Give the use with a result."""
    task, state = _begun(found), text(found.get("requestState"))
    if found.get("resultType") == "input_required":
        error = "the tool asked for input, and was not asked again"
        ticket = state_ticket(state) if state else None
        return replace(use, content=found.get("inputRequests"), error=error, answered_at=at, ticket=ticket)
    if task:
        error = "the result of the task was not seen"
        return replace(use, content=None, error=error, answered_at=at, ticket=task_ticket(task))
    said = _said(found)
    failed = found.get("isError") is True
    words = said if isinstance(said, str) and said else exact_json.dumps(said)
    return replace(use, content=said, error=words if failed else None, answered_at=at, ticket=None)


def _begun(found: Mapping[str, Any]) -> str | None:
    """Give the id of the task that a result says was begun."""
    task = obj(found.get("task")) or (found if found.get("resultType") == "task" else {})
    return text(task.get("taskId"))


def task_ticket(task: str) -> str:
    return f"task {task}"


def state_ticket(state: str) -> str:
    return f"state {state}"


def task_of(answer: Received) -> str | None:
    """Give the task whose result this is, by what the result says itself."""
    meta = obj(obj(answer.message.get("result")).get("_meta"))
    return text(obj(meta.get(_RELATED)).get("taskId"))


def ended(task: Mapping[str, Any], at: str) -> ToolUse | None:
    """Give what a task's state says that the task came to; None where it does not."""
    use, status = ToolUse("", {}, answered_at=at), text(task.get("status"))
    if status in _FAILED:
        words = error_text(task) or text(task.get("statusMessage"))
        return replace(use, error=f"task {status}: {words}" if words else f"task {status}")
    if status == "completed" and "result" in task:
        return result(use, obj(task.get("result")), at)
    return None


def _said(found: Mapping[str, Any]) -> Json:
    """Give what the tool said: its content blocks; `structuredContent` says the same once more."""
    blocks = [_block(obj(block)) for block in items(found.get("content"))]
    if not blocks:
        return found.get("structuredContent")
    if len(blocks) == 1:
        return blocks[0]
    if all(isinstance(block, str) for block in blocks):
        return "\n".join(str(block) for block in blocks)
    return blocks


def remark(found: Mapping[str, Any]) -> str | None:
    """Say that a structure is not told because other content is, unless both say the same.

    SDKs put a result that is no object into one (`{"result": 5}`, and "5" as text).
    """
    there = found.get("structuredContent")
    if there is None or not found.get("content"):
        return None
    said = _said(found)
    if exact_json.equal(said, there) or exact_json.equal(said, _alone(there)):
        return None
    words = (_text(there), _text(_alone(there)))
    return None if isinstance(said, str) and said in words else "structuredContent says something else"


def _alone(value: Json) -> Json:
    return value["result"] if isinstance(value, dict) and list(value) == ["result"] else value


def _text(value: Json) -> str:
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return value if isinstance(value, str) else exact_json.dumps(value)


def _block(block: Mapping[str, Any]) -> Json:
    words = block.get("text")
    if block.get("type") == "text" and isinstance(words, str):
        return structure(words)
    return {key: _member(key, value) for key, value in block.items() if key not in _LEFT_OUT}


def _member(key: str, value: Any) -> Json:
    """Name pictures, sounds and files instead of copying them: the exchange has their bytes."""
    if isinstance(value, str) and key in ("data", "blob"):
        return media.named(value)
    if isinstance(value, dict) and key == "resource":
        return {name: _member(name, item) for name, item in value.items() if name not in _LEFT_OUT}
    return value  # type: ignore[no-any-return]
