"""Forms: fields whose names say that their value is a secret (URL-encoded, and multipart, RFC 7578)."""

import re
from collections.abc import Callable, Iterator
from itertools import islice

from abs_replay.redact.bodies import Edit
from abs_replay.redact.names import is_of_parameter
from abs_replay.redact.shapes import PARAMETERS, names_a_secret

type Of = Callable[[str, bytes], bytes]  # a placeholder, by class and secret

LONGEST = 64 * 1024  # of a field's value that is one secret
_BOUNDARY = re.compile(r'boundary=(?:"([^"]{1,70})"|([^\s";]{1,70}))', re.IGNORECASE)
_NAME = re.compile(rb'[ ;]name="([^"\r\n]{1,256})"', re.IGNORECASE)
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LONGEST_HEAD = 8192
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip (RFC 1952), zstd (RFC 8878)
_MOST_PACKED = 16  # each may come to much


def secret_fields(content_type: str, data: bytes, of: Of) -> Iterator[Edit]:
    """The edits for the values of fields with a telling name; none where the body is no form."""
    kind = content_type.lower()
    if kind.startswith("application/x-www-form-urlencoded"):
        for found in PARAMETERS.finditer(data[: LONGEST * 16]):
            if names_a_secret(found) and len(found["value"]) <= LONGEST:
                yield *found.span("value"), of("key", found["value"])
    elif kind.startswith("multipart/"):
        for head, start, stop in _parts(content_type, data):
            name = _NAME.search(data, *head)
            if name and is_of_parameter(name[1]) and stop - start <= LONGEST:
                yield start, stop, of("key", data[start:stop])


def lengths(content_type: str, before: bytes, data: bytes) -> Iterator[Edit]:
    """The edits that make right the lengths of multipart's parts which were right before."""
    if not content_type.lower().startswith("multipart/"):
        return
    for old, new in zip(_parts(content_type, before), _parts(content_type, data), strict=False):
        found, was = _LENGTH.search(data, *new[0]), _LENGTH.search(before, *old[0])
        if found and was and int(was[1]) == old[2] - old[1] and int(found[1]) != new[2] - new[1]:
            yield *found.span(1), str(new[2] - new[1]).encode()


def packed_parts(content_type: str, data: bytes) -> Iterator[tuple[int, int]]:
    """From where to where those parts of a multipart body stand that are packed: a file that was gzipped."""
    if content_type.lower().startswith("multipart/"):
        contents = ((start, stop) for _, start, stop in _parts(content_type, data))
        yield from islice((span for span in contents if data.startswith(_PACKED, *span)), _MOST_PACKED)


def _parts(content_type: str, data: bytes) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Each part: where its head lies, and from where to where its content."""
    found = _BOUNDARY.search(content_type)
    if found is None:
        return
    line = b"--" + (found[1] or found[2]).encode()
    at = 0 if data.startswith(line) else data.find(b"\n" + line) + 1
    while at > 0 or data.startswith(line):
        head_end = _HEAD_END.search(data, at, at + _LONGEST_HEAD)
        next_ = data.find(b"\n" + line, at + len(line))
        if head_end is None or 0 <= next_ < head_end.end() - 1:
            return
        stop = len(data) if next_ < 0 else next_ - data.endswith(b"\r", 0, next_)
        yield (at, head_end.start()), head_end.end(), max(stop, head_end.end())
        if next_ < 0:
            return
        at = next_ + 1
