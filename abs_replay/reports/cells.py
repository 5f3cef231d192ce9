"""Text in terminal cells: what is shown is as wide as it says, and moves no cursor.

Widths are rich's: two cells for a wide character or an emoji, none for a combining mark. It is loaded for a
text that may have such.
"""

import json
import unicodedata
from collections.abc import Iterator

SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
# Control, format (turns writing direction round), half of a pair, line and paragraph separator.
UNSAFE = ("Cc", "Cf", "Cs", "Zl", "Zp")
COLOURS = {"good": "\x1b[32m", "bad": "\x1b[31m", "unsure": "\x1b[33m", "quiet": "\x1b[2m"}
UNPAINTED = "\x1b[0m"
JOINERS = "\u200c\u200d"  # parts of emoji and of some scripts' words


def cell_len(text: str) -> int:
    """Give how many cells a text takes."""
    # No letter before the first combining mark is wide.
    if text.isprintable() and (text.isascii() or max(text) < "\u0300"):
        return len(text)
    from rich import cells

    return cells.cell_len(text)


def painted(text: str, mood: str, colour: bool = True) -> str:
    """Text in the colour of its mood, if it has one and colours are shown."""
    return f"{COLOURS[mood]}{text}{UNPAINTED}" if colour and mood else text


def escaped(text: str) -> str:
    """Give text in which no character controls the terminal; those that would stand escaped."""
    if text.isprintable():  # which nothing of UNSAFE is
        return text
    return "".join(map(_escaped, text))


def _escaped(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in UNSAFE:
        return character
    code = ord(character)
    return SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def encodable(text: str, encoding: str) -> str:
    """Write `\\u2502` for what an encoding lacks: better in a table than no table, and the same in JSON."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(char if _fits(char, encoding) else json.dumps(char)[1:-1] for char in text)
    return text


def _fits(character: str, encoding: str) -> bool:
    return bool(character.encode(encoding, "ignore"))


def fitted(text: str, width: int) -> str:
    """Cut or pad to exactly this width; what was cut ends in `…`."""
    # A joiner at the end would join the padding, and rich count it as nothing.
    return _set_size(cut(text, width).rstrip(JOINERS), width)


def cut(text: str, width: int) -> str:
    """Cut to at most this width; what was cut ends in `…`."""
    if cell_len(text) <= width:
        return text
    return _set_size(text, width - 1).rstrip(f" {JOINERS}") + "…"


def _set_size(text: str, width: int) -> str:
    from rich.cells import set_cell_size

    return set_cell_size(text, width)


def centred(text: str, width: int) -> str:
    """Pad on both sides, more on the right where it does not come out even."""
    left = max(width - cell_len(text), 0) // 2
    return _set_size(" " * left + text, width)


def right(text: str, width: int) -> str:
    """Pad on the left."""
    return " " * max(width - cell_len(text), 0) + text


def wrapped(text: str, width: int) -> list[str]:
    """Break at blanks into lines of at most this width; a longer word is broken inside."""
    lines = [""]
    for word in _pieces(text, width):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_len(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _pieces(text: str, width: int) -> Iterator[str]:
    from rich.cells import chop_cells

    for word in text.split(" "):
        yield from chop_cells(word, width) if cell_len(word) > width else [word]
