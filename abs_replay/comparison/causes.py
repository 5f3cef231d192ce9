"""Why a verdict came out otherwise, as far as two gradings can tell: one cause, or several at once.

What was asked, how it was decided and by which evaluator stand in a verdict's fingerprint,
`QUESTION.DECISION.VERSION` (gradings of before have one digest of all three); who answered, and to which
question, in what it was judged by; what was observed in its run's digest. A threshold is a cause where the
flip depends on it: the scores of both sides say so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from abs_replay.comparison.pairing import Check, behavior_key
from abs_replay.verdicts import Run, Status, Verdict


class Cause(StrEnum):
    """What changed; its name in small letters is its name in JSON."""

    CRITERION = "the rule was edited"
    THRESHOLD = "its threshold was edited"
    DECISION = "how it is decided was edited"
    RULE = "the rule was edited (or how it is decided: the older grading does not tell)"
    JUDGE = "another judge answered"
    EVALUATOR = "the evaluator is another version"
    TRACE = "the trace is another"
    ALIGNMENT = "it looked at other steps"
    NOISE = "the same judge answered otherwise"
    OTHER = "same rule, same steps: what the rule depends on changed"


# What changes an answer or an outcome by itself, whatever the threshold.
EDITED = frozenset({Cause.CRITERION, Cause.RULE, Cause.EVALUATOR})


@dataclass(frozen=True, slots=True)
class Around:
    """What is known of two runs beside the verdict: whether it is another conversation (None: not known),
    whether other behaviors were expected, and whether the verdict's own was found at another step."""

    trace: bool | None
    behaviors: bool
    step: bool


def causes(before: Check, after: Check) -> tuple[Cause, ...]:
    """All that can have made the difference; empty where nothing is known, or for a whole session."""
    if before.type == "session":
        return ()
    around = Around(
        _another_trace(before.run, after.run),
        _behaviors(before.run) != _behaviors(after.run),
        before.step != after.step,
    )
    if before.verdict is None or after.verdict is None:
        found = _of_match(around)
    else:
        found = _of_verdict(before.verdict, after.verdict, around)
    return tuple(cause for cause in Cause if cause in found)


def _another_trace(before: Run, after: Run) -> bool | None:
    known = before.trace_digest and after.trace_digest
    return before.trace_digest != after.trace_digest if known else None


def _behaviors(run: Run) -> list[object]:
    return [behavior_key(step) for step in run.steps]


def _of_match(around: Around) -> set[Cause]:
    found = {Cause.TRACE} if around.trace else set()
    return found | ({Cause.ALIGNMENT} if around.behaviors else set())


def _of_verdict(old: Verdict, new: Verdict, around: Around) -> set[Cause]:
    edits = _edits(old.fingerprint, new.fingerprint)
    if edits is None:
        return set()
    inputs = _of_parts(old, new, around) if old.children or new.children else _inputs(old, new, edits, around)
    if old.type != new.type and old.children and new.children:
        return inputs | {Cause.DECISION}  # `all_of` became `any_of`: a composition's type is its pass rule
    if old.threshold != new.threshold:
        return _weighed(old, new, inputs)
    if Cause.DECISION in edits and (not inputs or Status.SKIPPED in (old.status, new.status)):
        return inputs | {Cause.DECISION}
    return inputs or {Cause.ALIGNMENT if around.behaviors else Cause.OTHER}


def _edits(before: str, after: str) -> set[Cause] | None:
    """Give which parts of the fingerprint differ; None where they can not be compared."""
    old, new = before.split("."), after.split(".")
    if not before or not after or (len(old) != len(new) and before != after):
        return None
    if len(old) != 3:
        return {Cause.RULE} if before != after else set()
    parts = zip((Cause.CRITERION, Cause.DECISION, Cause.EVALUATOR), old, new, strict=True)
    return {cause for cause, one, other in parts if one != other}


def _weighed(old: Verdict, new: Verdict, inputs: set[Cause]) -> set[Cause]:
    """Tell whether an edited threshold made the flip, or what changed the score, or both together."""
    if None in (old.score, new.score, old.threshold, new.threshold) or old.status is new.status:
        return inputs | {Cause.THRESHOLD}
    passes = new.status is Status.PASSED
    by_threshold = _at_least(old.score, new.threshold) is passes
    by_score = _at_least(new.score, old.threshold) is passes
    if by_threshold is by_score:
        return inputs | {Cause.THRESHOLD}
    return {Cause.THRESHOLD} if by_threshold else inputs or {Cause.OTHER}


def _at_least(score: float | None, threshold: float | None) -> bool:
    return score is not None and threshold is not None and score + 1e-9 >= threshold


# -- what an outcome is made from --


def _inputs(old: Verdict, new: Verdict, edits: set[Cause], around: Around) -> set[Cause]:
    edited, judged = edits & EDITED, set(_of_judge(old, new))
    if _same_question(old, new):  # so nothing that the judge was shown is another
        return judged or edited - {Cause.CRITERION, Cause.RULE}
    seen = _seen(old, new, edited, around)
    if edited or judged or seen or not (old.judge and new.judge):
        return edited | judged | seen
    # The same judge, and as far as is known the same question.
    return set() if _both_known(old, new) else {Cause.NOISE}


def _seen(old: Verdict, new: Verdict, edited: set[Cause], around: Around) -> set[Cause]:
    """What changed of the steps that it looked at; an edited rule looks where it likes, at the same step."""
    if around.trace:
        return {Cause.TRACE} | ({Cause.ALIGNMENT} if around.behaviors and around.step else set())
    moved = around.step or (old.evidence != new.evidence and not edited)
    # The same conversation and rule, and another question: what its steps were taken for is another.
    annotated = around.trace is False and _both_known(old, new) and not edited
    return {Cause.ALIGNMENT} if moved or annotated else set()


def _of_judge(old: Verdict, new: Verdict) -> Iterator[Cause]:
    before, after = _judge(old), _judge(new)
    if before and after and before != after:
        yield Cause.JUDGE
    elif before and _same_question(old, new) and old.score != new.score:
        yield Cause.NOISE


def _judge(verdict: Verdict) -> str | None:
    return verdict.judge if verdict.judged is None or not verdict.judged.judge else verdict.judged.judge


def another_judge(before: Verdict, after: Verdict) -> bool:
    """Whether judges had a say both times, and not the same ones."""
    old, new = tuple(_answers(before)), tuple(_answers(after))
    known = all(fingerprint for _, fingerprint in old + new)
    one, other = ({each[known] for each in side} for side in (old, new))
    return bool(one and other) and one != other


def _answers(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Who answered, by name and by fingerprint; that is not known in gradings of before."""
    if verdict.judge is not None:
        yield verdict.judge, verdict.judged.judge if verdict.judged else ""
    for child in verdict.children:
        yield from _answers(child)


def _both_known(old: Verdict, new: Verdict) -> bool:
    return old.judged is not None and new.judged is not None


def _same_question(old: Verdict, new: Verdict) -> bool:
    return old.judged is not None and new.judged is not None and old.judged.question == new.judged.question


def _of_parts(old: Verdict, new: Verdict, around: Around) -> set[Cause]:
    """A composition changes by its parts: by those that came out otherwise, where they can be told apart."""
    if [part.type for part in old.children] != [part.type for part in new.children]:
        return {Cause.CRITERION}
    pairs = zip(old.children, new.children, strict=True)
    return {cause for one, other in pairs if _differ(one, other) for cause in _of_verdict(one, other, around)}


def _differ(old: Verdict, new: Verdict) -> bool:
    return (old.status, old.score) != (new.status, new.score)
