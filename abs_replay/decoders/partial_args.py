"""Arguments that arrive value by value, each under its JSON path (Vertex AI, `partialArgs`).

https://googleapis.github.io/js-genai/release_docs/interfaces/types.PartialArg.html; paths are the
plain ones of RFC 9535 (`$.operations[0].item`).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from abs_replay.decoders.fields import parse_or_none, text

_STEP: Final = re.compile(r"""\.([^.\[\]]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]""")
_DEEPEST: Final = 100
_LEFT_OUT: Final = 16  # items of a list that may be missing before one: none should be
_KINDS: Final = ("stringValue", "numberValue", "boolValue", "string_value", "number_value", "bool_value")
_NULLS: Final = ("nullValue", "null_value")


@dataclass(slots=True)
class PartialArgs:
    """The arguments so far; `lost` counts the values whose path leads nowhere."""

    value: dict[str, Any] = field(default_factory=dict)
    lost: int = 0
    _pieces: dict[str, list[str]] = field(default_factory=dict)

    def add(self, piece: Mapping[str, Any]) -> None:
        """Take in one `PartialArg`; text under a path that continues is text of one value."""
        path = text(piece.get("jsonPath")) or text(piece.get("json_path")) or ""
        known = next((key for key in _KINDS if key in piece), None)
        if known is None and not any(key in piece for key in _NULLS):
            return
        value = piece[known] if known else None
        if isinstance(value, str) and path in self._pieces:
            self._pieces[path].append(value)
        elif not self._put(path, value):
            self.lost += 1
        elif isinstance(value, str):
            self._pieces[path] = [value]

    def arguments(self) -> dict[str, Any]:
        """Give the arguments as far as they came."""
        for path, pieces in self._pieces.items():
            self._put(path, "".join(pieces))
        return self.value

    def _put(self, path: str, value: object) -> bool:
        keys = _keys(path)
        if not keys or not isinstance(keys[0], str):
            return False
        inner: Any = self.value
        for key, following in pairwise(keys):
            inner = _inner(inner, key, [] if isinstance(following, int) else {})
        return _set(inner, keys[-1], value)


def _keys(path: str) -> list[str | int]:
    """Read a path; nothing where it is none."""
    keys: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path):
        step = _STEP.match(path, at)
        if step is None or len(keys) >= _DEEPEST:
            return []
        name, index, single, double = step.groups()
        key = int(index) if index else name or _unquoted(single, double)
        if key is None:
            return []
        keys.append(key)
        at = step.end()
    return keys


def _unquoted(single: str | None, double: str | None) -> str | None:
    """Read a quoted name, whose escapes are JSON's; None for what is none."""
    inner = double if single is None else single.replace("\\'", "'").replace('"', '\\"')
    name = parse_or_none(f'"{inner}"')
    return name if isinstance(name, str) else None


def _inner(value: Any, key: str | int, empty: object) -> Any:
    """Give what stands under a key, or put something empty there."""
    known = isinstance(value, dict) and isinstance(key, str) and key in value
    known = known or (isinstance(value, list) and isinstance(key, int) and key < len(value))
    if not known and not _set(value, key, empty):
        return None
    return value[key]


def _set(value: Any, key: str | int, item: object) -> bool:
    """Put an item under a key, where there can be one."""
    if isinstance(value, dict) and isinstance(key, str):
        value[key] = item
        return True
    if isinstance(value, list) and isinstance(key, int) and key <= len(value) + _LEFT_OUT:
        value.extend([None] * (key + 1 - len(value)))
        value[key] = item
        return True
    return False
