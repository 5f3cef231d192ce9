"""Who else holds the file, in words: DuckDB gives a lock to nobody while another has it."""

import re
from pathlib import Path

from abs_replay.errors import StoreLocked

THIS_PROCESS = "another thread of this process"


def locked(path: Path, holder: str) -> StoreLocked:
    """The error for a store that someone else holds."""
    return StoreLocked(
        f"store {path} is held by {holder}: wait until it is done, or name another with --store"
    )


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
    return line if len(line) <= 100 else line[:99] + "…"
