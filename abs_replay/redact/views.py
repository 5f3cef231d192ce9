r"""A text as it reads once its escapes are undone: `\u0041` and `\/` of JSON, `%41` of a URL, base64.

What is found in such a view is mapped back: escapes around a secret are left as they are, base64 is
written anew.
"""

import binascii
import re
from base64 import b64encode
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from abs_replay.redact.bodies import Edit, edited
from abs_replay.redact.slices import contains, matches, spans

type Find = Callable[[bytes], Iterable[Edit]]

SHORT = 200  # characters of base64; shorter ones are ids mostly, and are looked into only where they are text
LONGEST = 4 * 1024 * 1024  # characters of base64 that are looked into
_LEAST = 16
_BEGINNING = 4096

_JSON_HINT = re.compile(rb"\\(?:u00[2-7]|/)")
_JSON = re.compile(rb"\\(?:u00([2-7][0-9a-fA-F])|([/\"\\]))")
_PERCENT = re.compile(rb"%([2-7][0-9a-fA-F])()")
_DIGITS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_ALPHABET = bytes(97 if byte in _DIGITS else 32 for byte in range(256))
_FROM_URL = bytes.maketrans(b"-_", b"+/")
_RUN = b"a" * _LEAST
# A run of base64, perhaps in lines. In parts: while one match goes on no other thread runs.
_FIRST_LINE = re.compile(rb"[A-Za-z0-9+/_-]{1,65536}")
_LINES = re.compile(rb"(?:(?:\r?\n|\\r\\n|\\n)[A-Za-z0-9+/_-]{2,76}){1,500}")
_DECODED = 1 << 16  # characters at once; a multiple of four
_PARTS = re.compile(rb"[/_-]")
_BREAK = re.compile(rb"\r?\n|\\r\\n|\\n")


def seen_through(data: bytes, find: Find) -> Iterator[Edit]:
    """The edits for what `find` finds once escapes and base64 are undone."""
    if b"\0" not in data[:_BEGINNING]:  # else it is binary: what looks like an escape is none
        if contains(data, b"\\") and next(matches(_JSON_HINT, data), None):
            yield from _unescaped(data, _JSON, find)
        if contains(data, b"%"):
            yield from _unescaped(data, _PERCENT, find)
    yield from _decoded(data, find)


def _unescaped(data: bytes, escape: re.Pattern[bytes], find: Find) -> Iterator[Edit]:
    parts, at, length = list[bytes](), 0, 0
    places, sources = [0], [0]  # where in the view, and from where on in the data
    for found in matches(escape, data):
        character = bytes((int(found[1], 16),)) if found[1] else found[2]
        parts += [data[at : found.start()], character]
        length += found.start() - at
        places += [length, length + 1]
        sources += [found.start(), found.end()]
        at, length = found.end(), length + 1
    if not parts:
        return

    def source(place: int) -> int:
        index = bisect_right(places, place) - 1
        return sources[index] + place - places[index]

    for start, stop, text in find(b"".join([*parts, data[at:]])):
        yield source(start), source(stop), text


def _decoded(data: bytes, find: Find) -> Iterator[Edit]:
    done = 0
    empty = set[bytes]()  # short runs in which nothing is: an id stands in every event of a stream
    for start, stop in spans(data, len(_RUN)):
        runs = data[start:stop].translate(_ALPHABET)
        at = runs.find(_RUN)
        while at >= 0:
            if start + at >= done:
                # It begins there: each slice has so much of the next that no run's beginning is cut.
                begin = start + at
                done = _end(data, begin)
                run = data[begin:done] if done - begin <= LONGEST else b""
                if run and run not in empty:
                    edits = list(_decoded_run(run, begin, find))
                    yield from edits
                    if not edits and len(run) < SHORT:
                        empty.add(run)
            at = runs.find(_RUN, max(at + 1, done - start))


def _end(data: bytes, begin: int) -> int:
    """Where a run of base64 ends, with its lines and its padding."""
    at = begin
    while found := _FIRST_LINE.match(data, at):
        at = found.end()
    while found := _LINES.match(data, at):
        at = found.end()
    tail = data[at : at + 2]
    return at + len(tail) - len(tail.lstrip(b"="))


def _decoded_run(run: bytes, at: int, find: Find) -> Iterator[Edit]:
    """One run as a whole; or, where that says nothing, its parts: a path has slashes, too."""
    if (edit := _edited_base64(run, find)) is not None:
        yield at, at + len(run), edit
    elif len(run) < SHORT and (parts := _PARTS.split(run))[1:]:
        for part in parts:
            if len(part) >= _LEAST and (edit := _edited_base64(part, find)) is not None:
                yield at, at + len(part), edit
            at += len(part) + 1


def _edited_base64(run: bytes, find: Find) -> bytes | None:
    """A run of base64 with what is found in it replaced; None where nothing is."""
    digits, broken = run.rstrip(b"="), 0
    if b"\n" in digits or b"\\" in digits:
        digits, broken = _BREAK.subn(b"", digits)
    used = len(digits) - (len(digits) % 4 == 1)
    for_urls = b"-" in digits or b"_" in digits
    padded = digits[:used] + b"=" * (-used % 4)
    plain = binascii.a2b_base64(padded.translate(_FROM_URL) if for_urls else padded)
    if len(run) < SHORT and not _is_text(plain):
        return None
    if not (edits := apart(find(plain))):
        return None
    cleaned, _ = edited(plain, (), edits)
    written = b64encode(cleaned, b"-_" if for_urls else None)
    if not run.endswith(b"=") and len(digits) % 4:
        written = written.rstrip(b"=")
    return _in_lines(written, run) if broken else written


def _in_lines(written: bytes, run: bytes) -> bytes:
    end = _BREAK.search(run)
    assert end is not None
    width = end.start()
    return end[0].join(written[at : at + width] for at in range(0, len(written), width))


def _is_text(plain: bytes) -> bool:
    try:
        plain.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"  # it goes on elsewhere
    return True


def apart(edits: Iterable[Edit]) -> list[Edit]:
    """In order, the longest first, without those that begin inside another."""
    result: list[Edit] = []
    for edit in sorted(edits, key=lambda edit: (edit[0], -edit[1])):
        if not result or edit[0] >= result[-1][1]:
            result.append(edit)
    return result
