"""`expected`: a behavior was observed, and where asked, after something else (SEMANTICS C6)."""

from abs_replay.evaluators.context import Context, failed, passed
from abs_replay.predicates import Undecided
from abs_replay.spec.rules import Expected
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import StepStatus, Verdict


def expected(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    assert isinstance(rule, Expected)
    behaviors = context.session.behaviors
    index = next(n for n, behavior in enumerate(behaviors) if behavior.id == rule.behavior)  # it exists (D5)
    place = context.alignment.places[index]
    if place.status is StepStatus.ERROR:
        raise Undecided(place.trouble or f"it could not be decided whether `{rule.behavior}` was observed")
    if place.position is None:
        why = f"; {place.near}" if place.near else ""
        return failed(evaluation, f"expected `{rule.behavior}`, observed none ({place.status}){why}")
    seq = context.steps[place.position].step.seq
    if rule.after is None:
        return passed(evaluation, f"`{rule.behavior}` at step {seq}", seq)
    first = next(iter(context.selected(rule.after)), None)
    if first is None or first >= place.position:
        wanted = f"`{rule.behavior}` after {rule.after.words}"
        return failed(evaluation, f"expected {wanted}, observed it at step {seq} with none before", seq)
    before = context.steps[first].step.seq
    return passed(evaluation, f"`{rule.behavior}` at step {seq}, after step {before}", before, seq)
