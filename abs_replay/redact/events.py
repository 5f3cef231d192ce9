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
from abs_replay.redact.slices import contains, matches

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
_TEXT = rb'\s{0,8}:\s{0,8}"([^"\\]*+(?:\\.[^"\\]*+)*+)'
_VALUES = {name: re.compile(name + _TEXT + rb'"', re.DOTALL) for name in _NAMES}
_OPEN_VALUE = re.compile(_TEXT + rb"\\?\Z", re.DOTALL)  # the last of a body that is not whole
_INDEX = b'index"'
LOOK_BACK = 512  # bytes before a member in which its index is; without a bound, one long line takes minutes
_NUMBER = re.compile(rb"\s{0,8}:\s{0,8}(\d{1,9})")
_OTHER_INDEX = re.compile(rb'index"\s{0,8}+:\s{0,8}+(?!0[,}\s])')
LONGEST = 64 * 1024  # of a member's text in one event


def divided(data: bytes, find: Find, whole: bool = True) -> Iterator[Edit]:
    """The edits for secrets that lie over several events; `find` gives those in a text.

    Of a body that is not `whole` the end of each member is looked at, too, even of one that came once.
    """
    if not _is_of_events(data):
        return
    for pieces in _members(data, whole).values():
        if len(pieces) > 1 or not whole:
            text = b"".join([data[start:stop] for start, stop in pieces])
            for edit in find(text):
                yield from _spread(edit, pieces)


def _is_of_events(data: bytes) -> bool:
    """Whether it is a stream of server-sent events, or of JSON a line."""
    return data.startswith((b"data:", b"event:", b"id:", b":")) or contains(data, b"}\n{")


def _members(data: bytes, whole: bool) -> dict[tuple[bytes, bytes], list[Piece]]:
    """Where the texts of each member lie, in order."""
    members: dict[tuple[bytes, bytes], list[Piece]] = defaultdict(list)
    several = next(matches(_OTHER_INDEX, data), None) is not None
    for name, pattern in _VALUES.items():
        if not contains(data, name):  # a pattern that looks for all of them costs ten times as much
            continue
        spans = [found.span(1) for found in matches(pattern, data, LONGEST)]
        if not whole:
            spans += _open_value(data, name)
        if not several:
            members[name, b""] = spans
            continue
        for span in spans:
            members[name, _index_before(data, span[0])].append(span)
    return members


def _open_value(data: bytes, name: bytes) -> Iterator[Piece]:
    """The text of a member that goes on where the data ends."""
    at = data.rfind(name, max(0, len(data) - LONGEST))
    if at >= 0 and (found := _OPEN_VALUE.match(data, at + len(name))):
        yield found.span(1)


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
    if len(touched) > 1 or not text:
        for number, (first, last) in enumerate(touched):
            yield first, last, b"" if number else text
