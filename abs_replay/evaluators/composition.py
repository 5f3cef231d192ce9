"""`all_of`, `any_of`, `none_of`, nested to any depth (SEMANTICS E7, R6)."""

from collections.abc import Callable, Sequence
from math import fsum

from abs_replay.evaluators.context import Context, verdict
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Status, Verdict

UNDECIDED = (Status.PENDING, Status.ERROR, Status.NOT_EVALUABLE, Status.INCONCLUSIVE)  # the first wins
TOLERANCE = 1e-9  # of a mean: a third three times is one

type Rule = Callable[[Sequence[bool]], bool]


def all_of(evaluation: Evaluation, context: Context) -> Verdict:
    return _composed(evaluation, context, all)


def any_of(evaluation: Evaluation, context: Context) -> Verdict:
    return _composed(evaluation, context, any)


def none_of(evaluation: Evaluation, context: Context) -> Verdict:
    return _composed(evaluation, context, lambda passes: not any(passes), inverted=True)


def _composed(evaluation: Evaluation, context: Context, rule: Rule, *, inverted: bool = False) -> Verdict:
    children = tuple(context.run(part) for part in evaluation.parts)
    counted = [child for child in children if child.status is not Status.SKIPPED]
    if not counted:
        return verdict(evaluation, Status.SKIPPED, "every part was skipped", children=children)
    threshold = evaluation.rule.threshold
    low, high = (_outcome(counted, rule, threshold, undecided, inverted) for undecided in (0.0, 1.0))
    status = Status.PASSED if low else Status.FAILED
    score: float | None = min(_mean(counted, undecided, inverted) for undecided in (0.0, 1.0))
    if low is not high:
        undecided = {child.status for child in counted}
        status, score = next(one for one in UNDECIDED if one in undecided), None
    return verdict(
        evaluation,
        status,
        _reason(evaluation, counted, status, score),
        evidence=tuple(dict.fromkeys(seq for child in counted for seq in child.evidence)),
        score=score,
        threshold=threshold,
        children=children,
    )


def _outcome(
    parts: Sequence[Verdict], rule: Rule, threshold: float | None, undecided: float, inverted: bool
) -> bool:
    """Decide the whole with each undecided part counted as `undecided` (E7)."""
    if threshold is not None:
        return _mean(parts, undecided, inverted) + TOLERANCE >= threshold
    return rule(
        [bool(undecided) if part.status in UNDECIDED else part.status is Status.PASSED for part in parts]
    )


def _mean(parts: Sequence[Verdict], undecided: float, inverted: bool) -> float:
    scores = [undecided if part.status in UNDECIDED else part.score or 0.0 for part in parts]
    return fsum(1 - score if inverted else score for score in scores) / len(scores)


def _reason(evaluation: Evaluation, parts: Sequence[Verdict], status: Status, score: float | None) -> str:
    passes = sum(part.status is Status.PASSED for part in parts)
    text = f"{passes} of {len(parts)} parts passed"
    if evaluation.rule.threshold is not None and score is not None:
        text += f", mean {score:.4g}, threshold {evaluation.rule.threshold:g}"
    if status is Status.PASSED:
        return text
    culprits = Status.PASSED if evaluation.rule.type == "none_of" else Status.FAILED
    blamed = culprits if status is Status.FAILED else status
    told = next((f"; {part.at}: {part.reason}" for part in parts if part.status is blamed), "")
    return text + told
