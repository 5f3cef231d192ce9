"""Secrets of which every event of a stream carries a part.

Models say a key in pieces: `{"delta": {"content": "sk-ab"}}`, `{"delta": {"content": "cd12"}}`. So the texts
of the members that carry words are joined, each member by itself, and a secret that stands in several
pieces becomes a placeholder in the first of them and nothing in the others. This knows no protocol: members
are told apart by their name and by the indexes that their event names.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from abs_replay.redact.bodies import Edit

type Piece = tuple[int, int]  # from where to where
type Find = Callable[[bytes], Iterable[Edit]]

# The members that carry words, of the protocols that stream them.
_NAMES = tuple(
    b'"%s"' % name
    for name in (
        *(b"content", b"text", b"delta", b"arguments", b"partial_json", b"thinking", b"reasoning"),
        *(b"reasoning_content", b"refusal", b"response", b"token"),
    )
)
_VALUE = re.compile(rb'\s{0,8}:\s{0,8}"((?:[^"\\]|\\.)*)"')
_INDEX = b'index"'
LOOK_BACK = 512  # bytes before a member in which its index is; without a bound, one long line takes minutes
_NUMBER = re.compile(rb"\s{0,8}:\s{0,8}(\d{1,9})")


def divided(data: bytes, find: Find) -> Iterator[Edit]:
    """The edits for secrets that lie over several events; `find` gives those in a text."""
    if not _is_of_events(data):
        return
    for pieces in _members(data).values():
        if len(pieces) > 1:
            text = b"".join(data[start:stop] for start, stop in pieces)
            for edit in find(text):
                yield from _spread(edit, pieces)


def _is_of_events(data: bytes) -> bool:
    """Whether it is a stream of server-sent events, or of JSON a line."""
    return data.startswith((b"data:", b"event:", b"id:", b":")) or b"}\n{" in data


def _members(data: bytes) -> dict[tuple[bytes, bytes], list[Piece]]:
    """Where the texts of each member lie, in order."""
    members: dict[tuple[bytes, bytes], list[Piece]] = defaultdict(list)
    for name in _NAMES:
        at = data.find(name)  # a pattern that looks for all of them costs ten times as much
        while at >= 0:
            end = at + len(name)
            if value := _VALUE.match(data, end):
                members[name, _index_before(data, at)].append(value.span(1))
            at = data.find(name, end)
    return members


def _index_before(data: bytes, at: int) -> bytes:
    """The last index that an event names before a place in it."""
    since = max(data.rfind(b"\n", max(0, at - LOOK_BACK), at) + 1, at - LOOK_BACK, 0)
    index = data.rfind(_INDEX, since, at)
    number = _NUMBER.match(data, index + len(_INDEX)) if index >= 0 else None
    return number[1] if number else b""


def _spread(edit: Edit, pieces: list[Piece]) -> Iterator[Edit]:
    """An edit of the joined text as edits of the pieces that it touches, if it touches several."""
    start, stop, text = edit
    ends = accumulate(stop - start for start, stop in pieces)
    touched = [
        (first + max(0, start - (end - last + first)), last - max(0, end - stop))
        for (first, last), end in zip(pieces, ends, strict=True)
        if end > start and end - (last - first) < stop
    ]
    if len(touched) > 1:
        for number, (first, last) in enumerate(touched):
            yield first, last, b"" if number else text
