"""The program under test: started with an environment, ended with grace, its exit status passed on.

It inherits standard input, output and error untouched; what it prints is its own.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from abs_replay.errors import UsageError


def start(command: Sequence[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a command with these variables added to ours; raises `UsageError` where it can not be run."""
    try:
        return subprocess.Popen(list(command), env=os.environ | environment)
    except OSError as error:
        raise UsageError(f"can not run {command[0]!r}: {error.strerror or error}") from error


def find(command: Sequence[str]) -> None:
    """Raise `UsageError` where a command, if any, can not be run, before anything is begun for it."""
    if command and shutil.which(command[0]) is None:
        is_there = os.path.exists(command[0])
        why = "it is no executable file" if is_there else "No such file or directory"
        raise UsageError(f"can not run {command[0]!r}: {why}")


def finish(process: subprocess.Popen[bytes], grace_s: float = 5.0, *, told: bool = False) -> int:
    """End a process if it still runs, and give its exit status (128 + n where signal n ended it).

    `told` says that it knows already (the terminal sends Ctrl-C to the whole group), so that it is
    first given `grace_s` to end by itself, as shells do.
    """
    if told and _ends_within(process, grace_s):
        return _status(process)
    process.terminate()
    if not _ends_within(process, grace_s):
        process.kill()
        process.wait()
    return _status(process)


def exit_status(command: int, failed: bool) -> int:
    """The status of `abs .. -- COMMAND`: the command's own if it is not 0, else 1 if we failed."""
    return command or int(failed)


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _status(process: subprocess.Popen[bytes]) -> int:
    code = process.returncode
    return 128 - code if code < 0 else code
