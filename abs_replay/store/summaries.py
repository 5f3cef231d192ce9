"""What lists show: counts and sizes, without the things themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from abs_replay.exchange import WITHHELD, Channel, Exchange, Outcome, Recording
from abs_replay.judgement import Judging
from abs_replay.trace import Trace
from abs_replay.verdicts import Provenance, Result, Status


@dataclass(frozen=True, slots=True)
class RecordingSummary:
    """A recording with its counts. `bytes` are those of all bodies on the wire; `errors` are
    exchanges without a response, with a status from 400, or broken; `traces` is None where none
    were derived yet."""

    recording: Recording
    exchanges: int
    errors: int
    bytes: int
    traces: int | None = None


@dataclass(frozen=True, slots=True)
class ExchangeSummary:
    """An exchange without headers and bodies; sizes in bytes on the wire, messages of a WebSocket counted
    to them; `messages` is how many those are, None where there is none; `cut` is whether more was said than
    is kept of a body or a message."""

    id: str
    recording: str
    channel: Channel
    started_at: float
    method: str
    host: str
    target: str
    status: int | None
    outcome: Outcome
    error: str | None
    request_bytes: int
    response_bytes: int | None
    ended_ms: float | None
    messages: int | None = None
    cut: bool = False

    @property
    def withheld(self) -> bool:
        """Whether nothing of what was said is kept, since a rule of redaction failed."""
        return (self.error or "").startswith(WITHHELD)


@dataclass(frozen=True, slots=True)
class Found:
    """What an id names: `kind` is recording, exchange, trace or grading; a grading has no recording."""

    kind: str
    id: str
    recording: str | None = None


IMPORTED: Final = "imported"  # in place of the decoders' version, of traces that no exchange shows


@dataclass(frozen=True, slots=True)
class Whole:
    """A recording that is over, with all it holds; `traces` are those that came without exchanges."""

    recording: Recording
    exchanges: tuple[Exchange, ...] = ()
    traces: tuple[Trace, ...] = ()


@dataclass(frozen=True, slots=True)
class Derivation:
    """Whether a recording's traces are up to date: the digest of its exchanges now, that of those
    they were derived from, and by which decoders; None where none were derived yet."""

    recording: str
    exchange_digest: str
    derived_from: str | None = None
    decoders_version: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An exchange that is in no trace, and why; `protocol` is None where no decoder could read it."""

    exchange: str
    protocol: str | None
    why: str


@dataclass(frozen=True, slots=True)
class GradingSummary:
    """A grading with what its runs and top-level verdicts came to, how many of these were carried over,
    what was graded with (the sha256 of each file), who made it, and what its judges took."""

    id: str
    made_at: float
    result: Result
    runs: Mapping[Result, int]
    verdicts: Mapping[Status, int]
    carried: int = 0
    files: Mapping[str, str] = field(default_factory=dict)
    made_by: Provenance = field(default_factory=Provenance)
    judging: Judging | None = None
