"""Sets of positions as the bits of a whole number: bit n of a mask stands for position n."""

from collections.abc import Callable, Iterator


def bits(mask: int) -> Iterator[int]:
    """Give the positions of a mask, lowest first."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def add[Key](index: dict[Key, int], key: Key, bit: int) -> None:
    """Add a position to the mask of a key."""
    index[key] = index.get(key, 0) | bit


def kept_of(mask: int, keep: Callable[[int], bool]) -> int:
    """Give the part of a mask whose positions are to be kept."""
    kept = 0
    for position in bits(mask):
        if keep(position):
            kept |= 1 << position
    return kept
