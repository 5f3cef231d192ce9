"""What libyaml reads differently from YAML 1.2, put right before and after it (SEMANTICS D1, D6).

It takes U+0085, U+2028 and U+2029 for line ends and refuses U+007F and others that JSON has; and
it refuses `\\ud83d\\udce6`, with which JSON writes one character. Both are replaced by private
characters that the text does not use, and restored in every scalar.
"""

import re
from itertools import islice

_OTHERS = "".join(map(chr, [*range(0x7F, 0xA0), 0x2028, 0x2029, 0xFFFE, 0xFFFF]))
_OTHER = re.compile(f"[{_OTHERS}]")
_PAIR = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_PRIVATE = range(0xF0000, 0xFFFFE)

type Fault = tuple[str, int]  # a message and its line


def decode(data: bytes) -> tuple[str, Fault | None]:
    """Decode a file without its BOM, or say what hinders it."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "", ("is UTF-16: save it as UTF-8", 1)
    try:
        text = data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return "", (f"is not UTF-8: byte 0x{data[error.start]:02x}", line)
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        return "", (f"holds the control character U+{ord(control[0]):04X}", line)
    return text, None


class Stand:
    """The text with stand-ins, `text`, for the parser to read."""

    def __init__(self, text: str) -> None:
        needed = _OTHER.search(text) is not None or _PAIR.search(text) is not None
        self.text = text
        self._pair: re.Pattern[str] | None = None
        if not needed:
            return
        used = set(text)
        free = list(islice((c for c in map(chr, _PRIVATE) if c not in used), len(_OTHERS) + 1))
        mark = free.pop()
        self._back = {ord(there): other for there, other in zip(free, _OTHERS, strict=True)}
        self._pair = re.compile(f"{mark}(.{{4}})(.{{4}})")
        forth = {ord(other): there for there, other in zip(free, _OTHERS, strict=True)}
        self.text = _PAIR.sub(rf"\1{mark}\2\3", text).translate(forth)

    def restore(self, value: str, style: str | None) -> str:
        """Give a scalar as it was meant; only in double quotes is `\\u` an escape."""
        if self._pair is None:
            return value
        restored = self._pair.sub(_character if style == '"' else r"\\u\1\\u\2", value)
        return restored.translate(self._back)


def _character(found: re.Match[str]) -> str:
    return bytes.fromhex(found[1] + found[2]).decode("utf-16-be")
