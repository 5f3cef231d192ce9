"""Judged rules: what is asked, what an answer comes to (SEMANTICS E6, R6)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from abs_replay.exact_json import Json
from abs_replay.judgement import Answer, Question, Usage
from abs_replay.predicates import patterns
from abs_replay.scoring import settle
from abs_replay.verdicts import Judged, Run

type Graded = Callable[..., Run]

TEXT = """
behaviors:
  - {{ id: q, actor: user, action: says }}
  - {{ id: lookup, actor: assistant, action: calls, target: KB }}
  - id: answer
    actor: assistant
    action: informs
    evaluations: [{{ {rule} }}]
  - id: later
    actor: assistant
    action: informs
    optional: true
    matches_when: {{ type: contains, value: zzz }}
evaluations: [{chain}]
"""
STEPS: tuple[Mapping[str, Any], ...] = (
    {"actor": "user", "action": "says", "content": "How many days?"},
    {"actor": "assistant", "action": "calls", "target": "KB", "arguments": {"q": "leave"}, "call_id": "c"},
    {"actor": "tool", "action": "responds", "target": "KB", "content": ["25 days"], "call_id": "c"},
    {"actor": "system", "action": "updates", "target": "state.x", "content": 1},
    {"actor": "assistant", "action": "responds", "content": "You have 25 days."},
    {"actor": "assistant", "action": "responds", "content": "Bye."},
)
SLOW: Mapping[str, Any] = {"actor": "assistant", "action": "responds", "content": "a" * 60 + "b"}
JUDGE = "type: llm_judge, criteria: Friendly"


def ask(graded: Graded, rule: str = JUDGE, chain: str = "", **more: Any) -> Run:
    return graded(TEXT.format(rule=rule, chain=chain), *STEPS, **more)


def question(graded: Graded, rule: str = JUDGE) -> Question:
    (question,) = ask(graded, rule).questions
    return question


def answered(graded: Graded, answer: Answer, rule: str = JUDGE) -> Any:
    return ask(graded, rule, answers={question(graded, rule).digest: answer}).verdicts[0]


class TestQuestions:
    def test_without_an_answer_the_verdict_is_pending_and_a_question_open(self, graded: Graded) -> None:
        run = ask(graded)
        assert run.verdicts[0].status == "pending"
        assert [(one.at, one.criteria) for one in run.questions] == [
            ("behaviors[2].evaluations[0]", "Friendly")
        ]

    def test_evidence_is_what_was_seen_up_to_the_judged_step(self, graded: Graded) -> None:
        evidence: Any = question(graded).evidence
        assert evidence["step"] == 5
        assert [step["seq"] for step in evidence["steps"]] == [1, 2, 3, 5]
        call = {
            "seq": 2,
            "actor": "assistant",
            "action": "calls",
            "target": "KB",
            "arguments": {"q": "leave"},
        }
        assert evidence["steps"][1] == call
        assert evidence["steps"][3]["action"] == "informs"

    def test_a_question_holds_what_was_seen_and_its_name_stays(self, graded: Graded) -> None:
        more = "prompt: Be strict, adapter: azure, response: self"
        found = question(graded, f"{JUDGE}, threshold: 0.9, {more}")
        steps: Json = [
            {"seq": 1, "actor": "user", "action": "says", "content": "How many days?"},
            {"seq": 2, "actor": "assistant", "action": "calls", "target": "KB", "arguments": {"q": "leave"}},
            {"seq": 3, "actor": "tool", "action": "responds", "target": "KB", "content": ["25 days"]},
            {"seq": 5, "actor": "assistant", "action": "informs", "content": "You have 25 days."},
        ]
        evidence: Json = {"steps": steps, "step": 5, "response": "You have 25 days."}
        # Answers are kept under this digest: another one would have to be paid for again.
        digest = "19557667de7c8b9b2da1c909021affd0cdfcf01b4f212b74fd7a90ca7d994ef4"
        at = "behaviors[2].evaluations[0]"
        assert found == Question(digest, at, "llm_judge", "Friendly", evidence, "azure", "Be strict")
        assert (
            question(graded, "type: custom, id: my.tone, level: 2").digest
            == "5c8f3c2bff7c01e47b2eeff4f5793a482b3ad2ba8540b0990895f39203943fc2"
        )

    def test_what_waits_says_for_what_and_looks_at_what_will_be_judged(self, graded: Graded) -> None:
        verdict = ask(graded, f"{JUDGE}, threshold: 0.9").verdicts[0]
        assert (verdict.score, verdict.threshold, verdict.evidence) == (None, 0.9, (1, 2, 3, 5))
        assert verdict.reason == "waits for a judge"
        assert ask(graded).verdicts[0].threshold == 0.5

    def test_a_session_evaluation_looks_at_the_whole_conversation(self, graded: Graded) -> None:
        run = ask(graded, "type: contains, value: days", f"{{ {JUDGE} }}")
        (one,) = run.questions
        evidence: Any = one.evidence
        assert evidence["step"] is None
        assert [step["seq"] for step in evidence["steps"]] == [1, 2, 3, 5, 6]

    @pytest.mark.parametrize("more", ["threshold: 0.9", "blocking: true", "when: 'true'", "reason: Why not"])
    def test_what_an_answer_does_not_depend_on_asks_nothing_new(self, graded: Graded, more: str) -> None:
        assert question(graded, f"{JUDGE}, {more}").digest == question(graded).digest

    @pytest.mark.parametrize("more", ["prompt: Be strict", "adapter: azure", "context: lookup", "dataset: d"])
    def test_what_an_answer_depends_on_asks_anew(self, graded: Graded, more: str) -> None:
        assert question(graded, f"{JUDGE}, {more}").digest != question(graded).digest

    def test_the_keys_of_a_custom_rule_are_evidence(self, graded: Graded) -> None:
        evidence: Any = question(graded, "type: custom, id: my.tone, level: { n: 1.50 }").evidence
        assert evidence["custom"]["id"] == "my.tone"
        assert str(evidence["custom"]["level"]["n"]) == "1.50"


class TestInputs:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            ("self", "You have 25 days."),
            ("user", "How many days?"),
            ("q.says", "How many days?"),
            ("lookup", {"q": "leave"}),
            ("lookup.calls", {"q": "leave"}),
            ("lookup.responds", ["25 days"]),
            ("The policy grants 25 days.", "The policy grants 25 days."),
        ],
    )
    def test_a_reference_gives_what_was_observed(self, graded: Graded, written: str, value: Any) -> None:
        evidence: Any = question(graded, f'type: Groundedness, context: "{written}"').evidence
        assert evidence["context"] == value

    def test_a_step_that_was_not_observed_makes_the_evaluation_failed(self, graded: Graded) -> None:
        run = ask(graded, "type: Relevance, query: later.informs")
        assert run.questions == ()
        assert run.verdicts[0].status == "failed"
        assert "`later.informs`, which was not observed" in run.verdicts[0].reason
        assert run.verdicts[0].score == 0.0

    def test_the_users_words_are_the_last_before_the_judged_step(self, graded: Graded) -> None:
        rule = "evaluations: [{ type: Relevance, query: user }]"
        told = (
            f"behaviors: [{{ actor: assistant, action: informs, {rule} }}, {{ actor: user, action: says }}]"
        )
        run = graded(told, STEPS[4], STEPS[0])
        assert (run.verdicts[0].status, run.verdicts[0].score) == ("failed", 0.0)
        assert "no user step was observed before" in run.verdicts[0].reason

    def test_self_means_nothing_where_the_whole_conversation_is_judged(self, graded: Graded) -> None:
        run = ask(graded, "type: contains, value: days", "{ type: Coherence, response: self }")
        (verdict,) = run.chain_evaluations
        assert (verdict.status, run.questions) == ("error", ())
        assert "a session evaluation has none" in verdict.reason

    def test_a_step_that_could_not_be_decided_makes_the_evaluation_an_error(
        self, graded: Graded, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(patterns, "TIME_LIMIT", 0.05)
        text = TEXT.format(rule="type: Relevance, query: later", chain="")
        # A pattern that can not be searched for, and not a judge, whose answer would be waited for.
        text = text.replace("type: contains, value: zzz", 'type: regex, pattern: "{{pattern}}"')
        (verdict,) = graded(text.replace("{{pattern}}", "(a|aa)+$"), *STEPS[:-1], SLOW).verdicts
        assert (verdict.status, verdict.score) == ("error", None)
        assert "took longer" in verdict.reason

    @pytest.mark.parametrize(
        ("target", "call_id", "answer_to", "content"),
        [
            ("KB", None, None, ["25 days"]),  # without ids: the next response of the same tool
            ("KB", "c", "c", ["25 days"]),
            ("Other", "c", "c", ["25 days"]),  # the id says it, whatever the name
        ],
    )
    def test_a_call_is_answered_by_the_response_of_its_id_else_of_its_tool(
        self, graded: Graded, target: str, call_id: str | None, answer_to: str | None, content: Any
    ) -> None:
        other = {**STEPS[2], "target": "Mail", "content": "sent", "call_id": call_id and "x"}
        before = {**STEPS[2], "target": "KB", "content": "old", "call_id": None}
        call = {**STEPS[1], "call_id": call_id}
        response = {**STEPS[2], "target": target, "call_id": answer_to}
        text = TEXT.format(rule="type: Groundedness, context: lookup.responds", chain="")
        (question,) = graded(text, STEPS[0], before, call, other, response, *STEPS[4:]).questions
        evidence: Any = question.evidence
        assert evidence["context"] == content

    def test_a_call_may_be_the_first_step(self, graded: Graded) -> None:
        text = TEXT.format(rule="type: Groundedness, context: lookup.responds", chain="")
        text = text.replace("  - { id: q, actor: user, action: says }\n", "")
        (question,) = graded(text, *STEPS[1:]).questions
        evidence: Any = question.evidence
        assert evidence["context"] == ["25 days"]

    @pytest.mark.parametrize("written", ["lookup.responds", "q.calls"])
    def test_an_action_that_the_step_did_not_have_was_not_observed(
        self, graded: Graded, written: str
    ) -> None:
        text = TEXT.format(rule=f"type: Groundedness, context: {written}", chain="")
        other = {"actor": "tool", "action": "responds", "content": "sent"}
        (verdict,) = graded(text, STEPS[0], STEPS[1], other, *STEPS[4:]).verdicts
        assert (verdict.status, verdict.score) == ("failed", 0.0)
        assert f"refers to `{written}`, and no such step was observed" in verdict.reason


class TestAnswers:
    @pytest.mark.parametrize(
        ("score", "rule", "status"),
        [(0.5, JUDGE, "passed"), (0.49, JUDGE, "failed"), (0.7, f"{JUDGE}, threshold: 0.71", "failed")],
    )
    def test_a_score_is_compared_with_the_threshold(
        self, graded: Graded, score: float, rule: str, status: str
    ) -> None:
        verdict = answered(graded, Answer(score, "Because.", "gpt"), rule)
        assert (verdict.status, verdict.score, verdict.judge) == (status, score, "gpt")
        assert "Because." in verdict.reason

    @pytest.mark.parametrize(
        ("answer", "reason"),
        [
            (Answer(None, "", "j", "no answer"), "no answer"),
            (Answer(0.9, "Fine.", "j", "cut off"), "cut off"),
            (Answer(None, "No idea.", "j"), "No idea."),
            (Answer(7.0, "", "j"), "the judge gave the score 7, which is not between 0 and 1"),
            (Answer(1.01, "", "j"), "the judge gave the score 1.01, which is not between 0 and 1"),
            (Answer(-0.01, "", "j"), "the judge gave the score -0.01, which is not between 0 and 1"),
        ],
    )
    def test_no_score_between_none_and_one_is_an_error(
        self, graded: Graded, answer: Answer, reason: str
    ) -> None:
        verdict = answered(graded, answer)
        assert (verdict.status, verdict.score, verdict.reason) == ("error", None, reason)

    @pytest.mark.parametrize(("score", "status"), [(0.0, "failed"), (1.0, "passed")])
    def test_none_and_one_are_scores(self, graded: Graded, score: float, status: str) -> None:
        verdict = answered(graded, Answer(score, "Because.", ""))
        assert (verdict.status, verdict.score, verdict.judge) == (status, score, None)
        assert (verdict.threshold, verdict.evidence) == (0.5, (1, 2, 3, 5))
        assert verdict.reason == f"scored {score:g}, threshold 0.5: Because."

    def test_a_verdict_names_the_question_and_tells_who_answered_for_what_price(self, graded: Graded) -> None:
        usage = Usage(3, 40, 7, 0.25)
        votes = (0.75, 0.25, 0.75)
        answer = Answer(0.75, "kind", "eve", None, "f1", votes, cached=True, usage=usage, duration_ms=12.0)
        verdict = answered(graded, answer)
        digest = question(graded).digest
        assert verdict.judged == Judged(digest, "f1", votes, unstable=True, usage=usage)
        assert (verdict.judge, verdict.cached, verdict.duration_ms) == ("eve", True, 12.0)
        assert answered(graded, Answer(0.75, "kind", "")).judge is None

    def test_a_composition_waits_only_where_the_answer_matters(self, graded: Graded) -> None:
        inner = f"evaluations: [{{ {JUDGE} }}, {{ type: contains, value: days }}]"
        assert ask(graded, f"type: all_of, {inner}").verdicts[0].status == "pending"
        assert ask(graded, f"type: any_of, {inner}").verdicts[0].status == "passed"

    def test_where_there_is_no_judge_pending_becomes_an_error(self, graded: Graded) -> None:
        run = settle(ask(graded, f"type: all_of, evaluations: [{{ {JUDGE} }}]"))
        (verdict,) = run.verdicts
        assert (verdict.status, verdict.reason) == ("error", "no judge configured")
        assert verdict.children[0].status == "error"
        assert (run.questions, run.result) == ((), "error")
        inner = f"evaluations: [{{ {JUDGE} }}, {{ type: contains, value: days }}]"
        (verdict,) = settle(ask(graded, f"type: any_of, {inner}")).verdicts
        assert verdict.status == "passed"
        assert [child.status for child in verdict.children] == ["error", "passed"]


class TestJudgedCriteria:
    TEXT = """
behaviors:
  - actor: assistant
    action: asks
    matches_when: { type: llm_judge, criteria: Asks for a number }
    evaluations: [{ type: contains, value: number }]
evaluations: [{ type: llm_judge, criteria: Kind }, { type: never, match: { actor: tool } }]
"""
    STEP: Mapping[str, Any] = {"actor": "assistant", "action": "responds", "content": "Your number?"}

    def test_nothing_else_is_asked_until_it_is_known_which_steps_match(self, graded: Graded) -> None:
        run = graded(self.TEXT, self.STEP)
        assert [one.at for one in run.questions] == ["behaviors[0].matches_when"]
        assert [verdict.status for verdict in run.verdicts] == ["pending", "pending", "passed"]
        assert run.verdicts[1].reason == "waits until it is known which steps match"
        answers = {run.questions[0].digest: Answer(1.0, "", "j")}
        again = graded(self.TEXT, self.STEP, answers=answers)
        assert [one.criteria for one in again.questions] == ["Kind"]
        assert [verdict.status for verdict in again.verdicts] == ["passed", "pending", "passed"]

    def test_without_a_judge_the_check_and_its_evaluations_are_errors(self, graded: Graded) -> None:
        run = settle(graded(self.TEXT, self.STEP))
        assert run.steps[0].status == "error"
        assert [verdict.status for verdict in run.verdicts] == ["error", "error", "passed"]
        assert run.result == "error"


class TestNothingSaid:
    """Empty and failed turns are never sent, and are failures of whoever should have spoken (R1, A10, E6)."""

    @pytest.mark.parametrize(
        ("said", "why"),
        [
            ({"content": None}, "step 5 is empty"),
            ({"content": " \n\t"}, "step 5 is empty"),
            ({"content": []}, "step 5 is empty"),
            ({"content": None, "error": "status 500"}, "step 5 failed: status 500"),
            ({"content": "You have", "error": "the stream broke off"}, "step 5 failed: the stream broke off"),
        ],
    )
    @pytest.mark.parametrize("rule", [JUDGE, "type: Violence", "type: custom, id: my.tone"])
    def test_about_a_turn_without_words_nothing_is_asked_and_it_fails(
        self, graded: Graded, said: Mapping[str, Any], why: str, rule: str
    ) -> None:
        run = graded(TEXT.format(rule=rule, chain=""), *STEPS[:4], {**STEPS[4], **said})
        (verdict,) = run.verdicts
        assert (run.questions, verdict.status, verdict.score) == ((), "failed", 0.0)
        assert verdict.reason == f"there is nothing to judge: {why}"
        assert verdict.evidence == (1, 2, 3, 5)

    @pytest.mark.parametrize("content", [None, "", {}])
    def test_a_response_without_words_fails_and_one_with_words_is_asked_about(
        self, graded: Graded, content: Any
    ) -> None:
        text = TEXT.format(rule="type: Groundedness, response: lookup.responds", chain="")
        assert len(graded(text, *STEPS).questions) == 1
        run = graded(text, *STEPS[:2], {**STEPS[2], "content": content}, *STEPS[3:])
        assert (run.questions, run.verdicts[0].status) == ((), "failed")
        assert "is empty" in run.verdicts[0].reason

    @pytest.mark.parametrize(
        ("response", "why"),
        [
            ("answer", "step 5 failed: the stream broke off"),
            ("self", "step 5 failed: the stream broke off"),
            ("' '", "the response is empty"),
        ],
    )
    def test_a_response_that_broke_off_or_is_blank_fails(
        self, graded: Graded, response: str, why: str
    ) -> None:
        text = TEXT.format(rule=f"type: Coherence, response: {response}", chain="")
        run = graded(text, *STEPS[:4], {**STEPS[4], "content": "You have", "error": "the stream broke off"})
        assert (run.questions, run.verdicts[0].status) == ((), "failed")
        assert run.verdicts[0].reason == f"there is nothing to judge: {why}"

    def test_a_response_by_the_author_counts_whatever_the_step_says(self, graded: Graded) -> None:
        text = TEXT.format(rule="type: Coherence, response: All is well.", chain="")
        assert len(graded(text, *STEPS[:4], {**STEPS[4], "content": ""}).questions) == 1

    def test_an_empty_context_is_a_finding_not_a_lack(self, graded: Graded) -> None:
        text = TEXT.format(rule="type: Groundedness, context: lookup.responds", chain="")
        empty = {**STEPS[2], "content": []}
        assert len(graded(text, *STEPS[:2], empty, *STEPS[3:]).questions) == 1

    def test_a_tools_error_is_what_the_tool_says(self, graded: Graded) -> None:
        text = """
behaviors:
  - { actor: tool, action: responds, target: KB, evaluations: [{ type: llm_judge, criteria: Says why }] }
"""
        failed = {**STEPS[2], "content": "no such key", "error": "the tool failed"}
        assert len(graded(text, failed).questions) == 1
        assert graded(text, {**failed, "content": None}).verdicts[0].status == "failed"

    def test_a_call_is_judged_by_what_it_does(self, graded: Graded) -> None:
        rule = "evaluations: [{ type: llm_judge, criteria: The right tool }]"
        text = f"behaviors: [{{ actor: assistant, action: calls, target: KB, {rule} }}]"
        assert len(graded(text, {"actor": "assistant", "action": "calls", "target": "KB"}).questions) == 1

    @pytest.mark.parametrize(
        ("steps", "why"),
        [
            (STEPS[:1], ""),
            ((STEPS[0], {**STEPS[4], "content": ""}), "; step 2 is empty"),
            ((STEPS[0], {**STEPS[4], "content": ""}, {**STEPS[4], "error": "x"}), "; step 3 failed: x"),
        ],
    )
    def test_a_conversation_in_which_only_the_user_speaks_fails(
        self, graded: Graded, steps: Any, why: str
    ) -> None:
        text = f"behaviors: [{{ actor: user, action: says }}]\nevaluations: [{{ {JUDGE} }}]"
        run = graded(text, *steps)
        assert (run.questions, run.chain_evaluations[0].status) == ((), "failed")
        nothing = "there is nothing to judge: nobody but the user says or does anything"
        assert run.chain_evaluations[0].reason == f"{nothing}{why}"
        assert len(graded(text, STEPS[0], STEPS[4], {**STEPS[4], "content": ""}).questions) == 1

    @pytest.mark.parametrize("said", [{"content": ""}, {"error": "status 500"}])
    def test_a_step_without_words_meets_no_criteria_of_a_matches_when(
        self, graded: Graded, said: Mapping[str, Any]
    ) -> None:
        run = graded(TestJudgedCriteria.TEXT, {**TestJudgedCriteria.STEP, **said})
        assert run.questions == ()
        assert run.steps[0].status == "unmatched"


@pytest.mark.parametrize(
    ("scores", "unstable"),
    [((0.2, 0.9, 0.9), True), ((0.6, 0.5, 0.9), False), ((0.1, 0.4), False), ((0.9,), False), ((), False)],
)
def test_votes_on_both_sides_of_the_threshold_are_unstable(
    graded: Graded, scores: tuple[float, ...], unstable: bool
) -> None:
    verdict = answered(graded, Answer(0.9, "", "j", scores=scores), f"{JUDGE}, threshold: 0.5")
    assert (verdict.judged.scores, verdict.judged.unstable) == (scores, unstable)
