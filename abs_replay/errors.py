"""Errors that a user can cause, split by who must act.

    AbsReplayError
    ├── UsageError            the caller: a flag, a path, a combination that makes no sense
    ├── SpecError             the author: a document that can not be used, with all its problems
    ├── RecordingError        the operator: ports, stores, disks
    │   ├── StoreError        the store can not be read or written
    │   └── StoreLocked       another process holds it
    ├── CassetteError         the owner of a cassette: not readable, or of a newer format
    ├── ReplayMiss            the agent: it asked what nobody recorded
    └── JudgeError            the service that answers questions

Each prints as one line that says what, where and what to do, exits with 2 unless it says
otherwise, and never shows a traceback. A failed evaluation is a value, never one of these.
"""

from collections.abc import Sequence

from abs_replay.values import dataclass


class AbsReplayError(Exception):
    """Something a user can mend; `str(error)` is the whole message."""

    exit_status = 2


class UsageError(AbsReplayError):
    """The command was called in a way that makes no sense."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a document (SEMANTICS D8: `path` and `line` say where, from 1)."""

    message: str
    file: str | None = None
    line: int | None = None
    path: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else (self.file or "")
        return ": ".join(part for part in (place, self.path, self.message) if part)


class SpecError(AbsReplayError):
    """A document that can not be used; carries every problem found, not the first alone."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = tuple(problems)


class RecordingError(AbsReplayError):
    """Recording can not start, or could not keep everything."""


class StoreError(RecordingError):
    """The store can not be read or written."""


class StoreLocked(StoreError):
    """Another process holds the store; the message names it, and so does `holder`."""

    def __init__(self, message: str, holder: str = "another process") -> None:
        super().__init__(message)
        self.holder = holder


class CassetteError(AbsReplayError):
    """A cassette that can not be read, or of a newer format version."""


class ReplayMiss(AbsReplayError):
    """A request that the recording does not answer."""

    exit_status = 1


class UpstreamError(AbsReplayError):
    """What was asked live gave no answer, or not all of it."""


class JudgeError(AbsReplayError):
    """The judge can not be reached or understood."""
