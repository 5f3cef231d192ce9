"""Searching large data a slice at a time: while one search goes on, no other thread gets on (the GIL).

The thread that redacts runs beside the loop that carries everybody's traffic.
"""

import re
from collections.abc import Iterator

SLICE = 64 * 1024
SHORT = 2048


def places(data: bytes, needle: bytes) -> Iterator[int]:
    """Where a needle stands, in order."""
    size, over = len(data), len(needle) - 1
    if size <= SLICE:
        at = data.find(needle)
        while at >= 0:
            yield at
            at = data.find(needle, at + len(needle))
        return
    next_ = 0
    for start in range(0, size, SLICE):
        at = data.find(needle, max(start, next_), start + SLICE + over)
        while at >= 0:
            yield at
            next_ = at + len(needle)
            at = data.find(needle, next_, start + SLICE + over)


def contains(data: bytes, needle: bytes) -> bool:
    """Whether a needle stands in the data."""
    if len(data) <= SLICE:  # to look for a byte costs a hundredth of what looking for several does
        return (
            needle in data if len(data) < SHORT else all(byte in data for byte in needle) and needle in data
        )
    return next(places(data, needle), None) is not None


def matches(pattern: re.Pattern[bytes], data: bytes, longest: int = 1024) -> Iterator[re.Match[bytes]]:
    """The matches of a pattern that has none longer than that; edges (`^`, `\\Z`) are those of a slice."""
    if len(data) <= SLICE:
        yield from pattern.finditer(data)
        return
    at = 0
    for start, stop in spans(data, longest):
        for found in pattern.finditer(data, max(start, at), stop):
            if found.start() >= start + SLICE:
                break
            yield found
            at = found.end()


def spans(data: bytes, over: int) -> Iterator[tuple[int, int]]:
    """The slices of the data, each with so many bytes of the next."""
    for start in range(0, len(data), SLICE):
        yield start, min(len(data), start + SLICE + over)


def pieces(data: bytes, start: int, stop: int) -> Iterator[bytes]:
    """A part of the data as slices. `bytes.join` lets other threads on where it is given nothing else."""
    for at in range(start, stop, SLICE):
        yield data[at : min(at + SLICE, stop)]
