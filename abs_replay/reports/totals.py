"""What a report counts, the same in every format (FORMATS: `totals`, `steps_matched`, ...)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from abs_replay.values import dataclass
from abs_replay.verdicts import Report, Result, Run, Status, StepStatus

_RESULTS = tuple((str(result), result) for result in Result)
_STEPS = tuple((str(status), status) for status in StepStatus)
_EVALUATIONS = tuple((str(status), status) for status in Status if status is not Status.PENDING)
WITH_A_STEP = (StepStatus.SENT, StepStatus.MATCHED)


@dataclass(frozen=True, slots=True)
class Score:
    """The four numbers of a run: how many steps and evaluations there were, how many went well.

    Skipped ones are left out on both sides, as SEMANTICS R3 leaves them out.
    """

    steps_matched: int
    steps_total: int
    evaluations_passed: int
    evaluations_total: int


def score(run: Run) -> Score:
    """Count one run."""
    return run_counts(run)[0]


def run_counts(run: Run) -> tuple[Score, dict[str, int]]:
    """Count one run, and its evaluations by status."""
    evaluations = evaluation_counts([run])
    return _score(step_counts([run]), evaluations), evaluations


def score_all(runs: Iterable[Run]) -> Score:
    """Count several runs together."""
    kept = tuple(runs)
    return _score(step_counts(kept), evaluation_counts(kept))


def _score(steps: dict[str, int], evaluations: dict[str, int]) -> Score:
    return Score(
        steps_matched=sum(steps[status] for status in WITH_A_STEP),
        steps_total=sum(steps.values()) - steps[StepStatus.SKIPPED],
        evaluations_passed=evaluations[Status.PASSED],
        evaluations_total=sum(evaluations.values()) - evaluations[Status.SKIPPED],
    )


def session_counts(runs: Iterable[Run]) -> dict[str, int]:
    """How many runs came to each result."""
    return _counted(_RESULTS, [run.result for run in runs])


def step_counts(runs: Iterable[Run]) -> dict[str, int]:
    """How many behaviors ended in each status."""
    return _counted(_STEPS, [step.status for run in runs for step in run.steps])


def evaluation_counts(runs: Iterable[Run]) -> dict[str, int]:
    """How many evaluations ended in each status; a composition counts as one."""
    return _counted(_EVALUATIONS, [verdict.status for run in runs for verdict in run.verdicts])


@dataclass(frozen=True, slots=True)
class Decided:
    """How evaluations came to their verdicts: equal to last time's, anew, or asked of a judge now; how many
    came to none, by the reason, the most frequent first."""

    carried: int
    anew: int
    asked: int
    not_decided: Mapping[str, int]

    @property
    def undecided(self) -> int:
        return sum(self.not_decided.values())

    @property
    def total(self) -> int:
        return self.carried + self.anew + self.asked + self.undecided


def decided(report: Report) -> Decided:
    """Count all evaluations of a report; each is one of the four."""
    verdicts = [verdict for run in report.runs for verdict in run.verdicts]
    asked = sum(verdict.asked for verdict in verdicts) if report.judging is not None else 0
    without = [
        (run.session, run.trace, verdict)
        for run in report.runs
        for verdict in run.verdicts
        if verdict.status is Status.ERROR and not verdict.asked
    ]
    # Earlier versions called an error that was there last time carried over, and gradings of theirs are kept.
    carried = len(report.carried - {(session, trace, one.at) for session, trace, one in without})
    reasons = Counter(verdict.reason for *_, verdict in without)
    anew = len(verdicts) - carried - asked - len(without)
    return Decided(carried, anew, asked, dict(reasons.most_common()))


def trials_line(runs: Sequence[Run]) -> str | None:
    """What is to be said of trials; None where nothing was tried twice."""
    if len(set(map(_beginning, runs))) == len(runs):
        return None
    from abs_replay.reports import trials

    return trials.line(runs)


def _beginning(run: Run) -> tuple[object, ...]:
    """What is the same in all trials of one scenario, found faster than `comparison.trials_of` finds them: in
    many runs of what was recorded, all differ by it."""
    played = run.agent is not None or run.row is not None
    return run.session, run.agent, run.row, None if played else run.said[:1] or run.trace


def plural(count: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _counted(keys: Sequence[tuple[str, StrEnum]], found: list[StrEnum]) -> dict[str, int]:
    # A list counts in C; there are few keys.
    return {name: found.count(key) for name, key in keys}
