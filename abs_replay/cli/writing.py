"""Files that a command writes: whole or not at all, and never over another one unasked."""

import os
import sys
from pathlib import Path

from abs_replay.errors import UsageError

STDOUT = Path("-")


def write(path: Path, data: bytes, force: bool) -> None:
    """Write a file, or to standard output where the path is `-`; raises `UsageError`."""
    if path == STDOUT:
        sys.stdout.buffer.write(data)
        return
    if path.exists() and not force:
        raise UsageError(f"{path} exists: say --force to write over it, or --output FILE")
    try:
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe
            path.write_bytes(data)
        else:
            _replace(path.resolve(), data)
    except OSError as error:
        raise UsageError(f"{path} can not be written: {error.strerror}") from None


def _replace(path: Path, data: bytes) -> None:
    """Write a file aside and put it in place: the one before it may be the only copy."""
    beside = path.with_name(f".{path.name[:100]}.{os.getpid()}")
    try:
        beside.write_bytes(data)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
