"""`expected` and `when` (SEMANTICS C6)."""

from collections.abc import Callable, Mapping
from typing import Any

from abs_replay.scoring import evaluate
from abs_replay.spec.rules import Expected
from abs_replay.spec.session import Behavior, Evaluation, Session
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import Run

type Graded = Callable[..., Run]

TEXT = """
behaviors:
  - { id: hi, actor: user, action: says }
  - { id: ask, actor: assistant, action: asks, optional: true, matches_when: { type: contains, value: "?" } }
  - { id: bye, actor: user, action: says }
evaluations:
"""
USER = {"actor": "user", "action": "says"}


def words(content: str) -> Mapping[str, Any]:
    return {"actor": "assistant", "action": "responds", "content": content}


def test_a_matched_or_sent_behavior_is_observed(graded: Graded) -> None:
    rules = "  - { type: expected, behavior: hi }\n  - { type: expected, behavior: ask }\n"
    run = graded(TEXT + rules, USER, words("Yes?"), USER)
    assert [verdict.status for verdict in run.verdicts] == ["passed", "passed"]
    assert [verdict.evidence for verdict in run.verdicts] == [(1,), (2,)]
    assert run.verdicts[1].reason == "`ask` at step 2"


def test_an_unmatched_one_is_told_with_the_step_that_came_closest(graded: Graded) -> None:
    text = TEXT.replace("optional: true, ", "") + "  - { type: expected, behavior: ask }\n"
    run = graded(text, USER, words("Yes."))
    near = 'step 2 came closest: "Yes." does not meet contains "?"'
    assert run.verdicts[0].reason == f"expected `ask`, observed none (unmatched); {near}"
    assert (run.verdicts[0].score, run.verdicts[0].evidence) == (0.0, ())


def test_after_knows_the_aliases_of_the_configuration() -> None:
    call = Behavior("behaviors[0]", "assistant", "calls", id="pay")
    rule = Expected.model_validate({"type": "expected", "behavior": "pay", "after": {"target": "Orders"}})
    session = Session("s", (call,), (Evaluation("e", rule),), aliases={"Orders": ("get_order",)})
    steps = (Step(1, "tool", "responds", target="get_order"), Step(2, "assistant", "calls", target="Pay"))
    (verdict,) = evaluate(Trace("t", steps), session, {}).chain_evaluations
    assert (verdict.status, verdict.evidence) == ("passed", (1, 2))
    assert verdict.reason == "`pay` at step 2, after step 1"


def test_after_sees_a_system_step_only_where_it_names_the_actor(graded: Graded) -> None:
    rules = """
  - { type: expected, behavior: bye, after: { target: state.x } }
  - { type: expected, behavior: bye, after: { actor: system, target: state.x } }
"""
    update = {"actor": "system", "action": "updates", "target": "state.x"}
    run = graded(TEXT + rules, USER, update, USER)
    assert [(verdict.status, verdict.evidence) for verdict in run.verdicts] == [
        ("failed", (3,)),
        ("passed", (2, 3)),
    ]


def test_a_skipped_or_missing_one_is_not(graded: Graded) -> None:
    rules = (
        "  - { type: expected, behavior: ask, reason: Ask first. }\n  - { type: expected, behavior: bye }\n"
    )
    run = graded(TEXT + rules, USER, words("Yes."))
    assert [verdict.status for verdict in run.verdicts] == ["failed", "failed"]
    assert run.verdicts[0].reason == "Ask first. (expected `ask`, observed none (skipped))"


def test_after_wants_an_earlier_step(graded: Graded) -> None:
    rules = """
  - { type: expected, behavior: ask, after: { actor: user } }
  - { type: expected, behavior: ask, after: { actor: assistant } }
  - { type: expected, behavior: bye, after: { actor: assistant, action: asks } }
"""
    run = graded(TEXT + rules, USER, words("Yes?"), USER)
    assert [verdict.status for verdict in run.verdicts] == ["passed", "failed", "passed"]
    assert [verdict.evidence for verdict in run.verdicts] == [(1, 2), (2,), (2, 3)]
    assert run.verdicts[1].reason == (
        "expected `ask` after assistant does anything, observed it at step 2 with none before"
    )


def test_it_is_an_error_where_it_could_not_be_decided_what_the_behavior_matched(graded: Graded) -> None:
    text = TEXT.replace('{ type: contains, value: "?" }', "{ type: llm_judge, criteria: A question }")
    rules = "  - { type: expected, behavior: ask }\n  - { type: expected, behavior: hi }\n"
    run = graded(text + rules, USER, words("Yes?"), USER)
    assert [verdict.status for verdict in run.verdicts] == ["error", "passed"]
    assert run.verdicts[0].reason == "no judge configured"


def test_when_is_looked_at_before_anything_else(graded: Graded) -> None:
    text = """
behaviors:
  - actor: assistant
    action: informs
    evaluations:
      - { type: contains, value: a, when: "1 > 2" }
      - { type: contains, value: a, when: "1 > 'a'" }
      - type: all_of
        evaluations: [{ type: contains, value: a, when: "1 > 2" }, { type: contains, value: a }]
"""
    run = graded(text)
    assert [verdict.status for verdict in run.verdicts] == ["skipped", "error", "failed"]
    assert [child.status for child in run.verdicts[2].children] == ["skipped", "failed"]
