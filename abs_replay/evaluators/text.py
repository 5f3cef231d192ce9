"""Evaluators of what a step holds, as it is written: `exact_match`, `contains`, `regex` (E1 to E3)."""

from abs_replay.evaluators.context import Context, failed, observed_in, passed
from abs_replay.exact_json import equal
from abs_replay.predicates import as_text, shown, structured
from abs_replay.predicates import contains as holds_part
from abs_replay.predicates.patterns import search
from abs_replay.spec.rules import Contains, ExactMatch, Regex
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Verdict


def exact_match(evaluation: Evaluation, context: Context) -> Verdict:
    """Compare as text where `value` is text, as JSON otherwise (E1)."""
    rule, step = evaluation.rule, context.step
    assert isinstance(rule, ExactMatch)
    content = observed_in(step)
    if equal(content if isinstance(rule.value, str) else structured(content), rule.value):
        return passed(evaluation, f"equals {shown(rule.value)}", step.seq)
    return failed(evaluation, f"expected {shown(rule.value)}, observed {shown(content)}", step.seq)


def contains(evaluation: Evaluation, context: Context) -> Verdict:
    rule, step = evaluation.rule, context.step
    assert isinstance(rule, Contains)
    text = as_text(observed_in(step))
    if holds_part(text, rule.value, case_sensitive=rule.case_sensitive):
        return passed(evaluation, f"contains {shown(rule.value)}", step.seq)
    case = " in this case" if rule.case_sensitive else ""
    return failed(
        evaluation, f"expected to contain {shown(rule.value)}{case}, observed {shown(text)}", step.seq
    )


def regex(evaluation: Evaluation, context: Context) -> Verdict:
    """Search for at most a second (E3); all of a run's slow patterns together see `predicates.patience`."""
    rule, step = evaluation.rule, context.step
    assert isinstance(rule, Regex)
    text = as_text(observed_in(step))
    if search(rule.pattern, text):
        return passed(evaluation, f"matches {shown(rule.pattern)}", step.seq)
    return failed(evaluation, f"expected to match {shown(rule.pattern)}, observed {shown(text)}", step.seq)
