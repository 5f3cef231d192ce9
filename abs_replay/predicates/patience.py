"""How long one run waits for patterns that do not end soon (SEMANTICS E3, R1).

E3 gives each search a second, but a run has many patterns and many texts. What timed out is not tried
again on the same text: it would time out again. And once the slow searches of a run have taken
`PATIENCE` together, a pattern that timed out on any text is not tried on another. Its verdicts are errors
that say so, never failures. A pattern that never timed out always has its second, so that no pattern loses
a verdict by another's fault, and a run waits no longer than `PATIENCE` and a second a pattern.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field

from abs_replay.values import dataclass

PATIENCE = 20.0  # seconds that the searches of a run may take which do not end soon


@dataclass(slots=True)
class Run:
    """What is known of the patterns of one run: which timed out on which text, and the seconds spent."""

    seconds: float = 0.0
    late: set[tuple[str, str]] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)

    def timed_out(self, pattern: str, text: str) -> bool:
        return (pattern, text) in self.late

    def gives_up(self, pattern: str) -> bool:
        return self.seconds >= PATIENCE and pattern in self.patterns

    @contextmanager
    def timing(self, pattern: str, text: str) -> Iterator[None]:
        """Count the time that a search takes, and remember where it was too much."""
        begin = time.perf_counter()
        try:
            yield
        except TimeoutError:
            self.late.add((pattern, text))
            self.patterns.add(pattern)
            raise
        finally:
            self.seconds += time.perf_counter() - begin


_RUN: ContextVar[Run] = ContextVar("run")


@contextmanager
def one_run() -> Iterator[None]:
    """Begin a run, that knows nothing of the runs before it."""
    token = _RUN.set(Run())
    try:
        yield
    finally:
        _RUN.reset(token)


def this_run() -> Run:
    """Give the run that this is part of; outside of one, each search is a run of its own."""
    return _RUN.get(None) or Run()
