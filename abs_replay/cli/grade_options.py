"""What the command line of `abs grade` said, the store that it names, and what is graded then."""

import os
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.cli.judge import JudgeFlags
from abs_replay.values import dataclass

if TYPE_CHECKING:
    from abs_replay.grading import Selection, Settings
    from abs_replay.judges.chain import Chain
    from abs_replay.spec.loader import Documents
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
    where: str | None
    baseline: str | None
    fail_on: str | None
    min_pass_rate: float | None
    bound: str | None
    margin: float | None
    format_: str
    output: Path | None
    strict_user: bool
    no_require_match: bool
    judge: JudgeFlags
    dry_run: bool
    ci: bool


def store_of(options: Options) -> "Store":
    """The store that the flag names, `ABS_STORE`, or the usual one."""
    from abs_replay.store import Store, default_path

    return Store(default_path(options.store, os.environ))


def store_to_keep_in(options: Options) -> "Store | None":
    """The store where the traces come from it, or `--store` names one; else nothing is kept."""
    return None if options.traces and not options.store else store_of(options)


@dataclass(frozen=True, slots=True)
class Work:
    """One grading: what is judged, by whom, and under which id since when."""

    id: str
    begun: datetime
    options: Options
    documents: "Documents"
    selection: "Selection"
    settings: "Settings"
    judge: "Chain"
