"""What kept a run from passing, in one line: a run that flips is often all that shows an added check."""

from collections.abc import Iterator

from abs_replay.verdicts import Run, Status, StepStatus, Verdict

FINE = (Status.PASSED, Status.SKIPPED)
MOST = 3  # checks that are named


def not_passed(run: Run) -> str:
    """Name the first checks that are not passed, by place; empty where all are."""
    found = list(_checks(run))
    more = f" and {len(found) - MOST} more" if len(found) > MOST else ""
    return "; ".join(found[:MOST]) + more


def _checks(run: Run) -> Iterator[str]:
    if run.problem is not None:
        yield f"it broke off: {run.problem}"
    for step in run.steps:
        named = " ".join(part for part in (step.actor, step.action, step.target) if part)
        if step.status in (StepStatus.UNMATCHED, StepStatus.MISSING) and run.require_match:
            yield f"{step.at} ({named}) is {step.status}"
        if step.status is StepStatus.ERROR:
            yield f"{step.at} ({named}) could not be matched"
        if step.differs and run.strict_user:
            yield f"{step.at} ({named}) has other words"
        yield from _verdicts(step.evaluations)
    yield from _verdicts(run.chain_evaluations)


def _verdicts(verdicts: tuple[Verdict, ...]) -> Iterator[str]:
    for verdict in verdicts:
        if verdict.status not in FINE:
            yield f"{verdict.at} ({verdict.label or verdict.type}) is {verdict.status.replace('_', ' ')}"
