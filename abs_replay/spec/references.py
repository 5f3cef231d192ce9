"""The references that an author writes into text: `{{name}}`, `{{order.lines.1.sku}}` (SEMANTICS V6).

Only the grammar lives here; what a reference resolves to is for `variables` to say.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from unicodedata import category

from abs_replay.exact_json import Json, dumps

# What stands between the braces; whether it is a name is for `is_name` to say.
_REFERENCE = r"\{\{[ \t]*+([^\s{}]++)[ \t]*+\}\}"
_IN_TEXT = re.compile(rf"(?P<escaped>\\\{{\{{)|{_REFERENCE}")
# In a pattern a backslash has its own meaning (V6): `\{` is a brace, `\\` a backslash.
_IN_PATTERN = re.compile(rf"(?P<escaped>\\.)|{_REFERENCE}", re.DOTALL)


class Reference(NamedTuple):
    """A reference as written, without braces and blanks: `order.lines.1.sku`."""

    name: str


type Part = str | Reference


def is_name(text: str) -> bool:
    """Say whether a reference could be written so: names, dots between them (V6)."""
    return all(name and all(map(_in_names, name)) for name in text.split("."))


def _in_names(letter: str) -> bool:
    # Letters of any script with their marks, which `\w` of `re` leaves out.
    kind = category(letter)
    return kind[0] in "LM" or kind == "Nd" or letter in "_-"


@lru_cache(maxsize=4096)
def parse(text: str, *, pattern: bool = False) -> tuple[Part, ...]:
    """Split text into what stays text and its references; `\\{{` becomes `{{` (not in a pattern)."""
    parts: list[Part] = []
    end = 0
    for found in (_IN_PATTERN if pattern else _IN_TEXT).finditer(text):
        escaped = found["escaped"]
        if not escaped and not is_name(found[2]):
            continue
        parts.append(text[end : found.start()])
        parts.append((escaped if pattern else "{{") if escaped else Reference(found[2]))
        end = found.end()
    parts.append(text[end:])
    return tuple(part for part in parts if part != "")


def alone(text: str) -> str | None:
    """Give the name of a text that is exactly one reference."""
    parts = parse(text)
    return parts[0].name if len(parts) == 1 and isinstance(parts[0], Reference) else None


def as_text(value: Json) -> str:
    """Write a value as it stands inside longer text: strings bare, the rest compact JSON (V1)."""
    return value if isinstance(value, str) else dumps(value)


def fill(text: str, lookup: Callable[[str], Json]) -> str:
    """Write every reference's value into the text; values are never read as text again (V4)."""
    return "".join(part if isinstance(part, str) else as_text(lookup(part.name)) for part in parse(text))


def names(value: Json, *, pattern: bool = False) -> Iterator[str]:
    """Give every reference in a value's texts; mapping keys hold none (V2)."""
    if isinstance(value, str):
        yield from (part.name for part in parse(value, pattern=pattern) if isinstance(part, Reference))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from names(item, pattern=pattern)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from names(item, pattern=pattern)
