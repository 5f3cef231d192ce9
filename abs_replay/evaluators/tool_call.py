"""`tool_call`: the right tool, the right parameters, and its group in order (SEMANTICS E5)."""

from abs_replay.alignment.compatibility import names_of
from abs_replay.alignment.groups import call_group
from abs_replay.evaluators.context import Context, failed, observed_in, passed
from abs_replay.predicates import Undecided, misfit, shown
from abs_replay.spec.rules import ToolCall
from abs_replay.spec.session import Behavior, Evaluation
from abs_replay.trace import Step
from abs_replay.verdicts import StepStatus, Verdict


def tool_call(evaluation: Evaluation, context: Context) -> Verdict:
    rule, step = evaluation.rule, context.step
    assert isinstance(rule, ToolCall)
    trouble = _wrong_target(rule, context, step) or _wrong_arguments(rule, context, step)
    if trouble:
        return failed(evaluation, trouble, step.seq)
    trouble, evidence = _wrong_group(rule, context)
    if trouble:
        return failed(evaluation, trouble, *evidence)
    return passed(evaluation, f"called {shown(step.target)} as expected", *evidence)


def _behavior(context: Context) -> Behavior:
    behavior = context.here
    assert behavior is not None  # the loader lets it stand under a behavior alone
    return behavior


def _wrong_target(rule: ToolCall, context: Context, step: Step) -> str | None:
    target = rule.target or _behavior(context).target
    if target is None or step.target in names_of(target, context.session.aliases):
        return None
    return f"expected a call of {shown(target)}, observed {shown(step.target)}"


def _wrong_arguments(rule: ToolCall, context: Context, step: Step) -> str | None:
    behavior = _behavior(context)
    partial = behavior.with_ if rule.with_ is None else rule.with_
    whole = behavior.with_only if rule.with_only is None else rule.with_only
    observed = observed_in(step)
    return (None if partial is None else misfit(partial, observed)) or (
        None if whole is None else misfit(whole, observed, strict=True)
    )


def _wrong_group(rule: ToolCall, context: Context) -> tuple[str | None, list[int]]:
    """Check that no call of the group is missing and, if `ordered`, that they came in order."""
    positions: list[int] = []
    for member in call_group(context.session.behaviors, context.behavior or 0):
        place = context.alignment.places[member]
        if place.status is StepStatus.ERROR:
            raise Undecided(place.trouble or "a call of the group could not be decided")
        if place.status is StepStatus.UNMATCHED:
            at = context.session.behaviors[member].at
            return f"expected the calls up to this one, observed none for {at}", _seqs(context, positions)
        if place.position is not None:
            positions.append(place.position)
    if rule.ordered and positions != sorted(positions):
        seqs = _seqs(context, positions)
        return f"expected the calls in their order, observed them at steps {seqs}", seqs
    return None, _seqs(context, positions)


def _seqs(context: Context, positions: list[int]) -> list[int]:
    return [context.steps[position].step.seq for position in positions]
