"""Evaluators of the whole annotated trace: what happened, how often, in which order (C2 to C4)."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence as Steps

from abs_replay.evaluators.context import Context, failed, passed
from abs_replay.spec.rules import Count, Eventually, Never, Selector, Sequence, Within
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Verdict


def sequence(evaluation: Evaluation, context: Context) -> Verdict:
    """Find distinct steps in increasing position; the earliest is always as good as any (C2)."""
    rule = evaluation.rule
    assert isinstance(rule, Sequence)
    steps = context.steps
    found: list[int] = []
    start = 0
    for selector in rule.order:
        positions = context.selected(selector)
        first = bisect_left(positions, start)
        if first == len(positions):
            where = f"after step {found[-1]}" if found else "in the trace"
            return failed(evaluation, f"expected {selector.words} {where}, observed none", *found)
        found.append(steps[positions[first]].step.seq)
        start = positions[first] + 1
    return passed(evaluation, f"found in order at steps {_listed(found)}", *found)


def eventually(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    assert isinstance(rule, Eventually)
    found = _found(rule.match, context)
    if found:
        return passed(evaluation, f"{rule.match.words} at step {found[0]}", *found)
    return failed(evaluation, f"expected {rule.match.words} somewhere, observed none")


def never(evaluation: Evaluation, context: Context) -> Verdict:
    rule = evaluation.rule
    assert isinstance(rule, Never)
    found = _found(rule.match, context)
    if not found:
        return passed(evaluation, f"{rule.match.words} nowhere")
    return failed(
        evaluation, f"expected {rule.match.words} nowhere, observed at step {_listed(found)}", *found
    )


def count(evaluation: Evaluation, context: Context) -> Verdict:
    """Compare how many steps are selected with bounds that count themselves in (C3)."""
    rule = evaluation.rule
    assert isinstance(rule, Count)
    found = _found(rule.match, context)
    number = len(found)
    low, high = rule.min, rule.max
    fits = (low is None or number >= low) and (high is None or number <= high)
    times = "time" if (low if high is None else high) == 1 else "times"
    reason = f"expected {rule.match.words} {_bounds(low, high)} {times}, observed {number}"
    return passed(evaluation, reason, *found) if fits else failed(evaluation, reason, *found)


def _bounds(low: int | None, high: int | None) -> str:
    if high is None:
        return f"at least {low}"
    return f"at most {high}" if low is None else f"at least {low} and at most {high}"


def within(evaluation: Evaluation, context: Context) -> Verdict:
    """Look for `match` among the steps that follow the first, or every, step that `after` picks (C4)."""
    rule = evaluation.rule
    assert isinstance(rule, Within)
    steps, starts = context.steps, context.selected(rule.after)
    if not starts:
        return failed(evaluation, f"expected {rule.after.words} to begin from, observed none")
    hits = context.selected(rule.match)
    evidence: list[int] = []
    for start in starts if rule.every else starts[:1]:
        evidence.append(steps[start].step.seq)
        hit = _hit(hits, start, rule.max_steps, context)
        if hit is None:
            wanted = f"{rule.match.words} within {rule.max_steps} steps after step {steps[start].step.seq}"
            return failed(evaluation, f"expected {wanted}, observed none", *evidence)
        evidence.append(steps[hit].step.seq)
    return passed(evaluation, f"{rule.match.words} within {rule.max_steps} steps", *evidence)


_SYSTEM = Selector(actor="system")


def _hit(hits: Steps[int], start: int, max_steps: int, context: Context) -> int | None:
    """Find the first hit behind `start`, fewer than `max_steps` steps between, systems' aside (A13)."""
    first = bisect_right(hits, start)
    if first == len(hits):
        return None
    between = hits[first] - start - 1
    if between >= max_steps:
        uncounted = context.selected(_SYSTEM)
        between -= bisect_left(uncounted, hits[first]) - bisect_right(uncounted, start)
    return hits[first] if between < max_steps else None


def _found(selector: Selector, context: Context) -> list[int]:
    steps = context.steps
    return [steps[position].step.seq for position in context.selected(selector)]


def _listed(numbers: list[int]) -> str:
    return f"{numbers}"[1:-1] if len(numbers) <= 10 else f"{numbers[:10]}"[1:-1] + ", …"
