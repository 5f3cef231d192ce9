"""What the command line of `abs grade` said, and the store that it names."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from abs_replay.store import Store


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line said."""

    sessions: tuple[Path, ...]
    traces: tuple[Path, ...]
    store: Path | None
    recording: str | None
    trace: str | None
    session_for: str | None
    var: tuple[str, ...]
    since: str | None
    baseline: str | None
    format_: str
    output: Path | None
    strict_user: bool
    no_require_match: bool
    judge_answers: tuple[Path, ...]
    dry_run: bool
    ci: bool


def store_of(options: Options) -> "Store":
    """The store that the flag names, `ABS_STORE`, or the usual one."""
    from abs_replay.store import Store, default_path

    return Store(default_path(options.store, os.environ))
