"""The fence around what is judged: two lines that only the asker can write, and nothing within ends it.

The name of the lines is random and of one call, so no text of a trace can know it. Inside, every entry is
one line of JSON in which whatever could look like such a line, and every character that a reader would not
see, is written as an escape: nothing is lost, and nothing hides.
"""

import secrets
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from abs_replay.exact_json import Json, dumps

if TYPE_CHECKING:
    import regex

BEGIN = "<<<BEGIN DATA {name}>>>"
END = "<<<END DATA {name}>>>"


def new_name() -> str:
    """Make up the name of one fence."""
    return secrets.token_hex(8)


def fenced(entries: Iterable[Json], name: str) -> str:
    """Put entries between the two lines, one a line."""
    return "\n".join((BEGIN.format(name=name), *map(quoted, entries), END.format(name=name)))


def quoted(value: Json) -> str:
    """Write a value as one line of JSON that can be no delimiter, and holds nothing that is not seen."""
    return _unsafe().sub(_escaped, dumps(value))


def defused(text: str) -> str:
    """Write an author's text so that no line of it can be taken for a delimiter."""
    return sendable(text).replace("<<<", "‹‹‹").replace(">>>", "›››")


def sendable(text: str) -> str:
    """Replace halves of surrogate pairs, which no UTF-8 can say."""
    return text.encode(errors="replace").decode()


@cache
def _unsafe() -> "regex.Pattern[str]":
    import regex  # `re` knows no classes of characters

    # Runs of brackets, and what has no glyph of its own: controls, formats (zero width, directions, tags),
    # lone surrogates, private use, separators of lines and paragraphs.
    return regex.compile(r"<{3,}|>{3,}|[\p{C}\p{Zl}\p{Zp}]")


def _escaped(found: "regex.Match[str]") -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))
