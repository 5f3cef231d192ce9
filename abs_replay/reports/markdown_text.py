"""What Markdown for a comment is made of: code spans, folded lists, and a bounded room for them.

Whatever comes from a trace or a document stands in a code span. There GitHub makes nothing a link, a
mention, an emoji or HTML (https://github.github.com/gfm/#code-spans). A comment holds 65,536 characters, and
who posts it adds some of their own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from abs_replay.reports.cells import escaped

LARGEST = 60_000  # characters, as JavaScript counts them
LONGEST_NAME = 200
LONGEST_REASON = 1000
TICKS = re.compile("`+")


@dataclass(slots=True)
class Room:
    """What is written so far, and how much more fits."""

    left: int
    lines: list[str] = field(default_factory=list)

    def add(self, *lines: str) -> bool:
        """Add lines that belong together; where there is no room for all of them, nothing comes behind."""
        size = sum(length(line) + 1 for line in lines)
        if size > self.left:
            self.left = 0
            return False
        self.left -= size
        self.lines += lines
        return True


def length(text: str) -> int:
    """The length in UTF-16 units, which is what GitHub's pages and clients count."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def code(text: str, longest: int = LONGEST_NAME) -> str:
    """Text as a code span of one line, fenced by more backticks than it has in a row."""
    shown = escaped(text[:longest])
    shown = shown if len(text) <= longest else f"{shown}…"
    if not shown.strip():
        return "(empty)"
    fence = "`" * (max(map(len, TICKS.findall(shown)), default=0) + 1)
    # One blank on each side is taken away again, where both are there.
    blank = " " if shown[0] in " `" or shown[-1] in " `" else ""
    return f"{fence}{blank}{shown}{blank}{fence}"


def add_each(lines: Sequence[str], room: Room) -> int:
    for nth, line in enumerate(lines):
        if not room.add(line):
            return len(lines) - nth
    return 0


def folded(summary: str, lines: Sequence[str], room: Room) -> int:
    """Add a list folded under `summary` (HTML), as much as has room; give how many lines had none."""
    end = ("", "</details>")
    inner = Room(room.left - sum(length(line) + 1 for line in end))
    if not inner.add("", f"<details><summary>{summary}</summary>", "", *lines[:1]):
        room.left = 0
        return len(lines)
    left_out = add_each(lines[1:], inner)
    room.add(*inner.lines, *end)
    room.left = 0 if left_out else room.left
    return left_out
