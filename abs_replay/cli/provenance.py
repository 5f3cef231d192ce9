"""Who grades, with what: the person, the commit of the session files, the command, the judges."""

import getpass
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from abs_replay.verdicts import Provenance

if TYPE_CHECKING:
    from abs_replay.judges.chain import Chain

PATIENCE_S = 5.0  # for git, on a disk that is far away
SECRET = ("--judge-api-key",)


def provenance_of(files: Sequence[str], judge: "Chain") -> Provenance:
    """Where a grading that is made now comes from; what can not be found out is left open."""
    from abs_replay import __version__

    commit, dirty = _commit(files)
    panel = judge.panel
    return Provenance(
        who=_who(),
        commit=commit,
        dirty=dirty,
        version=__version__,
        command=_command(sys.argv),
        judges=dict(panel.judges) if panel else {},
        votes=panel.terms.votes if panel and panel.judges else None,
    )


def _who() -> str | None:
    """Whoever a CI system works for, else the user of this process."""
    try:
        return os.environ.get("GITHUB_ACTOR") or os.environ.get("GITLAB_USER_LOGIN") or getpass.getuser()
    except (OSError, KeyError):  # a container whose user has no name
        return None


def _commit(files: Sequence[str]) -> tuple[str | None, bool | None]:
    """The commit that is checked out where the first file lies, and whether a file differs from it."""
    if not files:
        return None, None
    folder = Path(files[0]).absolute().parent
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None, None
    changed = _git(folder, "status", "--porcelain", "--", *(str(Path(file).absolute()) for file in files))
    return commit, None if changed is None else bool(changed)


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says; None where there is no git, no repository, or no commit."""
    command = ["git", "-C", str(folder), *arguments]
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=environment
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _command(arguments: Sequence[str]) -> str:
    """The command line, without what is a secret in it."""
    from abs_replay.redact import Redactor

    written = shlex.join([Path(arguments[0]).name, *_told(arguments[1:])])
    return Redactor().text(written)


def _told(arguments: Sequence[str]) -> Iterator[str]:
    hidden = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        yield "***" if hidden else f"{name}=***" if equals and name in SECRET else argument
        hidden = argument in SECRET
