"""Who else holds the file, in words: DuckDB gives a lock to nobody while another has it."""

import re
import time
from collections.abc import Callable
from pathlib import Path

from abs_replay.errors import StoreLocked
from abs_replay.redact import Redactor

THIS_PROCESS = "another thread of this process"
LONG_S = 2.0  # whoever reads, `abs ls` for one, is done by then


def locked(path: Path, holder: str) -> StoreLocked:
    """The error for a store that someone else holds."""
    return StoreLocked(
        f"store {path} is held by {holder}: wait until it is done, or name another with --store", holder
    )


class LongHold:
    """Says once that someone holds the store for long, and once that this is over.

    `spool` is the file in which everything waits meanwhile.
    """

    def __init__(self, path: Path, spool: Path, say: Callable[[str], None]) -> None:
        self._path, self._spool, self._say = path, spool, say
        self._since: float | None = None
        self._said = False

    def goes_on(self, error: StoreLocked) -> None:
        """Take note that the store could not be had just now."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if not self._said and now - self._since >= LONG_S:
            self._said = True
            self._say(
                f"store {self._path} is held by {error.holder}: what is recorded goes to {self._spool}, "
                "and into the store once that is free"
            )

    def begins(self, error: StoreLocked) -> None:
        """Take note that the store can not be had from the beginning, which is said at once."""
        self._since = time.monotonic() - LONG_S
        self.goes_on(error)

    def is_over(self) -> None:
        """Take note that the store was had, with all that had waited."""
        if self._said:
            self._say(f"store {self._path} is free again, and all that waited is in it")
        self._since, self._said = None, False


def holder_in(message: str) -> str | None:
    """Who holds the file, from DuckDB's words for a lock that it did not get."""
    if "different configuration than existing connections" in message:
        return THIS_PROCESS
    if "Could not set lock" not in message:
        return None
    found = re.search(r"held in (.*?) \(PID (\d+)\)", message)
    if not found:
        return "another process"
    return f"process {found[2]} ({_command(int(found[2])) or found[1]})"


def _command(process: int) -> str | None:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return None
    line = " ".join("".join(each if each.isprintable() else " " for each in command).split())
    line = Redactor().text(line)  # before it is cut: half a secret looks like none
    return line if len(line) <= 100 else line[:99] + "…"
