"""Content blocks, in the shape of Anthropic's Messages API, and the parts that they come to.

https://platform.claude.com/docs/en/api/messages and .../agents-and-tools/tool-use. Bedrock's blocks are
put into this shape, too. Left out is what only steers the vendor's machines (`cache_control`) and what
it encrypts for itself; of images and documents the bytes are named by size and digest.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.decoders import media
from abs_replay.decoders.chat_messages import arguments
from abs_replay.decoders.events import Call, Part, Said, Served, Thought
from abs_replay.decoders.fields import items, obj, structure, text
from abs_replay.decoders.places import place
from abs_replay.decoders.runs import Runs
from abs_replay.exact_json import Json

_SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
_SERVER_RESULT: Final = "_tool_result"  # web_search_tool_result, mcp_tool_result ..
_UNSAID: Final = ("thinking", "redacted_thinking")
_ASIDE: Final = ("fallback", "compaction", "cache_point")  # told as remarks, or nothing to tell
_LEFT_OUT: Final = (
    "cache_control",
    "encrypted_content",
    "encrypted_index",
    "encrypted_stdout",
    "encrypted_code_execution_result",
)


@dataclass(frozen=True, slots=True)
class Block:
    """A content block; `first` and `last` are its number in a body, or its events in a stream."""

    value: Mapping[str, Any]
    first: int
    last: int


def blocks(content: Any) -> list[Block]:
    """Give the blocks of a message's content, which may be plain text."""
    values = [content] if isinstance(content, str) else items(content)
    found = [{"type": "text", "text": value} if isinstance(value, str) else value for value in values]
    return [Block(value, i, i) for i, value in enumerate(found) if isinstance(value, dict)]


class _Composer:
    """Makes parts of blocks, in their order; a result goes to the call that it answers."""

    def __init__(self, base: str, joiner: str, waiting: Mapping[str, Call]) -> None:
        self.runs = Runs(joiner)
        self._base = base
        self._waiting = waiting
        self._asked: dict[str, tuple[int, Call]] = {}

    def add(self, block: Block) -> None:
        kind = block.value.get("type")
        words = block.value.get("text")
        if kind == "text" and isinstance(words, str):
            if words:
                self.runs.said(words, self._base, block.first)
                if block.last > block.first:
                    self.runs.said("", self._base, block.last)
        elif kind not in _ASIDE:
            self._other(kind, block.value, place(self._base, block.first, block.last))

    def _other(self, kind: Any, value: Mapping[str, Any], at: str) -> None:
        name = text(value.get("name"))
        if kind in _UNSAID:
            self._think(value.get("thinking"), at)
        elif kind == "tool_use" and name:
            self.runs.add(_call(name, value, at))
        elif kind in _SERVER_CALLS and name:
            self._serve(_call(name, value, at))
        elif isinstance(kind, str) and kind.endswith(_SERVER_RESULT):
            self._result(kind.removesuffix(_SERVER_RESULT), value, at)
        else:
            self.runs.add(Said(named(value), at))

    def _think(self, thought: Any, at: str) -> None:
        if text(thought):
            self.runs.add(Thought(thought, at))
        else:
            self.runs.parts()  # encrypted thoughts end a run of words, too

    def _serve(self, call: Call) -> None:
        position = self.runs.add(Served(call, answered=False))
        if call.call_id:
            self._asked[call.call_id] = position, call

    def _result(self, name: str, value: Mapping[str, Any], at: str) -> None:
        """Take in a result; its call may stand in an earlier message (pause_turn, programmatic calls)."""
        call_id = text(value.get("tool_use_id"))
        content = answer(value.get("content"))
        error = text(obj(content).get("error_code")) or failed(value, content)
        position, call = self._asked.pop(call_id or "", (None, None))
        call = call or self._waiting.get(call_id or "") or Call(name, {}, call_id, at)
        served = Served(call, content, error, at=at)
        if position is None:
            self.runs.add(served)
        else:
            self.runs.replace(position, served)


def parts(
    found: Iterable[Block], base: str, joiner: str = "", waiting: Mapping[str, Call] | None = None
) -> list[Part]:
    """Make parts of blocks. `joiner` stands between texts beside each other: nothing in what models say,
    which citations split into blocks (.../build-with-claude/citations).

    `waiting` are the calls of earlier messages that the vendor's server has not answered yet, by id.
    """
    composer = _Composer(base, joiner, waiting or {})
    for block in found:
        composer.add(block)
    return composer.runs.parts()


def _call(name: str, value: Mapping[str, Any], at: str) -> Call:
    return Call(name, arguments(value.get("input")), text(value.get("id")), at)


def answer(content: Any) -> Json:
    """Give what a tool answered: what its text blocks say together, else the structure."""
    if isinstance(content, str):
        return structure(content)
    if not isinstance(content, list):
        return named(content)
    words = [words for block in content if isinstance(words := _text(block), str)]
    return structure("\n".join(words)) if len(words) == len(content) and words else named(content)


def _text(block: Any) -> Any:
    return block.get("text") if isinstance(block, dict) and block.get("type") == "text" else None


def failed(value: Mapping[str, Any], content: Json) -> str | None:
    """Give the words of a result that is marked as failed."""
    if value.get("is_error") != True:  # noqa: E712 -- 1 compares equal in what is remembered, too
        return None
    if isinstance(content, str) and content:
        return content
    return exact_json.dumps(content) if content else "the tool failed"


def named(value: Any) -> Json:
    """Give a structure without what is left out, and with the name of bytes in place of them."""
    if isinstance(value, dict):
        packed = value.get("type") == "base64"
        return {
            key: media.named(item) if _is_bytes(key, item, packed) else named(item)
            for key, item in value.items()
            if key not in _LEFT_OUT
        }
    return [named(item) for item in value] if isinstance(value, list) else value


def _is_bytes(key: str, item: Any, packed: bool) -> bool:
    return isinstance(item, str) and (key == "bytes" or (packed and key == "data"))
