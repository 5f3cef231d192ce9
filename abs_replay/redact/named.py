r"""Secrets that stand behind a name in a text: members of JSON, elements and attributes, assignments.

    "api_key": "X"   'password': 'X'   <apiKey>X</apiKey>   OPENAI_API_KEY=X   password: X   --token X

What ends such a name is searched first, in small letters: a pattern for all of them costs ten times as much.
"""

import re
from collections.abc import Iterator

from abs_replay.redact.names import Naming, naming
from abs_replay.redact.needles import Needles
from abs_replay.redact.slices import SLICE, spans

LONGEST_NAME = 64
_LONG = 1024  # bytes of a value in which no other name is sought: many names in one would take seconds
_SHORTEST = 12  # bytes of a name, a sign and a value
_LONGEST = 4096 + 2 * LONGEST_NAME
_OVER = 16  # bytes of the next slice in which a stem may end
_STEMS = (b"token", b"secret", b"key", b"pass", b"pwd", b"redential", b"bearer", b"nection")
_SOUGHT = Needles(_STEMS)
_VALUE = rb"""[^"'`\\<>\s]"""
_BARE = rb"[\w+/=.~!@#$%^*:-]"
_SIGN = rb"(?:\\{0,3}[\"'`]\]?|\*\*)?\s{0,8}(?P<sign>=>|:=|[:=])(?:\*\*)?"
_QUOTED = rb"\s{0,8}\\{0,3}(?P<quote>[\"'`])"
_AFTER = re.compile(
    rb"(?P<rest>[A-Za-z_-]{0,12})(?:"
    + _SIGN
    + rb"(?:" + _QUOTED + rb"(?P<quoted>" + _VALUE + rb"{8,4096})"
    + rb"|[ \t]{0,8}(?P<bare>" + _BARE + rb"{8,4096}+)(?![\[(]))"
    + rb"|[ ]{1,4}(?P<option>" + _BARE + rb"{8,4096}+)(?![\[(])"
    + rb"|>\s{0,8}(?P<element>[^<>\s\"'\\]{8,4096})\s{0,8}</)"
)  # fmt: skip
_CONNECTION = re.compile(rb"[^\"'`\\\\<>]{8,4096}")
_NAME = re.compile(rb"[A-Za-z0-9_-]{1,64}\Z")
_OPEN = re.compile(
    rb"(?<![A-Za-z0-9_-])(?P<name>[A-Za-z0-9_-]{2,64}+)(?:"
    + _SIGN
    + rb"(?:"
    + _QUOTED
    + rb"|[ \t]{0,8})|>\s{0,8})"
)
_REST = re.compile(_VALUE + rb"*+")
_IDENTIFIER = re.compile(rb"[A-Za-z_$]\w*(?:\.[A-Za-z_$]\w*)+|[A-Z_]+|[a-z_]*_[a-z_]*|\$.*")
_DIGIT, _LETTER = re.compile(rb"\d"), re.compile(rb"[A-Za-z]")
_MIXED = re.compile(rb"[^a-z]*+[a-z][^A-Z]*+[A-Z]")
_PLAIN = re.compile(rb"[\w+/=.~!@#$%^&*:|-]+")


def named(data: bytes) -> Iterator[tuple[int, int]]:
    """From where to where the secrets stand that have a telling name."""
    if len(data) < _SHORTEST:
        return
    for start, stop in spans(data, _OVER):
        piece = data[start:stop].lower()
        present = _SOUGHT.within(piece)
        for stem in _STEMS:
            if stem not in present:
                continue
            at = piece.find(stem)
            while 0 <= at < SLICE:
                end = start + at + len(stem)
                next_ = end
                if found := _AFTER.match(data, end):
                    yield from _value(data, end, found)
                    next_ = found.end() if found.end() - end > _LONG else end
                at = piece.find(stem, next_ - start)


def _value(data: bytes, end: int, found: re.Match[bytes]) -> Iterator[tuple[int, int]]:
    name = _name(data, found.end("rest"))
    said = naming(name)
    if said is Naming.NOTHING:
        return
    group = found.lastgroup or ""
    start, stop = found.span(group)
    if group == "option" and not name.startswith("-"):
        return  # words of a sentence
    if name.lower().endswith("pwd") and found[group][:1] in b"/~.":
        return  # where a program works
    if name.lower().endswith("string") and group == "quoted" and (whole := _CONNECTION.match(data, start)):
        stop = whole.end()
    elif not _fits(found[group], said, group, found["quote"] == b'"' and found["sign"] == b":"):
        return
    yield start, start + len(data[start:stop].rstrip(b".!:*~")) if group == "bare" else stop


def _name(data: bytes, end: int) -> str:
    """The name that ends there, without what belongs to an escape before it."""
    found = _NAME.search(data, max(0, end - LONGEST_NAME), end)
    assert found is not None  # it ends with a stem
    escaped = data[found.start() - 1 : found.start()] == b"\\" and found[0][:1] in b"nrt"
    return found[0][escaped:].decode()


def _fits(value: bytes, said: Naming, group: str, is_member: bool) -> bool:
    """Whether a value may be the secret that its name speaks of."""
    if said is Naming.PERHAPS:
        return is_like_a_credential(value)
    if is_member or group == "element":
        return True
    if _IDENTIFIER.fullmatch(value):
        return False
    return group == "quoted" or (_DIGIT.search(value) is not None and _LETTER.search(value) is not None)


def is_like_a_credential(value: bytes) -> bool:
    """Whether it is long, one word, and no word of a language or of a program."""
    if len(value) < 16 or b"://" in value or not _PLAIN.fullmatch(value) or _IDENTIFIER.fullmatch(value):
        return False
    if not _LETTER.search(value):
        return len(value) >= 24
    return _DIGIT.search(value) is not None or (len(value) >= 24 and _MIXED.match(value) is not None)


def begun(tail: bytes, least: int) -> Iterator[int]:
    """Where at the end of a text a value with a telling name has begun, of so many bytes at least."""
    cut = max(0, len(tail) - _LONGEST)
    for found in _OPEN.finditer(tail, cut):
        rest = _REST.match(tail, found.end())
        if rest and rest.end() == len(tail) and len(rest[0]) >= least and _is_telling(found["name"]):
            yield found.end()
            return


def _is_telling(name: bytes) -> bool:
    return naming(name.decode()) is not Naming.NOTHING
