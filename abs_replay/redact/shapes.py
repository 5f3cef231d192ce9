"""What secrets look like, and where they stand in a text.

Twenty patterns over 12 KB would cost more than the proxy itself. So each shape names a rare byte or string
that is searched first (1 µs in 12 KB for a byte, 10 µs for several), then what has to stand there, and
only then its pattern is tried, at that place. Lengths are bounded, so that no text can make a match long.
"""

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from abs_replay.redact.named import is_like_a_credential
from abs_replay.redact.names import is_of_parameter
from abs_replay.redact.needles import Needles
from abs_replay.redact.slices import SLICE, contains, places, spans
from abs_replay.redact.vendors import VENDORS

LOOK_BACK = 32  # bytes before a mark that `before` sees

# No letter or digit, or one that belongs to an escape of JSON or of a URL.
EDGE = re.compile(rb"(?:^|[^A-Za-z0-9]|\\[nrtbf]|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2})\Z")
# What a parameter's name may begin with, for its end to be a mark (`&x-amz-signature=`, `&openai_api_key=`).
_JOINT = rb"(?:[_-]|%5F|%2D)"
NAME_BEGINS = (
    rb"(?:(?:[a-z0-9]{1,24}" + _JOINT + rb"){0,3}(?:api|access|auth|app|bearer|bot|client|id|private|refresh"
    rb"|secret|security|session|subscription|x-amz|x-amz-security|x-goog)" + _JOINT + rb"?)?"
)
IN_URL = re.compile(rb"(?:^|[?&]|\\u0026)" + NAME_BEGINS + rb"\Z", re.IGNORECASE)
_NAME = rb"(?P<name>[A-Za-z0-9_.%-]{1,64})="
# Of URLs and forms; of a form's fields the first has no sign before it.
PARAMETERS = re.compile(rb"(?:^|[?&#])" + _NAME + rb"(?P<value>[^&#\s]+)")
IN_TEXT = re.compile(rb"[?&#]" + _NAME + rb"(?P<value>[^&#\s\"'<>\\),;]+)")


def names_a_secret(parameter: re.Match[bytes]) -> bool:
    """Whether a parameter's value is a secret. A long `code` is of OAuth, a short one is a country's."""
    name, value = parameter["name"], parameter["value"]
    return is_of_parameter(name) or (name.lower() == b"code" and len(value) >= 32)


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of secret: `find` ends each of `marks`; `pattern` starts where they do, and has a group."""

    kind: str
    find: bytes
    marks: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    before: re.Pattern[bytes] | None
    accept: Callable[[bytes], bool] | None = None


def _shape(
    kind: str,
    find: str,
    marks: str,
    pattern: str,
    before: re.Pattern[bytes] | None = EDGE,
    accept: Callable[[bytes], bool] | None = None,
) -> Shape:
    mark = tuple(marks.encode().split(b"|"))
    return Shape(kind, find.encode(), mark, re.compile(pattern.encode()), before, accept)


def _vendor(find: str, beginnings: str, rest: str) -> Shape:
    return _shape("key", find, beginnings, f"((?:{beginnings}){rest})")


def is_basic(credentials: bytes) -> bool:
    """Whether it is `user:password` in base64 (RFC 7617)."""
    try:
        plain = base64.b64decode(credentials).decode()
    except ValueError:
        return False
    return ":" in plain and plain.isprintable()


# What sentences about passwords go on with, and no password is: "sha256", "32-character", "2nd", "{0}".
_NO_PASSWORD = re.compile(
    rb"(?:sha|md|utf|aes|rsa|base|bcrypt|argon|pbkdf|scrypt|oauth|rfc|iso|v)[-_]?\d[\w-]*"
    rb"|\d+(?:[-_.][A-Za-z]+)+|\d+(?:st|nd|rd|th|x|k|ms?|s|h|days?|chars?|characters?)|[{$%(].*|\w+\(.*",
    re.IGNORECASE,
)


def _is_password(word: bytes) -> bool:
    """Whether a word of a sentence is no word of a language: it has a letter and a digit."""
    is_mixed = re.search(rb"\d", word) and re.search(rb"[A-Za-z]", word)
    return bool(is_mixed) and not _NO_PASSWORD.fullmatch(word)


# What people say of a secret in a chat: "my password is X", "the API key is X".
_SAID = r""" is:? {0,2}[\\"'`*]{0,4}((?:[^\s"'`\\<>,;]{5,255})[^\s"'`\\<>,;.:!?)*\]])"""

# What stands between a member's name and its value, in JSON and in JSON inside a text.
_MEMBER = r'\\{0,3}"\s{0,8}:\s{0,8}\\{0,3}"'

SHAPES = (
    *(_vendor(*row) for row in VENDORS),
    _shape("key", "A", ":A", r":(AA[\w-]{30,64})", re.compile(rb"\d{6,12}\Z")),  # a Telegram bot's
    _shape("key", "hooks", "//hooks", r"//hooks\.slack\.com/[a-z]{1,12}/([\w/-]{20,128})", None),
    _shape("key", "hooks", "/webhooks", r"/webhooks/\d{10,25}/([\w-]{40,100})", None),  # Discord
    _shape("auth", "J", "eyJ", r"(eyJ[\w-]{8,8192}\.eyJ[\w-]{8,8192}\.[\w-]{0,8192})"),
    _shape("auth", "earer ", "Bearer |bearer ", r".earer +((?=[^\s\d]{0,512}\d)[\w.~+/=-]{16,8192})"),
    _shape("auth", "asic ", "Basic |basic ", r".asic ([A-Za-z0-9+/]{6,1024}={0,2})", EDGE, is_basic),
    _shape(
        "auth",
        "uthoriz",  # a z alone is frequent in Polish or German
        "authoriz|Authoriz",
        ".uthorization" + _MEMBER + r'(?:[A-Za-z]{1,15} )?([^"\\<>\s]{8,8192})',
        None,
    ),
    _shape(  # the same as a line of a head, or in a program
        "auth",
        "uthoriz",
        "authoriz|Authoriz",
        r""".uthorization\\{0,3}["']?\s{0,4}[:=]\s{0,4}\\{0,3}["']?(?:[A-Za-z]{1,15} )?"""
        r"((?=[\w.~+/=-]{0,512}\d)[\w.~+/=-]{16,8192})",
        None,
    ),
    _shape(
        "key",
        "-",
        "PRIVATE KEY-----",
        r"PRIVATE KEY-----((?:[A-Za-z0-9+/=\s]|\\{1,3}[nr]){16,16384})",
        None,
    ),
    _shape(
        "key",
        "=",
        "key=|Key=|token=|Token=|sig=|signature=|Signature=|secret=|password=|credential=|Credential="
        "|session=|KeyId=|key_id=|assertion=",
        r"""[A-Za-z_]+=([^&\s"'<>\\#;]{6,2048})""",
        IN_URL,
    ),
    _shape("key", "word is", "assword is", "assword" + _SAID, None, _is_password),
    _shape("key", "phrase is", "assphrase is", "assphrase" + _SAID, None, _is_password),
    _shape(
        "key",
        "key is",
        "pi key is|PI key is|pi-key is|ccess key is|ecret key is",
        r"[A-Za-z-]+ ?key" + _SAID,
        None,
        is_like_a_credential,
    ),
    _shape(
        "key",
        "oken is",
        "ccess token is|uth token is|PI token is|pi token is|earer token is|efresh token is|bot token is",
        r"[A-Za-z]+ token" + _SAID,
        None,
        is_like_a_credential,
    ),
    _shape(
        "auth",
        "://",
        "://",
        r"""://(?:[^\s/?#@"'<>\\:]{0,256}:([^\s/?#@"'<>\\]{1,256})|([^\s/?#@"'<>\\:]{16,256}))@""",
        None,
    ),
)


def _by_find() -> dict[bytes, tuple[tuple[bytes, ...], tuple[Shape, ...]]]:
    groups = {shape.find: tuple(each for each in SHAPES if each.find == shape.find) for shape in SHAPES}
    return {find: (tuple(m for s in shapes for m in s.marks), shapes) for find, shapes in groups.items()}


BY_FIND = _by_find()
# The last bytes of the marks, by what is found: to look for one in a set is quicker than to try all marks.
_LAST = {
    find: (size := min(3, *map(len, marks)), frozenset(mark[-size:] for mark in marks))
    for find, (marks, _) in BY_FIND.items()
}
_LONGER = Needles(find for find in BY_FIND if len(find) > 1)  # a byte is found quicker alone
_MARKS = {find: Needles(marks) for find, (marks, _) in BY_FIND.items()}
FEW = 16  # finds, from which on all marks are sought at once: ids and names in a stream have many hyphens
OFTEN = 64  # finds in a slice, from which on it is quicker to search for each mark
LONGEST_MARK = max(len(mark) for shape in SHAPES for mark in shape.marks)


def looks(data: bytes) -> Iterator[tuple[int, int, str]]:
    """Everything that looks like a secret: from where to where, and its kind."""
    present = frozenset[bytes]().union(*(_LONGER.within(piece) for piece in _pieces(data)))
    for find, (marks, shapes) in BY_FIND.items():
        if (len(find) > 1 and find not in present) or (find == b"://" and not contains(data, b"@")):
            continue
        if len(data) <= SLICE and data.count(find) > FEW and not _MARKS[find].within(data):
            continue
        for end in _ends(data, find, marks) if len(data) <= SLICE else _ends_in_slices(data, find, marks):
            yield from _looks_at(data, end, shapes)


def _pieces(data: bytes) -> Iterable[bytes]:
    return (data,) if len(data) <= SLICE else (data[a:b] for a, b in spans(data, LONGEST_MARK))


def _ends(data: bytes, find: bytes, marks: tuple[bytes, ...]) -> Iterator[int]:
    """Where marks end that end with what is found."""
    at, size = data.find(find), len(find)
    short, last = _LAST[find]
    while at >= 0:
        end = at + size
        if data[end - short : end] in last and data.endswith(marks, 0, end):
            yield end
        at = data.find(find, at + size)


def _ends_in_slices(data: bytes, find: bytes, marks: tuple[bytes, ...]) -> Iterator[int]:
    """The same for large data. Of random bytes each two hundredth is found: then marks are sought first."""
    for start, stop in spans(data, LONGEST_MARK):
        piece = data[max(0, start - LONGEST_MARK) : stop]
        often = piece.count(find)
        if often and (often < OFTEN or any(mark in piece for mark in marks)):
            for at in places(piece, find):
                end = max(0, start - LONGEST_MARK) + at + len(find)
                if start < end <= start + SLICE and data.endswith(marks, 0, end):
                    yield end


def _looks_at(data: bytes, end: int, shapes: Sequence[Shape]) -> Iterator[tuple[int, int, str]]:
    for shape, start in marked(data, end, shapes):
        if found := shape.pattern.match(data, start):
            span = found.span(found.lastindex or 0)
            if shape.accept is None or shape.accept(data[slice(*span)]):
                yield *span, shape.kind


def marked(data: bytes, end: int, shapes: Sequence[Shape]) -> Iterator[tuple[Shape, int]]:
    """The shapes of which a mark ends there and that may stand there, each with where its mark begins."""
    for shape in shapes:
        for mark in shape.marks:
            start = end - len(mark)
            if not data.endswith(mark, 0, end):
                continue
            if shape.before and not shape.before.search(data[max(0, start - LOOK_BACK) : start]):
                continue
            yield shape, start
