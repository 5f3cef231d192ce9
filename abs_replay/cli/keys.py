"""What a person types while a recording runs: `m` and Enter set a mark, `m NAME` names what follows."""

import asyncio
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MARK = "m"
MOST = 4096  # bytes of one line


@contextmanager
def marking(mark: Callable[[str | None], object]) -> Iterator[bool]:
    """Call `mark` for each such line while the block runs; gives False where nobody can type any."""
    if not sys.stdin.isatty() or not _is_in_front():
        yield False
        return
    descriptor = sys.stdin.fileno()
    loop = asyncio.get_running_loop()

    def read() -> None:
        if not _is_in_front():  # what is typed is for someone else, and to read it would stop us
            loop.remove_reader(descriptor)
            return
        data = os.read(descriptor, MOST)
        if not data:  # Ctrl-D
            loop.remove_reader(descriptor)
        typed(data.decode(errors="replace"), mark)

    loop.add_reader(descriptor, read)
    try:
        yield True
    finally:
        loop.remove_reader(descriptor)


def typed(text: str, mark: Callable[[str | None], object]) -> None:
    """Set the marks that stand in what was typed."""
    for line in text.splitlines():
        key, _, name = line.strip().partition(" ")
        if key == MARK:
            mark(name.strip() or None)


def _is_in_front() -> bool:
    """Whether the terminal is ours: a shell's job in the background must leave it alone."""
    try:
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except OSError:
        return False
