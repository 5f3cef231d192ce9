"""Gradings made by hand."""

from abs_replay.exact_json import Json
from abs_replay.verdicts import (
    BehaviorResult,
    Grading,
    Judged,
    Report,
    Result,
    Run,
    Status,
    StepStatus,
    Verdict,
)

RULE = "behaviors[0].evaluations[0]"
P, F, E, S = Status.PASSED, Status.FAILED, Status.ERROR, Status.SKIPPED


def verdict(
    status: Status,
    score: float | None = None,
    *,
    fingerprint: str = "q.d.1",
    threshold: float | None = None,
    judge: str | None = None,
    question: str = "Q",
    scores: tuple[float, ...] = (),
    unstable: bool = False,
    evidence: tuple[int, ...] = (1,),
    children: tuple[Verdict, ...] = (),
    type_: str = "llm_judge",
    blocking: bool = False,
    at: str = RULE,
) -> Verdict:
    """One verdict; with a judge it was judged, by the fingerprint `judge`."""
    return Verdict(
        at,
        type_,
        status,
        f"{status} it was",
        {P: 1.0, F: 0.0}.get(status) if score is None else score,
        threshold,
        blocking,
        evidence,
        children,
        judge and judge.upper(),
        fingerprint=fingerprint,
        judged=Judged(question, judge, scores, unstable) if judge else None,
    )


def run(
    *verdicts: Verdict,
    trace: str = "t",
    digest: str = "",
    content: Json = "x",
    step: int | None = 1,
    row: int | None = None,
    session: str = "S",
) -> Run:
    """A run of one behavior with these verdicts; its result is what they say."""
    statuses = {each.status for each in verdicts}
    result = Result.FAILED if F in statuses else Result.PASSED if statuses <= {P, S} else Result.ERROR
    status = StepStatus.UNMATCHED if step is None else StepStatus.MATCHED
    behavior = BehaviorResult(
        "behaviors[0]", "assistant", "informs", status, content=content, step=step, evaluations=verdicts
    )
    return Run(session, "s.abs.yaml", trace, result, (behavior,), row=row, trace_digest=digest)


def grading(name: str, *runs: Run) -> Grading:
    return Grading(name, 0.0, Report(runs))
