"""Which of a model's calls an exchange on a tool channel carried out.

A model calls `get_order {"order_id": "7"}` and the agent then asks `GET /orders/7` of the tool
channel "Orders": one call, seen twice. Names agree where the tool's or the channel's name is the
call's, whatever its writing (`Order MCP`, `order_mcp`) and whatever prefix an agent puts before it
(`mcp__orders__get_order`). A plain HTTP call agrees where the call's own values stand in its path,
query or body. Aliases play no part here: they rename what an author writes, not what was seen, and
the step keeps the model's name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from abs_replay import exact_json
from abs_replay.decoders import Call, ToolUse
from abs_replay.exact_json import Json
from abs_replay.trace import Source

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")
_VERBS = frozenset({"get", "list", "find", "fetch", "search", "lookup", "read", "create", "update", "delete"})
# RFC 9110 §9.3, in the words of those who name tools. A search is often a POST, so it is not here.
_METHODS: Final[Mapping[str, frozenset[str]]] = {
    "GET": frozenset({"get", "list", "fetch", "read", "show", "view"}),
    "POST": frozenset({"create", "add", "place", "submit", "send", "book", "cancel", "update"}),
    "PUT": frozenset({"update", "set", "replace", "change", "edit"}),
    "PATCH": frozenset({"update", "set", "change", "edit", "modify"}),
    "DELETE": frozenset({"delete", "remove", "cancel"}),
}


@dataclass(frozen=True, slots=True)
class Use:
    """A tool use as pairing sees it; `plain` where it is a bare HTTP call, whose name says little.

    `also` are sources that report it beside its own exchange; `answer` is where its answer stands, if
    that came in another one.
    """

    said: ToolUse
    channel: str
    plain: bool
    also: tuple[Source, ...] = ()
    answer: Source | None = None


def agreement(call: Call, use: Use) -> tuple[float, float]:
    """Say how surely a use carried out a call: (0, 0) not at all; compare as larger is surer."""
    named = names_agree(call.name, use.said.name) or names_agree(call.name, use.channel)
    if use.plain:
        return _plain_agreement(call, use, named, _kinship(call, use))
    score = _called_agreement(call, use, named)
    return (score, _kinship(call, use)) if score else (0, 0)


def _called_agreement(call: Call, use: Use, named: bool) -> float:
    """Score a use that was called by name, as under MCP."""
    if exact_json.equal(_object(call.arguments), use.said.arguments):
        return 9 if named else 2 if _object(call.arguments) else 0
    if not named:
        return 0
    asked, there = scalars(call.arguments), carried(use)
    if asked and there and not asked & there:
        return 0
    return 8 if asked & there else 7


def _plain_agreement(call: Call, use: Use, named: bool, kin: float) -> tuple[float, float]:
    """Score a plain HTTP call: what it carries says more than a name, which many calls of a channel
    share (`list_orders` and `create_order` of "Orders"), and a verb that its method denies says less."""
    asked, there = scalars(call.arguments), carried(use)
    if asked and not asked & there:
        score = 2 if named and not there else 0
    elif asked:
        score = (5 if asked <= there else 3) + named
    else:
        score = 2 if named else 1 if kin else 0
    if not score:
        return (0, 0)
    suits = _suits(call, use)
    return (score - (0.5 if suits < 0 else 0), kin + (suits > 0))


def _suits(call: Call, use: Use) -> int:
    """Say whether the verb in a call's name is the request's method: 1 it is, -1 it is another's."""
    arguments = use.said.arguments
    method = arguments.get("method") if isinstance(arguments, dict) else None
    verbs = _split(call.name)
    meant = {one for one, words in _METHODS.items() if words & verbs}
    return 0 if not meant else 1 if method in meant else -1


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
    return frozenset(word.removesuffix("s") for word in _split(text) - _VERBS)


@lru_cache(4096)
def _split(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _WORD.findall(text))


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
    found: set[str] = set()
    _collect(value, found)
    return frozenset(found)


def _collect(value: Json, found: set[str]) -> None:
    if isinstance(value, str):
        if value.strip():
            found.add(value.strip().casefold())
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, found)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, found)
    elif value is not None and not isinstance(value, bool):
        found.add(exact_json.dumps(value))
