"""`all_of`, `any_of`, `none_of`, nested to any depth (SEMANTICS E7, R6)."""

from collections.abc import Callable, Sequence
from itertools import chain
from math import fsum

from abs_replay.evaluators.context import Context, verdict
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Status, Verdict

UNDECIDED = (Status.PENDING, Status.ERROR, Status.NOT_EVALUABLE, Status.INCONCLUSIVE)  # the first wins
DECIDED = (Status.PASSED, Status.FAILED)
TOLERANCE = 1e-9  # of a mean: a third three times is one

type Rule = Callable[[Sequence[bool]], bool]


def all_of(evaluation: Evaluation, context: Context) -> Verdict:
    return _composed(evaluation, context, all)


def any_of(evaluation: Evaluation, context: Context) -> Verdict:
    return _composed(evaluation, context, any)


def none_of(evaluation: Evaluation, context: Context) -> Verdict:
    return _composed(evaluation, context, lambda passes: not any(passes), inverted=True)


def _composed(evaluation: Evaluation, context: Context, rule: Rule, *, inverted: bool = False) -> Verdict:
    children = tuple([context.run(part) for part in evaluation.parts])
    counted = [child for child in children if child.status is not Status.SKIPPED]
    if not counted:
        return verdict(evaluation, Status.SKIPPED, "every part was skipped", children=children)
    statuses = [child.status for child in counted]
    threshold, undecided = evaluation.rule.threshold, _undecided(statuses)
    low = _outcome(counted, rule, threshold, 0.0, inverted)
    status = Status.PASSED if low else Status.FAILED
    score: float | None = _mean(counted, 0.0, inverted)
    if undecided and low is not _outcome(counted, rule, threshold, 1.0, inverted):
        status, score = undecided, None
    elif undecided and inverted:
        score = _mean(counted, 1.0, inverted)  # the lower of the two
    return verdict(
        evaluation,
        status,
        _reason(evaluation, counted, statuses, status, score),
        evidence=tuple(dict.fromkeys(chain.from_iterable([child.evidence for child in counted]))),
        score=score,
        threshold=threshold,
        children=children,
    )


def _undecided(statuses: list[Status]) -> Status | None:
    for status in statuses:
        if status not in DECIDED:
            return next(first for first in UNDECIDED if first in statuses)
    return None


def _outcome(
    parts: Sequence[Verdict], rule: Rule, threshold: float | None, undecided: float, inverted: bool
) -> bool:
    """Decide the whole with each undecided part counted as `undecided` (E7)."""
    if threshold is not None:
        return _mean(parts, undecided, inverted) + TOLERANCE >= threshold
    passes = undecided > 0
    return rule([part.status is Status.PASSED or (passes and part.status in UNDECIDED) for part in parts])


def _mean(parts: Sequence[Verdict], undecided: float, inverted: bool) -> float:
    scores = [part.score or 0.0 if part.status in DECIDED else undecided for part in parts]
    return fsum([1 - score for score in scores] if inverted else scores) / len(scores)


def _reason(
    evaluation: Evaluation,
    parts: Sequence[Verdict],
    statuses: Sequence[Status],
    status: Status,
    score: float | None,
) -> str:
    text = f"{statuses.count(Status.PASSED)} of {len(parts)} parts passed"
    if evaluation.rule.threshold is not None and score is not None:
        text += f", mean {score:.4g}, threshold {evaluation.rule.threshold:g}"
    if status is Status.PASSED:
        return text
    culprits = Status.PASSED if evaluation.rule.type == "none_of" else Status.FAILED
    blamed = culprits if status is Status.FAILED else status
    told = next((f"; {part.at}: {part.reason}" for part in parts if part.status is blamed), "")
    return text + told
