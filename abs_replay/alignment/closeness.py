"""Why a behavior found no step: the one that came closest, and what did not fit (for `near`)."""

from collections.abc import Mapping

from abs_replay.alignment.compatibility import is_execution
from abs_replay.alignment.masks import bits
from abs_replay.alignment.planning import Plan
from abs_replay.alignment.turns import TraceTurn
from abs_replay.predicates import arguments_of, misfit, shown, structured, unlike
from abs_replay.spec.session import UNSET, Behavior
from abs_replay.trace import Step


def nearest(turn: TraceTurn, plan: Plan, member: int, taken: Mapping[int, int]) -> str:
    """Explain an unmatched behavior in one sentence; `taken` maps positions to behaviors."""
    behavior, found = plan.behaviors[member], turn.candidates(plan, member)
    stages = (found.fit, found.target, found.kind, found.actor)
    stage = next(filter(None, stages), None)
    if stage is None:
        return f"the turn has no step of {behavior.actor}"
    position = _untaken_first(stage, taken)
    step = turn.steps[position]
    if stage == found.fit:
        return f"step {step.seq} came closest: {_unfree(turn, plan, member, position, taken)}"
    if stage == found.target:
        return f"step {step.seq} came closest: {_content_difference(behavior, step)}"
    if stage == found.kind:
        wanted = f"expected {shown(behavior.target)}"
        return f"step {step.seq} came closest: its target is {shown(step.target)}, {wanted}"
    wanted = f"expected {behavior.actor} {behavior.action}"
    return f"step {step.seq} came closest: {step.actor} {step.action}, {wanted}"


def _untaken_first(mask: int, taken: Mapping[int, int]) -> int:
    return next((n for n in bits(mask) if n not in taken), next(bits(mask)))


def _unfree(turn: TraceTurn, plan: Plan, member: int, position: int, taken: Mapping[int, int]) -> str:
    if position in taken:
        return f"it fits, but {plan.behaviors[taken[position]].at} took it"
    if member in plan.answering and turn.steps[position].call_id is not None:
        return "it answers a call that no behavior took"
    return "it fits, but not in this order"


def _content_difference(behavior: Behavior, step: Step) -> str | None:
    if behavior.matches_when is not None:
        rule = behavior.matches_when
        wanted = rule.value or rule.pattern or rule.criteria
        return f"{shown(step.content)} does not meet {rule.type} {shown(wanted)}"
    if is_execution(behavior):
        strict = behavior.with_only is not None
        arguments = behavior.with_only if strict else behavior.with_
        assert arguments is not None  # else any would fit
        return misfit(arguments, arguments_of(step.arguments), strict=strict)
    assert behavior.content is not UNSET
    return unlike(structured(behavior.content), structured(step.content))
