"""Secrets of which every event of a stream carries a part.

Models say a key in pieces: `{"delta": {"content": "sk-ab"}}`, `{"delta": {"content": "cd12"}}`. So the texts
of the members that carry words are joined, each member by itself, and a secret that stands in several
pieces becomes a placeholder in the first of them and nothing in the others. This knows no protocol: members
are told apart by their name and by the indexes that their event names. Beside the names that protocols use,
those are joined whose text differs from event to event, as a sample shows, and data that is no JSON.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
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
_ANY = re.compile(rb'("[^"\\\s]{1,64}")' + _TEXT + rb'"', re.DOTALL)
_PLAIN = re.compile(rb"^data: ?([^\s{\[][^\r\n]{0,4096})", re.MULTILINE)
_IS_PLAIN = re.compile(rb"data: ?[^\s{\[]")
SAMPLES = 6  # lines of a long stream, for what their members are called
SHORT = 1024  # bytes; of a shorter stream all lines are looked at
MOST_UNKNOWN = 8
_OPEN_VALUE = re.compile(_TEXT + rb"\\?\Z", re.DOTALL)  # the last of a body that is not whole
_INDEX = b'index"'
LOOK_BACK = 512  # bytes before a member in which its index is; without a bound, one long line takes minutes
_NUMBER = re.compile(rb"\s{0,8}:\s{0,8}(\d{1,9})")
_OTHER_INDEX = re.compile(rb'index"\s{0,8}+:\s{0,8}+(?!0[,}\s])')
LONGEST = 64 * 1024  # of a member's text in one event


def divided(data: bytes, find: Find, whole: bool = True, unknown: Find | None = None) -> Iterator[Edit]:
    """The edits for secrets that lie over several events; `find` gives those in a text.

    Of a body that is not `whole` the end of each member is looked at, too, even of one that came once.
    In members of unknown names `unknown` looks: they may be ids, which an author's patterns know nothing of.
    """
    if not _is_of_events(data):
        return
    for pieces in _members(data, _NAMES, whole).values():
        yield from joined(data, pieces, find, whole)
    samples = list(_samples(data))
    for pieces in _members(data, _unknown(samples, whole), whole).values():
        yield from joined(data, pieces, unknown or find, whole)
    if any(_IS_PLAIN.match(line) for line in samples):
        plain = [found.span(1) for found in matches(_PLAIN, data, LONGEST)]
        yield from loosely_joined(data, plain, unknown or find, whole)


def joined(data: bytes, pieces: Sequence[Piece], find: Find, whole: bool) -> Iterator[Edit]:
    """The edits for secrets that lie over several pieces of the data."""
    if len(pieces) > 1 or (pieces and not whole):
        text = b"".join([data[start:stop] for start, stop in pieces])
        for edit in find(text):
            yield from _spread(edit, pieces)


def loosely_joined(data: bytes, pieces: Sequence[Piece], find: Find, whole: bool = True) -> Iterator[Edit]:
    """The same for pieces that may have nothing to do with each other: what goes on is no mere word."""

    def careful(text: bytes) -> Iterator[Edit]:
        for edit in find(text):
            end = next(end for end in accumulate(last - first for first, last in pieces) if end > edit[0])
            alone = any(stop == end - edit[0] for _, stop, _ in find(text[edit[0] : end]))
            if not alone or any(byte in b"0123456789" for byte in text[end : edit[1]]):
                yield edit

    yield from joined(data, pieces, careful, whole)


def _samples(data: bytes) -> Iterator[bytes]:
    """Some lines of the data, from its beginning to its end."""
    if len(data) <= SHORT:
        yield from data.splitlines()
        return
    for number in range(SAMPLES):
        at = data.rfind(b"{", 0, len(data) * (number + 1) // SAMPLES)
        start = max(data.rfind(b"\n", max(0, at - LOOK_BACK), at) + 1, at - LOOK_BACK, 0)
        yield data[start : start + 2 * LOOK_BACK].partition(b"\n")[0]


def _unknown(samples: Iterable[bytes], whole: bool) -> list[bytes]:
    """The names of members that no known protocol has, and whose text differs."""
    first, names = dict[bytes, bytes](), dict[bytes, None]()
    for line in samples:
        for name, value in _ANY.findall(line):
            if name not in _NAMES and (not whole or first.setdefault(name, value) != value):
                names[name] = None
    return list(names)[:MOST_UNKNOWN]


@lru_cache(maxsize=256)
def _values_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(re.escape(name) + _TEXT + rb'"', re.DOTALL)


def _is_of_events(data: bytes) -> bool:
    """Whether it is a stream of server-sent events, or of JSON a line."""
    return data.startswith((b"data:", b"event:", b"id:", b":")) or contains(data, b"}\n{")


def _members(data: bytes, names: Iterable[bytes], whole: bool) -> dict[tuple[bytes, bytes], list[Piece]]:
    """Where the texts of each member lie, in order."""
    members: dict[tuple[bytes, bytes], list[Piece]] = defaultdict(list)
    present = [name for name in names if contains(data, name)]  # a pattern for all costs ten times as much
    several = bool(present) and next(matches(_OTHER_INDEX, data), None) is not None
    for name in present:
        spans = [found.span(1) for found in matches(_values_of(name), data, LONGEST)]
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


def _spread(edit: Edit, pieces: Sequence[Piece]) -> Iterator[Edit]:
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
