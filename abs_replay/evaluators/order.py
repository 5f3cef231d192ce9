"""Evaluators of the whole annotated trace: what happened, how often, in which order (C2 to C4)."""

from collections.abc import Sequence as Steps

from abs_replay.alignment import Seen
from abs_replay.evaluators.context import Context, failed, passed
from abs_replay.evaluators.selectors import named, selected, selects
from abs_replay.spec.rules import Count, Eventually, Never, Selector, Sequence, Within
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Verdict


def sequence(evaluation: Evaluation, context: Context) -> Verdict:
    """Find distinct steps in increasing position; the earliest is always as good as any (C2)."""
    rule = evaluation.rule
    assert isinstance(rule, Sequence)
    found: list[int] = []
    start = 0
    for selector in rule.order:
        position = next(selected(selector, context.steps, context.session.aliases, start), None)
        if position is None:
            where = f"after step {found[-1]}" if found else "in the trace"
            return failed(evaluation, f"expected {named(selector)} {where}, observed none", *found)
        found.append(context.steps[position].step.seq)
        start = position + 1
    return passed(evaluation, f"found in order at steps {_listed(found)}", *found)


def eventually(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    assert isinstance(rule, Eventually)
    found = _found(rule.match, context)
    if found:
        return passed(evaluation, f"{named(rule.match)} at step {found[0]}", *found)
    return failed(evaluation, f"expected {named(rule.match)} somewhere, observed none")


def never(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    assert isinstance(rule, Never)
    found = _found(rule.match, context)
    if not found:
        return passed(evaluation, f"{named(rule.match)} nowhere")
    return failed(
        evaluation, f"expected {named(rule.match)} nowhere, observed at step {_listed(found)}", *found
    )


def count(evaluation: Evaluation, context: Context) -> Verdict:
    """Compare how many steps are selected with bounds that count themselves in (C3)."""
    rule = evaluation.rule
    assert isinstance(rule, Count)
    found = _found(rule.match, context)
    number = len(found)
    low, high = rule.min, rule.max
    fits = (low is None or number >= low) and (high is None or number <= high)
    bounds = " and ".join([f"at least {low}"] * (low is not None) + [f"at most {high}"] * (high is not None))
    reason = f"expected {named(rule.match)} {bounds} times, observed {number}"
    return passed(evaluation, reason, *found) if fits else failed(evaluation, reason, *found)


def within(evaluation: Evaluation, context: Context) -> Verdict:
    """Look for `match` among the steps that follow the first, or every, step that `after` picks (C4)."""
    rule = evaluation.rule
    assert isinstance(rule, Within)
    steps, aliases = context.steps, context.session.aliases
    starts = list(selected(rule.after, steps, aliases))
    if not starts:
        return failed(evaluation, f"expected {named(rule.after)} to begin from, observed none")
    evidence: list[int] = []
    for start in starts if rule.every else starts[:1]:
        evidence.append(steps[start].step.seq)
        hit = _hit(rule, steps, context, start)
        if hit is None:
            wanted = f"{named(rule.match)} within {rule.max_steps} steps after step {steps[start].step.seq}"
            return failed(evaluation, f"expected {wanted}, observed none", *evidence)
        evidence.append(steps[hit].step.seq)
    return passed(evaluation, f"{named(rule.match)} within {rule.max_steps} steps", *evidence)


def _hit(rule: Within, steps: Steps[Seen], context: Context, start: int) -> int | None:
    """Find the match in the window; system steps lie in it without being counted (A13)."""
    counted = 0
    for position in range(start + 1, len(steps)):
        if counted == rule.max_steps:
            return None
        if selects(rule.match, steps[position], context.session.aliases):
            return position
        counted += steps[position].actor != "system"
    return None


def _found(selector: Selector, context: Context) -> list[int]:
    found = selected(selector, context.steps, context.session.aliases)
    return [context.steps[position].step.seq for position in found]


def _listed(numbers: Steps[int]) -> str:
    return ", ".join(str(number) for number in numbers[:10]) + (", …" if len(numbers) > 10 else "")
