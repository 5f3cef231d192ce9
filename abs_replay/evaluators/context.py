"""What an evaluator is given, and how it answers.

An evaluator is `evaluator(evaluation, context) -> Verdict`. It looks at `context.seen` (the step of
its behavior; never None there) or `context.steps` (the whole annotated trace), gives its verdict
with `passed`, `failed` or `verdict`, raises `Undecided` where it can not tell, and may `context.run`
the parts of its evaluation. It never asks anybody: open questions go to `context.questions`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from abs_replay.alignment import Alignment, Place, Seen
from abs_replay.alignment.compatibility import is_call
from abs_replay.alignment.seen import Kinds
from abs_replay.evaluators.blocking import Blocked, inconclusive
from abs_replay.evaluators.installed import installed
from abs_replay.evaluators.selectors import positions
from abs_replay.exact_json import Json
from abs_replay.judgement import Answer, Question
from abs_replay.plugins import told
from abs_replay.predicates import Undecided, arguments_of
from abs_replay.spec.rules import Selector
from abs_replay.spec.session import Behavior, Condition, Evaluation, Session
from abs_replay.trace import Step
from abs_replay.values import dataclass
from abs_replay.verdicts import Status, StepStatus, Verdict

type Evaluator = Callable[[Evaluation, "Context"], Verdict]


def verdict(
    evaluation: Evaluation,
    status: Status,
    reason: str,
    *,
    evidence: tuple[int, ...] = (),
    score: float | None = None,
    threshold: float | None = None,
    children: tuple[Verdict, ...] = (),
    judge: str | None = None,
) -> Verdict:
    """Give a verdict at its place; the author's own reason comes before a failure's cause (C6)."""
    if status is Status.FAILED and evaluation.rule.reason:
        reason = f"{evaluation.rule.reason} ({reason})"
    return Verdict(
        evaluation.at,
        evaluation.type,
        status,
        reason,
        score,
        threshold,
        evaluation.blocking,
        evidence,
        children,
        judge,
        False,
        0.0,
        evaluation.fingerprint,  # by its place: a keyword makes the call a third slower
    )


def passed(evaluation: Evaluation, reason: str, *evidence: int) -> Verdict:
    """Give a deterministic pass; `evidence` are the `seq` of the steps looked at (R6: score 1)."""
    return Verdict(
        evaluation.at,
        evaluation.type,
        Status.PASSED,
        reason,
        1.0,
        None,
        evaluation.blocking,
        evidence,
        (),
        None,
        False,
        0.0,
        evaluation.fingerprint,
    )


def failed(evaluation: Evaluation, reason: str, *evidence: int) -> Verdict:
    """Give a deterministic failure (R6: score 0)."""
    return verdict(evaluation, Status.FAILED, reason, evidence=evidence, score=0.0)


def observed_in(step: Step) -> Json:
    """Give what a step evaluator looks at: the content, of a call its arguments (SEMANTICS 5)."""
    return arguments_of(step.arguments) if is_call(step) else step.content


@dataclass(slots=True)
class Context:
    """One run of the evaluators. `behavior` is the index of the one whose evaluation is run, or None."""

    session: Session
    alignment: Alignment
    answers: Mapping[str, Answer]
    evaluators: Mapping[str, Evaluator]
    behavior: int | None = None
    questions: dict[str, Question] = field(default_factory=dict)
    blocked: Blocked | None = None

    @property
    def steps(self) -> Sequence[Seen]:
        """The visible steps, as selectors see them."""
        return self.alignment.seen

    @property
    def here(self) -> Behavior | None:
        return None if self.behavior is None else self.session.behaviors[self.behavior]

    @property
    def place(self) -> Place | None:
        return None if self.behavior is None else self.alignment.places[self.behavior]

    @property
    def seen(self) -> Seen | None:
        return None if self.behavior is None else self.alignment.step_of(self.behavior)

    @property
    def step(self) -> Step:
        """The step that an evaluation of a behavior looks at; `run` makes sure that there is one."""
        assert self.behavior is not None
        position = self.alignment.places[self.behavior].position
        assert position is not None
        return self.alignment.seen[position].step

    def selected(self, selector: Selector) -> Sequence[int]:
        """Give the positions in `steps` that a selector picks, in order (SEMANTICS C1)."""
        kinds = self.alignment.kinds or Kinds(self.steps)
        return positions(selector, kinds, self.session.aliases)

    def run(self, evaluation: Evaluation) -> Verdict:
        """Decide one evaluation; nothing it does can keep the others from being run (R4)."""
        if evaluation.when is not None and (stopped := _stopped(evaluation, evaluation.when)):
            return stopped
        if self.behavior is not None:
            place = self.alignment.places[self.behavior]
            if place.position is None:
                return self._without_step(evaluation, place)
        if evaluation.invalid is not None:
            return verdict(evaluation, Status.ERROR, evaluation.invalid)
        try:
            evaluator = self.evaluators.get(evaluation.type) or installed(evaluation.type)
            if evaluator is None:
                return verdict(evaluation, Status.ERROR, f"no evaluator for `{evaluation.type}` is installed")
            result = evaluator(evaluation, self)
        except Exception as trouble:
            return verdict(evaluation, Status.ERROR, _said(trouble))
        if self.blocked is None or result.status is not Status.FAILED:
            return result
        at = self.blocked.by(evaluation.rule)
        return result if at is None else inconclusive(result, at)

    def _without_step(self, evaluation: Evaluation, place: Place) -> Verdict:
        """Decide an evaluation of a behavior that has no step (A10), a composition whole."""
        status, score = _FATES[place.status], 0.0 if place.status is not StepStatus.SKIPPED else None
        if status is Status.ERROR:
            status = Status.PENDING if place.pending else Status.ERROR
            score = None
        return verdict(
            evaluation,
            status,
            place.trouble or "; ".join(filter(None, (_NO_STEP[place.status], place.near))),
            score=score,
            children=tuple(self.run(part) for part in evaluation.parts),
        )


def _stopped(evaluation: Evaluation, when: Condition) -> Verdict | None:
    """Give the verdict where a `when` does not hold, or can not be decided (C6)."""
    from abs_replay.spec.conditions import Undecidable, holds  # few documents have one

    try:
        if holds(when):
            return None
        return verdict(evaluation, Status.SKIPPED, f"`{when.text}` is false")
    except Undecidable as trouble:
        return verdict(evaluation, Status.ERROR, f"`when` can not be decided: {trouble.reason}")


def _said(trouble: Exception) -> str:
    if isinstance(trouble, Undecided):
        return str(trouble)
    if isinstance(trouble, RecursionError):
        return "what was observed is nested too deep to be judged"
    return f"the evaluator raised {told(trouble)}"  # one evaluator's fault is one verdict's error (DESIGN 2)


_FATES = {
    StepStatus.UNMATCHED: Status.FAILED,
    StepStatus.MISSING: Status.FAILED,
    StepStatus.SKIPPED: Status.SKIPPED,
    StepStatus.ERROR: Status.ERROR,
}
_NO_STEP = {
    StepStatus.UNMATCHED: "no step matched the behavior",
    StepStatus.MISSING: "the trace has no such user turn",
    StepStatus.SKIPPED: "the behavior was skipped",
    StepStatus.ERROR: "it could not be decided which step the behavior matches",
}
