"""What a verdict holds, and what is decided before any evaluator looks (SEMANTICS A10, C6, R4, R6)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from abs_replay.evaluators.context import failed, passed, verdict
from abs_replay.spec.rules import Contains
from abs_replay.spec.session import Evaluation
from abs_replay.verdicts import Run, Status, Verdict

type Graded = Callable[..., Run]

RULE = Contains(type="contains", value="x", blocking=True)
EVALUATION = Evaluation("behaviors[0].evaluations[1]", RULE, fingerprint="f")
WITH_REASON = Evaluation("e", Contains(type="contains", value="x", reason="Say x."))


class TestVerdicts:
    def test_a_pass_scores_one_and_a_failure_none(self) -> None:
        known: Mapping[str, Any] = {
            "at": "behaviors[0].evaluations[1]",
            "type": "contains",
            "blocking": True,
            "fingerprint": "f",
            "evidence": (3, 5),
        }
        assert passed(EVALUATION, "Why.", 3, 5) == Verdict(
            status=Status.PASSED, reason="Why.", score=1.0, **known
        )
        assert failed(EVALUATION, "Why.", 3, 5) == Verdict(
            status=Status.FAILED, reason="Why.", score=0.0, **known
        )

    def test_any_other_verdict_says_what_it_is_given(self) -> None:
        child = passed(EVALUATION, "Why.")
        found = verdict(
            EVALUATION,
            Status.ERROR,
            "Why.",
            evidence=(1,),
            score=0.3,
            threshold=0.4,
            children=(child,),
            judge="j",
        )
        assert found == Verdict(
            "behaviors[0].evaluations[1]",
            "contains",
            Status.ERROR,
            "Why.",
            0.3,
            0.4,
            True,
            (1,),
            (child,),
            "j",
            fingerprint="f",
        )

    def test_the_authors_reason_stands_before_the_cause_of_a_failure_alone(self) -> None:
        assert failed(WITH_REASON, "Why.").reason == "Say x. (Why.)"
        assert verdict(WITH_REASON, Status.FAILED, "Why.").reason == "Say x. (Why.)"
        assert passed(WITH_REASON, "Why.").reason == "Why."
        assert verdict(WITH_REASON, Status.ERROR, "Why.").reason == "Why."


TWO_TURNS = """
behaviors:
  - { actor: user, action: says }
  - { actor: assistant, action: calls, target: Pay, evaluations: [{ type: contains, value: x }] }
  - actor: assistant
    action: informs
    optional: true
    matches_when: { type: contains, value: zzz }
    evaluations: [{ type: contains, value: x }]
  - actor: user
    action: says
    evaluations: [{ type: none_of, evaluations: [{ type: contains, value: x }] }]
"""
USER: Mapping[str, Any] = {"actor": "user", "action": "says"}
WORDS: Mapping[str, Any] = {"actor": "assistant", "action": "responds", "content": "x"}


class TestWithoutAStep:
    def test_what_has_no_step_fails_or_is_skipped_and_says_why(self, graded: Graded) -> None:
        found = [
            (one.status, one.score, one.evidence, one.reason)
            for one in graded(TWO_TURNS, USER, WORDS).verdicts
        ]
        closest = "step 2 came closest: assistant responds, expected assistant calls"
        assert found == [
            ("failed", 0.0, (), f"no step matched the behavior; {closest}"),
            ("skipped", None, (), "the behavior was skipped"),
            ("failed", 0.0, (), "the trace has no such user turn"),
        ]

    def test_a_composition_is_decided_whole_with_its_parts(self, graded: Graded) -> None:
        whole = graded(TWO_TURNS, USER, WORDS).verdicts[2]
        assert [(part.at, part.status, part.score) for part in whole.children] == [
            ("behaviors[3].evaluations[0].evaluations[0]", "failed", 0.0)
        ]

    def test_what_could_not_be_decided_is_an_error_with_its_cause(self, graded: Graded) -> None:
        text = TWO_TURNS.replace("type: contains, value: zzz", 'type: contains, value: "{{empty}}"')
        verdict = graded(text, USER, WORDS, row={"empty": ""}).verdicts[1]
        assert (verdict.status, verdict.score) == ("error", None)
        assert verdict.reason == "matches_when: what contains looks for is empty"

    def test_what_waits_for_a_judge_is_pending(self, graded: Graded) -> None:
        text = TWO_TURNS.replace("type: contains, value: zzz", "type: llm_judge, criteria: Kind")
        run = graded(text, USER, WORDS)
        assert (run.verdicts[1].status, run.verdicts[1].score) == ("pending", None)


@pytest.mark.parametrize(
    ("when", "status", "reason"),
    [
        ("1 > 2", "skipped", "`1 > 2` is false"),
        ("1 > 'a'", "error", "`when` can not be decided: "),
    ],
)
def test_a_when_that_is_not_true_decides_alone(graded: Graded, when: str, status: str, reason: str) -> None:
    rule = f'{{ type: contains, value: x, when: "{when}" }}'
    (verdict,) = graded(
        f"behaviors: [{{ actor: assistant, action: says, evaluations: [{rule}] }}]", WORDS
    ).verdicts
    assert (verdict.status, verdict.score, verdict.evidence) == (status, None, ())
    assert verdict.reason.startswith(reason)
