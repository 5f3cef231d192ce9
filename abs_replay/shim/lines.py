"""Cuts what passes into lines, wherever the pieces end: one JSON-RPC message stands on one line.

https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio
"""

from dataclasses import dataclass
from typing import Final

LONGEST: Final = 64 << 20  # bytes of a line that are kept


@dataclass(frozen=True, slots=True)
class Line:
    """A line without its newline. `size` is its length where it was kept cut; `torn`: a part is missing."""

    data: bytes
    size: int | None = None
    torn: bool = False


class Lines:
    """The lines of one direction."""

    def __init__(self, longest: int = LONGEST) -> None:
        self._longest = longest
        self._pieces: list[bytes] = []
        self._kept = self._size = 0
        self._torn = False

    def feed(self, data: bytes) -> list[Line]:
        """Give the lines that end in these bytes."""
        *ended, rest = data.split(b"\n")
        lines = [self._ended(piece) for piece in ended]
        self._add(rest)
        return lines

    def end(self) -> list[Line]:
        """Give what stands after the last newline, if anything does."""
        return [self._ended(b"")] if self._size or self._torn else []

    def miss(self) -> None:
        """Note that bytes are missing here."""
        self._torn = True

    def _ended(self, piece: bytes) -> Line:
        self._add(piece)
        size = self._size if self._size > self._kept else None
        line = Line(b"".join(self._pieces), size, self._torn)
        self._pieces.clear()
        self._kept = self._size = 0
        self._torn = False
        return line

    def _add(self, piece: bytes) -> None:
        room = self._longest - self._kept
        if piece and room > 0:
            self._pieces.append(piece[:room])
        self._kept += min(len(piece), room)
        self._size += len(piece)
