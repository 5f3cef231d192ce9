"""What may be the beginning of a secret, at the end of a body that is not whole.

Of a stream that is kept while it runs, or that broke off, or of a body that was cut, the end is held back
from where a secret may have begun: half a key is a secret, too. `regex` is needed, which can say whether a
pattern would match if the text went on; it is loaded only then.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from abs_replay.redact.json_paths import values
from abs_replay.redact.named import begun
from abs_replay.redact.placeholders import Placeholders
from abs_replay.redact.rules import Rules
from abs_replay.redact.shapes import BY_FIND, LONGEST_MARK, LOOK_BACK, SHAPES, Shape, marked
from abs_replay.redact.slices import places

if TYPE_CHECKING:
    import regex

WINDOW = 20_000  # bytes from the end; no pattern matches more
LEAST = 4  # bytes; three of a secret are no secret


def begins_at(data: bytes, placeholders: Placeholders, rules: Rules, running: bool) -> int:
    """From where on the end of the data may be a secret's beginning; its length where it is none."""
    cut = max(0, len(data) - WINDOW)
    tail = data[cut:]
    starts = [len(tail), *placeholders.begun(tail, 1 if running else LEAST)]
    if rules.builtin:
        starts += [*_marked(tail), *begun(tail, 1 if running else LEAST)]
        starts += _half_marked(tail) if running else ()
    starts += [start for finder in rules.finders if (start := finder.begun(tail)) is not None]
    if rules.paths:
        starts += [start - cut for start, stop, _ in values(data, rules.paths) if stop == len(data)]
    return cut + min(starts)


def _marked(tail: bytes) -> Iterator[int]:
    for find, (marks, shapes) in BY_FIND.items():
        for at in places(tail, find):
            end = at + len(find)
            if tail.endswith(marks, 0, end):
                yield from (at for shape, at in marked(tail, end, shapes) if _goes_on(shape, tail, at))


def _beginnings() -> dict[bytes, tuple[re.Pattern[bytes] | None, ...]]:
    """Every beginning of a mark, with what may have to stand before it."""
    found: dict[bytes, dict[re.Pattern[bytes] | None, None]] = {}
    for shape in SHAPES:
        for mark in shape.marks:
            for size in range(1, len(mark)):
                found.setdefault(mark[:size], {})[shape.before] = None
    return {begun: tuple(befores) for begun, befores in found.items()}


_BEGUN = _beginnings()


def _half_marked(tail: bytes) -> Iterator[int]:
    """Where a mark has begun, which says nothing yet; a placeholder will begin there if it becomes one."""
    for size in range(1, min(LONGEST_MARK, len(tail) + 1)):
        start = len(tail) - size
        if befores := _BEGUN.get(tail[start:]):
            before = tail[max(0, start - LOOK_BACK) : start]
            if any(each is None or each.search(before) for each in befores):
                yield start


def _goes_on(shape: Shape, tail: bytes, start: int) -> bool:
    found = _stoppable(shape.pattern).match(tail, start, partial=True)
    return found is not None and (found.partial or found.end() == len(tail))


@lru_cache(maxsize=128)
def _stoppable(pattern: re.Pattern[bytes]) -> "regex.Pattern[bytes]":
    import regex

    return regex.compile(pattern.pattern, regex.VERSION0)
