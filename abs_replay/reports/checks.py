"""All that counts in a run, in order: each behavior's match, each evaluation (SEMANTICS R2, R3).

The formats that list checks share it, so that what they list always adds up to the run's result: a
run that failed has a failed check, and one that passed has none.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from abs_replay.reports.labels import entry
from abs_replay.values import dataclass
from abs_replay.verdicts import MATCH, BehaviorResult, Result, Run, Status, StepStatus, Verdict

ABSENT = (StepStatus.MISSING, StepStatus.UNMATCHED)
FINE = (Status.PASSED, Status.SKIPPED)
MATCH_REASONS = {
    StepStatus.MISSING: "the trace has no such turn of the user",
    StepStatus.UNMATCHED: "no step matched",
    StepStatus.SKIPPED: "not observed, and not asked for",
    StepStatus.ERROR: "it could not be decided whether a step matched",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that counts. `name` tells it from all others of its session and has no values in it;
    `followers` is how many evaluations failed for no other reason than this match."""

    at: str
    name: str
    label: str
    status: Status
    reason: str
    verdict: Verdict | None = None  # None for a match
    absent: bool = False  # a match that counts and has no step
    followers: int = 0

    @property
    def is_fine(self) -> bool:
        return self.status in FINE


def checks(run: Run) -> tuple[Check, ...]:
    """Every check of a run, a behavior's match before its evaluations."""
    found = tuple(_checks(run))
    if _explains(found, run.result):
        return found
    status = Status.FAILED if run.result is Result.FAILED else Status.ERROR
    return (*found, Check("", "session", run.session, status, "none of the checks listed here says why"))


def told(run: Run) -> tuple[Check, ...]:
    """The checks that are not fine, without the evaluations that failed with their behavior's match (A10)."""
    found: list[Check] = []
    for check in checks(run):
        if found and _follows(check, found[-1]):
            found[-1] = replace(found[-1], followers=found[-1].followers + 1)
        elif not check.is_fine:
            found.append(check)
    return tuple(found)


def _follows(check: Check, before: Check) -> bool:
    return before.absent and check.status is Status.FAILED and check.at.startswith(f"{before.at}.")


def _explains(found: Iterable[Check], result: Result) -> bool:
    statuses = {check.status for check in found}
    if result is Result.FAILED:
        return Status.FAILED in statuses
    return result is Result.PASSED or not statuses.issubset(FINE)


def _checks(run: Run) -> Iterator[Check]:
    if run.problem is not None:
        yield Check("", "run", "the run was carried out", Status.ERROR, run.problem)
    for step in run.steps:
        yield _match(run, step)
        yield from map(_evaluation, step.evaluations)
    yield from map(_evaluation, run.chain_evaluations)


def _evaluation(verdict: Verdict) -> Check:
    what = verdict.label or verdict.type
    return Check(verdict.at, f"{verdict.at} {verdict.type}", what, verdict.status, verdict.reason, verdict)


def _match(run: Run, step: BehaviorResult) -> Check:
    status = MATCH[step.status]
    reason = step.near or MATCH_REASONS.get(step.status, f"step {step.step}")
    if not _counts(run, status):
        status, reason = Status.SKIPPED, f"reported, not counted (--no-require-match): {reason}"
    elif run.strict_user and step.differs and status is Status.PASSED:
        status, reason = Status.FAILED, "the words differ from the session's (--strict-user)"
    label = entry(step.actor, step.action, step.target, step.content)
    absent = status is Status.FAILED and step.status in ABSENT
    return Check(step.at, f"{step.at} {step.actor} {step.action}", label, status, reason, absent=absent)


def _counts(run: Run, status: Status) -> bool:
    """Say whether a match counts: where it did, the run came to no better than it (R2, R3)."""
    if status in FINE:
        return True
    at_best = (Result.FAILED,) if status is Status.FAILED else (Result.FAILED, Result.ERROR)
    return run.require_match and run.result in at_best
