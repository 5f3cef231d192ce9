"""The layers around a body's text: content-encodings, whether a header says them or not, and wide charsets.

What a decoder would open is opened here, too: headers get lost, so magic bytes decide where none says it
(`decoders.content`). What can not be opened is searched as it came.
"""

import codecs
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from abs_replay.redact.codings import WIDE, Opened, packed, unpacked

type Ends = Sequence[int]

DEEPEST = 4  # layers that no header says
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    *((b"x" + level, "deflate") for level in (b"\x01", b"\x5e", b"\x9c", b"\xda")),
)
_MARKS = (  # the longer ones first: that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_FIRST = _MAGIC + _MARKS
_TEXTUAL = re.compile(r"json|^text/|xml|javascript|x-www-form", re.IGNORECASE)
_BEGINS = b'\x1f\x28\xff\xfe\0x{[<"'  # the first bytes of all that is seen
_NARROW = re.compile(rb"(\0?)[{\[<\"]\0[^\0]")  # how JSON or XML begins in UTF-16 without a mark


class Clean(Protocol):
    """Replaces in a text; of one that is `ended` no end is held back."""

    def __call__(self, data: bytes, ends: Ends, *, ended: bool = False) -> tuple[bytes, Ends]: ...


def cleaned(data: bytes, ends: Ends, said: Sequence[str], clean: Clean, deep: int = 0) -> tuple[bytes, Ends]:
    """Replace inside of the codings that are `said`, the last of them first, and of those that are seen."""
    coding = _exact(said[-1], data) if said else _seen(data) if deep < DEEPEST else ""
    if not coding:
        return clean(data, ends)
    cuts = ends if ends and ends[-1] == len(data) else (*ends, len(data))
    if (opened := unpacked(coding, data, cuts)) is None:
        return cleaned(data, ends, said[:-1], clean, deep + 1) if said else clean(data, ends)
    text, text_ends = cleaned(opened.plain, opened.ends, said[:-1], clean, deep + 1)
    if text is not opened.plain:
        wire, wire_ends = packed(coding, data, Opened(text, text_ends, opened.whole))
        return wire, wire_ends[: len(ends)]
    if opened.whole and coding not in WIDE:
        return data, ends
    return clean(data, ends, ended=True)  # it may not be what it seems


@lru_cache(maxsize=256)
def codings(content_encoding: str, content_type: str) -> tuple[str, ...]:
    """The layers that the headers say, the outermost last."""
    said = [name.strip() for name in content_encoding.lower().split(",")]
    charset = content_type.lower().partition("charset=")[2].partition(";")[0].strip(" \"'").replace("_", "-")
    charset = re.sub(r"(\d)(?=[lb]e$)", r"\1-", charset)
    wide = (charset,) if charset in ("utf-16", "utf-32", *WIDE) else ()
    return (*wide, *(name for name in said if name not in ("", "identity")))


def unsaid(content_type: str, data: bytes) -> tuple[str, ...]:
    """The coding of a body that is said to be text, and is none: brotli has no mark."""
    if not _TEXTUAL.search(content_type) or _seen(data) or _is_text(data[:256]):
        return ()
    opened = unpacked("br", data, (len(data),))
    return ("br",) if opened is not None and _is_text(opened.plain) else ()


def _is_text(data: bytes) -> bool:
    """Whether it is UTF-8, perhaps up to the middle of a letter."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError:
        return False
    return True


def _exact(coding: str, data: bytes) -> str:
    """Which byte comes first in a charset whose name does not say it; nothing where ASCII is not wide."""
    if not coding.startswith("utf-"):
        return coding
    if b"\0" not in data or coding in WIDE:
        return coding if b"\0" in data else ""
    marked = next((name for mark, name in _MARKS if name.startswith(coding) and data.startswith(mark)), None)
    return marked or coding + ("-be" if data.startswith(b"\0") else "-le")


def _seen(data: bytes) -> str:
    if data[:1] not in _BEGINS:
        return ""
    if wide := _NARROW.match(data, 0, 4):
        return "utf-16-be" if wide[1] else "utf-16-le"
    return next((coding for magic, coding in _FIRST if data.startswith(magic)), "")
