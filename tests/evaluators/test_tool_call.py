"""`tool_call` (SEMANTICS E5)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from abs_replay.scoring import settle
from abs_replay.verdicts import Run

type Graded = Callable[..., Run]


def call(target: str, group: str | None = None, **arguments: Any) -> Mapping[str, Any]:
    return {
        "actor": "assistant",
        "action": "calls",
        "target": target,
        "arguments": arguments,
        "parallel_group": group,
    }


def one(graded: Graded, text: str, *steps: Mapping[str, Any]) -> tuple[str, str]:
    run = graded(text, *steps)
    verdict = run.verdicts[-1]
    return verdict.status.value, verdict.reason


LIMITS_THEN_PAY = """
behaviors:
  - {{ actor: assistant, action: calls, target: Limits }}
  - {{ actor: tool, action: responds, target: Limits, optional: true }}
  - {between}
  - actor: assistant
    action: submits
    target: Pay
    with: {{ amount: 9 }}
    evaluations: [{{ type: tool_call{more} }}]
"""
RESPONSE = "{ actor: tool, action: responds, target: Limits, optional: true }"
TALK = "{ actor: assistant, action: says, optional: true }"


def test_parameters_default_to_the_behaviors_own(graded: Graded) -> None:
    text = LIMITS_THEN_PAY.format(between=RESPONSE, more="")
    assert one(graded, text, call("Limits"), call("Pay", amount=9, currency="EUR"))[0] == "passed"


def test_its_own_parameters_are_checked_on_the_matched_call(graded: Graded) -> None:
    text = LIMITS_THEN_PAY.format(between=RESPONSE, more=", with_only: { amount: 9 }")
    status, reason = one(graded, text, call("Limits"), call("Pay", amount=9, currency="EUR"))
    assert (status, reason) == ("failed", "currency: expected no such key")


@pytest.mark.parametrize("ordered", ["", ", ordered: false"])
def test_a_missing_call_of_its_group_fails_it(graded: Graded, ordered: str) -> None:
    status, reason = one(
        graded, LIMITS_THEN_PAY.format(between=RESPONSE, more=ordered), call("Pay", amount=9)
    )
    assert status == "failed"
    assert "behaviors[0]" in reason


def test_words_between_two_calls_end_a_group(graded: Graded) -> None:
    assert one(graded, LIMITS_THEN_PAY.format(between=TALK, more=""), call("Pay", amount=9))[0] == "passed"


@pytest.mark.parametrize(("group", "status"), [("g", "passed"), (None, "failed")])
def test_only_parallel_calls_may_come_in_any_order(graded: Graded, group: str | None, status: str) -> None:
    text = LIMITS_THEN_PAY.format(between=RESPONSE, more=", ordered: false")
    words = {"actor": "assistant", "action": "responds", "content": "Now the limits."}
    steps = [call("Pay", group, amount=9), *([] if group else [words]), call("Limits", group)]
    assert one(graded, text, *steps)[0] == status


def test_calls_matched_in_any_order_are_still_not_in_order(graded: Graded) -> None:
    text = LIMITS_THEN_PAY.format(between=RESPONSE, more=", ordered: false }, { type: tool_call")
    run = graded(text, call("Pay", "g", amount=9), call("Limits", "g"))
    assert [verdict.status for verdict in run.verdicts] == ["passed", "failed"]
    assert run.verdicts[0].evidence == (2, 1)
    assert run.verdicts[1].evidence == (2, 1)
    assert "[2, 1]" in run.verdicts[1].reason


def test_it_is_an_error_where_a_call_of_its_group_could_not_be_decided(graded: Graded) -> None:
    undecided = "{ actor: assistant, action: calls, matches_when: { type: llm_judge, criteria: Looks up } }"
    text = LIMITS_THEN_PAY.format(between=undecided, more="")
    words = {"actor": "assistant", "action": "responds", "content": "I look it up."}
    run = settle(graded(text, call("Limits"), words, call("Pay", amount=9)))
    assert run.steps[2].status == "error"
    assert (run.verdicts[0].status, run.verdicts[0].reason) == ("error", "no judge configured")


PAY = "behaviors: [{{ actor: assistant, action: submits, {fields} evaluations: [{{ {rule} }}] }}]"


@pytest.mark.parametrize(
    ("fields", "more", "reason"),
    [
        ("target: Pay,", "", 'called "Pay" as expected'),
        ("", "", 'called "Pay" as expected'),
        ("", ", target: Pay, with: { amount: 9 }", 'called "Pay" as expected'),
        ("", ", target: Refund", 'expected a call of "Refund", observed "Pay"'),
        ("target: Pay,", ", target: Refund", 'expected a call of "Refund", observed "Pay"'),
        ("target: Pay,", ", with: { amount: 8 }", "amount: expected 8, observed 9"),
        ("target: Pay,", ", with_only: { amount: 9 }", "to: expected no such key"),
        ("with: { amount: 9 },", "", 'called "Pay" as expected'),
        ("with: { amount: 9 },", ", with: { to: A }", 'called "Pay" as expected'),
        ("with_only: { amount: 9, to: A },", "", 'called "Pay" as expected'),
        ("with_only: { amount: 9, to: A },", ", with: { to: B }", 'to: expected "B", observed "A"'),
    ],
)
def test_a_verdict_says_what_the_call_was(graded: Graded, fields: str, more: str, reason: str) -> None:
    text = PAY.format(fields=fields, rule=f"type: tool_call{more}")
    (verdict,) = graded(text, call("Pay", amount=9, to="A")).verdicts
    passed = reason.startswith("called")
    assert (verdict.status, verdict.score) == (("passed", 1.0) if passed else ("failed", 0.0))
    assert (verdict.reason, verdict.evidence) == (reason, (1,))


def test_a_group_is_told_with_its_steps(graded: Graded) -> None:
    text = LIMITS_THEN_PAY.format(between=RESPONSE, more="")
    words = {"actor": "assistant", "action": "responds", "content": "First the limits."}
    (verdict,) = graded(text, words, call("Limits"), call("Pay", amount=9)).verdicts
    assert (verdict.status, verdict.evidence) == ("passed", (2, 3))
    (verdict,) = graded(text.replace("with: { amount: 9 }", ""), call("Pay")).verdicts
    assert (verdict.status, verdict.evidence) == ("failed", ())
    assert verdict.reason == "expected the calls up to this one, observed none for behaviors[0]"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("target: Pay,", 'expected a call of "Pay", observed null'),
        ("with: { amount: 9 },", 'the arguments: expected an object, observed "I pay."'),
        ("with_only: { amount: 9 },", 'the arguments: expected an object, observed "I pay."'),
    ],
)
def test_words_that_a_criterion_takes_for_the_call_are_none(graded: Graded, fields: str, reason: str) -> None:
    fields += " matches_when: { type: contains, value: pay },"
    words = {"actor": "assistant", "action": "responds", "content": "I pay."}
    run = graded(PAY.format(fields=fields, rule="type: tool_call"), words)
    assert run.steps[0].status == "matched"
    assert (run.verdicts[0].status, run.verdicts[0].reason) == ("failed", reason)
