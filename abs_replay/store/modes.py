"""Who may read what lies beside a store: whoever may read the store, which is made for its owner alone.

DuckDB makes its files as the umask says, and refuses an empty one that was made for it. So the mode is set
right after: of a new store before anything is in it, of its log after the first commit.
"""

import os
from contextlib import suppress
from pathlib import Path

OWNERS = 0o600


def mode_beside(store: Path) -> int:
    """The mode of a file beside a store: its own, or where there is none yet, for its owner alone.

    Its owner can always write it: the spool stands in for a store that is read-only.
    """
    try:
        return store.stat().st_mode & 0o666 | OWNERS
    except FileNotFoundError:
        return OWNERS


def folder_mode_beside(store: Path) -> int:
    """The mode of a folder beside a store: whoever may read the store may enter."""
    mode = mode_beside(store)
    return mode | (mode & 0o444) >> 2


def make_folder(path: Path) -> None:
    """Make the folder of a store, where there is none, for its owner alone."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)


def match(path: Path, store: Path) -> None:
    """Give a file that DuckDB made the mode of its store."""
    with suppress(OSError):  # there is none, or it is someone else's, who shares the store with us
        mode = mode_beside(store)
        if path.stat().st_mode & 0o777 != mode:
            path.chmod(mode)


def open_beside(store: Path, path: str, flags: int) -> int:
    """An `opener` of a file beside a store."""
    return os.open(path, flags, mode_beside(store))
