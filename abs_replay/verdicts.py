"""What an evaluation came to: verdicts, one run of a session over a trace, the report of many.

Field names are those of FORMATS ("Report"); statuses those of SEMANTICS R1.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import StrEnum

from abs_replay.exact_json import Json
from abs_replay.judgement import NO_USAGE, Judging, Question, Usage
from abs_replay.values import dataclass


class Status(StrEnum):
    """How one evaluation ended. `PENDING` is never reported: it waits for an answer."""

    PASSED = "passed"
    FAILED = "failed"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    NOT_EVALUABLE = "not_evaluable"
    SKIPPED = "skipped"
    PENDING = "pending"


class StepStatus(StrEnum):
    """What became of one expected behavior."""

    SENT = "sent"
    MISSING = "missing"
    MATCHED = "matched"
    UNMATCHED = "unmatched"
    SKIPPED = "skipped"
    ERROR = "error"


# A behavior's match is a check of its own (SEMANTICS R2), told in the words of verdicts.
MATCH = {
    StepStatus.SENT: Status.PASSED,
    StepStatus.MATCHED: Status.PASSED,
    StepStatus.MISSING: Status.FAILED,
    StepStatus.UNMATCHED: Status.FAILED,
    StepStatus.SKIPPED: Status.SKIPPED,
    StepStatus.ERROR: Status.ERROR,
}


class Result(StrEnum):
    """What a run, or a report, came to."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a judged verdict rests on: the question's digest, the fingerprint of the judge that answered, the
    score of each vote, whether the votes were split at the threshold, what the answer took."""

    question: str
    judge: str = ""
    scores: tuple[float, ...] = ()
    unstable: bool = False
    usage: Usage = NO_USAGE


# Verdicts, results and runs are not frozen, though nothing changes one: millions are made, and a frozen
# one takes five times as long.
@dataclass(slots=True)
class Verdict:
    """One evaluation, decided. `evidence` holds the `seq` of the steps that it looked at."""

    at: str
    type: str
    status: Status
    reason: str
    score: float | None = None
    threshold: float | None = None
    blocking: bool = False
    evidence: tuple[int, ...] = ()
    children: tuple["Verdict", ...] = ()
    judge: str | None = None
    cached: bool = False
    duration_ms: float = 0.0
    fingerprint: str = ""
    label: str = ""  # the rule in words, for people: `contains "on the way"`
    judged: Judged | None = None

    @property
    def asked(self) -> bool:
        """Whether a judge was asked for it, or for a part of it, in this grading."""
        if self.judged is not None and self.judged.usage.calls:
            return True
        return any(child.asked for child in self.children)

    def labelled(self, label: str, children: tuple["Verdict", ...]) -> "Verdict":
        """The verdict with its label and labelled parts; `replace` would take thrice as long."""
        return Verdict(
            self.at,
            self.type,
            self.status,
            self.reason,
            self.score,
            self.threshold,
            self.blocking,
            self.evidence,
            children,
            self.judge,
            self.cached,
            self.duration_ms,
            self.fingerprint,
            label,
            self.judged,
        )


@dataclass(slots=True)
class BehaviorResult:
    """One expected behavior with the observed step (`seq`) that it took. `near` explains an
    unmatched one: the step that came closest and what did not fit."""

    at: str
    actor: str
    action: str
    status: StepStatus
    id: str | None = None
    target: str | None = None
    content: Json = None
    step: int | None = None
    differs: bool = False
    near: str | None = None
    evaluations: tuple[Verdict, ...] = ()

    def having(self, evaluations: tuple[Verdict, ...]) -> "BehaviorResult":
        """The same with other evaluations; as for `Verdict.labelled`."""
        return BehaviorResult(
            self.at,
            self.actor,
            self.action,
            self.status,
            self.id,
            self.target,
            self.content,
            self.step,
            self.differs,
            self.near,
            evaluations,
        )


@dataclass(slots=True)
class Run:
    """One session over one trace. `questions` are those that a judge has yet to answer."""

    session: str
    file: str | None
    trace: str
    result: Result
    steps: tuple[BehaviorResult, ...]
    chain_evaluations: tuple[Verdict, ...] = ()
    extra: tuple[int, ...] = ()
    agent: str | None = None
    row: int | None = None
    bindings: dict[str, Json] = field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    extra_labels: tuple[str, ...] = ()  # what was seen at each step of `extra`, for people
    require_match: bool = True  # whether unmatched behaviors counted (R2), and
    strict_user: bool = False  # whether differing words of the user did (A2)
    problem: str | None = None  # why the conversation could not be carried out to its end
    trace_digest: str = ""  # of what was observed: another one is another conversation under the same id
    said: tuple[str, ...] = ()  # as `Trace.said`: in trials of one scenario the user says the same
    # By place (`at`), in `file`; no part of what the run came to.
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    @property
    def passed(self) -> bool:
        return self.result is Result.PASSED

    def cut_short(self, problem: str) -> "Run":
        """The run with why it broke off; what was never asked for has not passed (SEMANTICS R1, R3)."""
        return replace(self, problem=problem, result=Result.ERROR if self.passed else self.result)

    def told(
        self,
        steps: tuple[BehaviorResult, ...],
        chain_evaluations: tuple[Verdict, ...],
        extra_labels: tuple[str, ...],
        trace_digest: str,
        said: tuple[str, ...],
        lines: Mapping[str, int],
    ) -> "Run":
        """The same with what people and later gradings need to know; as for `Verdict.labelled`."""
        return Run(
            self.session,
            self.file,
            self.trace,
            self.result,
            steps,
            chain_evaluations,
            self.extra,
            self.agent,
            self.row,
            self.bindings,
            self.questions,
            extra_labels,
            self.require_match,
            self.strict_user,
            self.problem,
            trace_digest,
            said,
            lines,
        )

    def fails(self, step: BehaviorResult) -> bool:
        """Whether a behavior's own check counts as failed: it has no step (R2), or other words (A2)."""
        absent = step.status in (StepStatus.MISSING, StepStatus.UNMATCHED)
        return (self.require_match and absent) or (self.strict_user and step.differs)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Every top-level verdict: those of the steps in order, then the chain's."""
        of_steps = tuple([verdict for step in self.steps for verdict in step.evaluations])
        return of_steps + self.chain_evaluations


@dataclass(frozen=True, slots=True)
class Report:
    """Many runs; `grading` is the id under which they were kept, if they were."""

    runs: tuple[Run, ...]
    grading: str | None = None
    warnings: tuple[Json, ...] = ()
    ungraded_sessions: tuple[str, ...] = ()
    carried: frozenset[tuple[str, str, str]] = frozenset()  # (session, trace, at): equal to last time's
    judging: Judging | None = None  # where a judge was asked, or would have been

    @property
    def result(self) -> Result:
        """The worst of the runs: failed over error over passed (FORMATS)."""
        seen = {run.result for run in self.runs}
        worst = (Result.FAILED, Result.ERROR)
        return next((result for result in worst if result in seen), Result.PASSED)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who graded, with what: the commit that the session files were read at, and whether they differed
    from it (`dirty`), the version of abs-replay, the command without its secrets, the judges by their
    names with their fingerprints, how many votes each question had, and the gates that did not hold, in
    words: by those it was refused."""

    who: str | None = None
    commit: str | None = None
    dirty: bool | None = None
    version: str | None = None
    command: str | None = None
    judges: Mapping[str, str] = field(default_factory=dict)
    votes: int | None = None
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grading:
    """One pass over traces, kept. `files` maps each session file to the sha256 of its bytes."""

    id: str
    made_at: float
    report: Report
    files: dict[str, str] = field(default_factory=dict)
    provenance: Provenance = Provenance()
