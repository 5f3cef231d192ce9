"""The criteria of a rule as a numbered list: each must come back with a verdict of its own.

    criteria: |
      About refunds:          what stands before a list introduces it
      - Friendly              1
      - Invents no date,      2
        nor an amount

Lines without marks are a criterion each, but for one that goes on with the sentence of a long line, as
where a page's width parted them.
"""

import re
from collections.abc import Iterable
from typing import Final

from abs_replay.exact_json import Json

_MARK: Final = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-*+•–]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])[ \t]+(?P<text>\S.*)$"
)
_ENDS: Final = tuple(".;!?:。；！？：")
_WIDTH: Final = 60  # characters; a shorter line was not broken for want of room


def numbered(criteria: Json) -> tuple[str, tuple[str, ...]]:
    """Split criteria into what introduces them and the single ones; a list is one each already."""
    if isinstance(criteria, str):
        lines = [line.rstrip() for line in criteria.strip("\n").splitlines()]
        marks = [_MARK.match(line) for line in lines]
        if sum(1 for mark in marks if mark) > 1:
            return _listed(lines, marks)
        return "", tuple(_sentences(line.strip() for line in lines if line.strip()))
    if isinstance(criteria, list | tuple):
        return "", tuple(each.strip() for each in criteria if isinstance(each, str) and each.strip())
    return "", ()


def _listed(lines: list[str], marks: list[re.Match[str] | None]) -> tuple[str, tuple[str, ...]]:
    """Take a list apart; items further in than the first belong to the item that they are in."""
    outermost = min(len(mark["indent"]) for mark in marks if mark)
    before: list[str] = []
    items: list[list[str]] = []
    for line, mark in zip(lines, marks, strict=True):
        if mark and len(mark["indent"]) == outermost:
            items.append([mark["text"]])
        elif line.strip():
            (items[-1] if items else before).append(line.strip())
    return " ".join(before), tuple(" ".join(item) for item in items)


def _sentences(lines: Iterable[str]) -> list[str]:
    """Join lines that only the width of the page parted."""
    found: list[str] = []
    last = 0
    for line in lines:
        if found and last >= _WIDTH and line[0].islower() and not found[-1].endswith(_ENDS):
            found[-1] += f" {line}"
        else:
            found.append(line)
        last = len(line)
    return found
