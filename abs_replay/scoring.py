"""Judge one trace by one session (SEMANTICS 3 to 6): values in, a `Run` out, and nobody is asked.

    run = evaluate(trace, session, answers)

`run.questions` are those that a judge has yet to answer; evaluations that wait for them are
`pending`. The shell finds answers and evaluates again, or calls `settle` when there is no judge.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from abs_replay.alignment import NO_JUDGE, Alignment, Place, align
from abs_replay.evaluators import EVALUATORS, Context
from abs_replay.evaluators.blocking import block
from abs_replay.judgement import Answer
from abs_replay.spec.session import UNSET, Session
from abs_replay.trace import Trace
from abs_replay.values import dataclass
from abs_replay.verdicts import BehaviorResult, Result, Run, Status, StepStatus, Verdict


@dataclass(frozen=True, slots=True)
class Policy:
    """What counts as a failed check of its own: a behavior without its step (R2), other user's words (A2)."""

    require_match: bool = True
    strict_user: bool = False


def evaluate(trace: Trace, session: Session, answers: Mapping[str, Answer], policy: Policy = Policy()) -> Run:
    """Align the trace with the session, run every evaluation (R4), and say what it came to.

    Raises `TypeError` in one line for what is none of these, such as a session that is not resolved.
    """
    needed(trace, session)
    _need(answers, Mapping, "answers", "from the digest of a question to its Answer")
    for answer in answers.values():
        _need(answer, Answer, "each of the answers", "as abs_replay.judgement has it")
    _need(policy, Policy, "policy", "as this module has it")
    return evaluated(trace, session, answers, policy)


def needed(trace: Trace, session: Session) -> None:
    """Raise `TypeError` for what is no trace, or no session that is resolved."""
    _need(trace, Trace, "trace", "as trace_file.read gives them")
    _need(session, Session, "session", "as template.resolve(Sources(row=trace.bindings)) gives it")


def _need(value: object, kind: type, name: str, hint: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of type {kind.__name__}, {hint}, not {type(value).__name__}")


def evaluated(trace: Trace, session: Session, answers: Mapping[str, Answer], policy: Policy) -> Run:
    """Do what `evaluate` does, for callers that need no check of what they give."""
    alignment = align(trace, session, answers)
    context = Context(session, alignment, answers, EVALUATORS)
    verdicts = [
        _of_behavior(context, index) if behavior.evaluations else ()
        for index, behavior in enumerate(session.behaviors)
    ]
    context.behavior, context.blocked = None, block(session, alignment, verdicts)
    steps = tuple([_behavior_result(context, index, each) for index, each in enumerate(verdicts)])
    chain = tuple([context.run(evaluation) for evaluation in session.evaluations])
    questions = {question.digest: question for question in alignment.questions} | context.questions
    return Run(
        session=session.name,
        file=session.file,
        trace=trace.id,
        result=_result(steps, chain, policy),
        steps=steps,
        chain_evaluations=chain,
        extra=alignment.extra,
        bindings=dict(trace.bindings),
        questions=tuple(questions.values()),
        require_match=policy.require_match,
        strict_user=policy.strict_user,
    )


def settle(run: Run) -> Run:
    """Turn what waits for an answer into errors, there being no judge; what is decided stays."""
    if not run.questions:  # nothing can wait
        return run
    steps = tuple(replace(step, evaluations=_settled(step.evaluations)) for step in run.steps)
    return replace(run, steps=steps, chain_evaluations=_settled(run.chain_evaluations), questions=())


def _settled(verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    return tuple(
        replace(verdict, status=Status.ERROR, reason=NO_JUDGE, children=_settled(verdict.children))
        if verdict.status is Status.PENDING
        else replace(verdict, children=_settled(verdict.children))
        for verdict in verdicts
    )


def _of_behavior(context: Context, index: int) -> tuple[Verdict, ...]:
    context.behavior = index
    return tuple([context.run(evaluation) for evaluation in context.session.behaviors[index].evaluations])


def _behavior_result(context: Context, index: int, verdicts: tuple[Verdict, ...]) -> BehaviorResult:
    behavior, place = context.session.behaviors[index], context.alignment.places[index]
    return BehaviorResult(
        at=behavior.at,
        actor=behavior.actor,
        action=behavior.action,
        status=place.status,
        id=behavior.id,
        target=behavior.target,
        content=None if behavior.content is UNSET else behavior.content,
        step=_seq(context.alignment, place),
        differs=place.differs,
        near=place.near,
        evaluations=verdicts,
    )


def _seq(alignment: Alignment, place: Place) -> int | None:
    return None if place.position is None else alignment.seen[place.position].step.seq


_NO_MATCH = (StepStatus.UNMATCHED, StepStatus.MISSING)
_FINE = (Status.PASSED, Status.SKIPPED)


def _result(steps: Iterable[BehaviorResult], chain: Iterable[Verdict], policy: Policy) -> Result:
    """Fold checks and evaluations (R3): failed over undecided over passed."""
    steps = tuple(steps)
    # Lists: of the few that a run has, a set costs more to make than it spares in looking.
    places = [step.status for step in steps]
    statuses = [verdict.status for verdict in chain]
    statuses.extend([verdict.status for step in steps for verdict in step.evaluations])
    unmatched = policy.require_match and any(status in _NO_MATCH for status in places)
    differs = policy.strict_user and any(step.differs for step in steps)
    if unmatched or differs or Status.FAILED in statuses:
        return Result.FAILED
    undecided = policy.require_match and StepStatus.ERROR in places
    return Result.ERROR if undecided or not all(status in _FINE for status in statuses) else Result.PASSED
