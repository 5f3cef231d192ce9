"""Which of a model's calls an exchange on a tool channel carried out.

A model calls `get_order {"order_id": "7"}` and the agent then asks `GET /orders/7` of the tool
channel "Orders": one call, seen twice. Names agree where the tool's or the channel's name is the
call's, whatever its writing (`Order MCP`, `order_mcp`) and whatever prefix an agent puts before it
(`mcp__orders__get_order`). A plain HTTP call agrees where the call's own values stand in its path,
query or body. Aliases play no part here: they rename what an author writes, not what was seen, and
the step keeps the model's name.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

from abs_replay import exact_json
from abs_replay.decoders import Call, ToolUse
from abs_replay.exact_json import Json

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_VERBS = frozenset({"get", "list", "find", "fetch", "search", "lookup", "read", "create", "update", "delete"})


@dataclass(frozen=True, slots=True)
class Use:
    """A tool use as pairing sees it; `plain` where it is a bare HTTP call, whose name says little."""

    said: ToolUse
    channel: str
    plain: bool


def agreement(call: Call, use: Use) -> tuple[int, float]:
    """Say how surely a use carried out a call: (0, 0) not at all; compare as larger is surer."""
    named = names_agree(call.name, use.said.name) or names_agree(call.name, use.channel)
    kin = _kinship(call, use)
    if not use.plain and exact_json.equal(_object(call.arguments), use.said.arguments):
        return (6, kin) if named else (2, kin) if _object(call.arguments) else (0, 0)
    asked = scalars(call.arguments)
    there = carried(use)
    if named:
        return (5, kin) if asked & there else (4, kin) if not asked or not there else (0, 0)
    if not use.plain:
        return (0, 0)
    if asked:
        return (3, kin) if asked <= there else (2, kin) if asked & there else (0, 0)
    return (1, kin) if kin else (0, 0)


def same_use(left: Use, right: Use) -> bool:
    """Say whether two uses ask one thing of one tool."""
    return left.said.name == right.said.name and exact_json.equal(left.said.arguments, right.said.arguments)


def names_agree(name: str, other: str) -> bool:
    """Say whether two names are one but for writing and a prefix of the first."""
    left, right = _squeezed(name), _squeezed(other)
    return bool(right) and (left == right or (len(right) > 3 and left.endswith(right)))


@lru_cache(4096)
def _squeezed(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _kinship(call: Call, use: Use) -> float:
    """Give the share of the call's words that the use speaks of (`get_order`, `/orders/7`)."""
    arguments = use.said.arguments
    path = arguments.get("path") if isinstance(arguments, dict) and use.plain else ""
    theirs = _words(f"{use.said.name} {use.channel} {path}")
    ours = _words(call.name)
    return len(ours & theirs) / len(ours) if ours else 0.0


@lru_cache(4096)
def _words(text: str) -> frozenset[str]:
    found = {word.casefold() for word in _WORD.findall(text)}
    return frozenset(word.removesuffix("s") for word in found - _VERBS)


def _object(value: Json) -> Json:
    return value if isinstance(value, dict) else {}


def carried(use: Use) -> frozenset[str]:
    """Give the values that a use carries: those of its arguments, and the parts of its path."""
    arguments = use.said.arguments
    if not use.plain or not isinstance(arguments, dict):
        return scalars(arguments)
    path = arguments.get("path")
    parts = re.split(r"[/:;,()'@]", unquote(path)) if isinstance(path, str) else []
    rest = {key: value for key, value in arguments.items() if key not in ("method", "path")}
    return scalars(rest) | {part.strip().casefold() for part in parts if part.strip()}


def scalars(value: Json) -> frozenset[str]:
    """Give the texts and numbers inside a value, as text; true, false and null say too little."""
    return frozenset(_scalars(value))


def _scalars(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _scalars(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _scalars(item)
    elif isinstance(value, str):
        if value.strip():
            yield value.strip().casefold()
    elif value is not None and not isinstance(value, bool):
        yield exact_json.dumps(value)
