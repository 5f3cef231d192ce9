"""One trace judged by one session: results, policy, isolation (SEMANTICS R1 to R6)."""

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay import scoring
from abs_replay.evaluators import EVALUATORS
from abs_replay.evaluators.context import Context
from abs_replay.exact_json import Json
from abs_replay.judgement import Answer
from abs_replay.predicates import structured
from abs_replay.scoring import Policy, evaluate, settle
from abs_replay.spec.rules import (
    AnyRule,
    Contains,
    Count,
    Eventually,
    ExactMatch,
    Expected,
    Judged,
    MatchesWhen,
    Never,
    Regex,
    Rule,
    Schema,
    Selector,
    Sequence,
    ToolCall,
    VariableConsistency,
    Within,
)
from abs_replay.spec.session import UNSET, Behavior, Evaluation, Session
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import BehaviorResult, Result, Status, StepStatus, Verdict


def session(*behaviors: Mapping[str, Any], chain: tuple[AnyRule, ...] = ()) -> Session:
    built = []
    for index, fields in enumerate(behaviors):
        at = f"behaviors[{index}]"
        rules = fields.get("rules", ())
        evaluations = tuple(Evaluation(f"{at}.evaluations[{n}]", rule) for n, rule in enumerate(rules))
        rest = {key: value for key, value in fields.items() if key != "rules"}
        built.append(Behavior(at=at, evaluations=evaluations, **rest))
    of_session = tuple(Evaluation(f"evaluations[{n}]", rule) for n, rule in enumerate(chain))
    return Session("s", tuple(built), of_session)


def trace(*steps: Mapping[str, Any]) -> Trace:
    return Trace("t", tuple(Step(seq=n, **fields) for n, fields in enumerate(steps, 1)))


USER = {"actor": "user", "action": "says", "content": "hi"}
INFORMS = {"actor": "assistant", "action": "informs"}
WORDS = {"actor": "assistant", "action": "responds", "content": "hello"}


def holds(value: str, **more: Any) -> Contains:
    return Contains(type="contains", value=value, **more)


class TestResult:
    def test_everything_passed_or_skipped_passes(self) -> None:
        optional = {**INFORMS, "optional": True, "action": "calls", "rules": [holds("x")]}
        run = evaluate(
            trace(USER, WORDS), session(USER, {**INFORMS, "rules": [holds("hello")]}, optional), {}
        )
        assert run.result is Result.PASSED
        assert [verdict.status for verdict in run.verdicts] == ["passed", "skipped"]

    def test_a_failure_outweighs_an_error(self) -> None:
        metric = Rule(type="novel")
        wanted = session({**INFORMS, "rules": [metric]})
        assert evaluate(trace(WORDS), wanted, {}).result is Result.ERROR
        wanted = session({**INFORMS, "rules": [metric, holds("zzz")]})
        assert evaluate(trace(WORDS), wanted, {}).result is Result.FAILED

    def test_a_type_without_an_evaluator_is_an_error_that_says_so(self) -> None:
        run = evaluate(trace(WORDS), session({**INFORMS, "rules": [Rule(type="novel")]}), {})
        assert (run.verdicts[0].status, run.verdicts[0].score) == (Status.ERROR, None)
        assert "`novel`" in run.verdicts[0].reason

    def test_an_unmatched_behavior_or_missing_turn_counts_unless_told_otherwise(self) -> None:
        for wanted in (session(USER, INFORMS), session(USER, USER)):
            assert evaluate(trace(USER), wanted, {}).result is Result.FAILED
            assert evaluate(trace(USER), wanted, {}, Policy(require_match=False)).result is Result.PASSED

    def test_other_words_of_the_user_count_only_if_told(self) -> None:
        observed, wanted = trace({**USER, "content": "hey"}), session(USER)
        run = evaluate(observed, wanted, {})
        assert (run.result, run.steps[0].differs) == (Result.PASSED, True)
        assert evaluate(observed, wanted, {}, Policy(strict_user=True)).result is Result.FAILED

    def test_a_match_check_that_could_not_be_decided_is_an_error_unless_it_does_not_count(self) -> None:
        judged = {**INFORMS, "matches_when": MatchesWhen(type="llm_judge", criteria="Kind")}
        run = settle(evaluate(trace(WORDS), session(judged), {}))
        assert (run.result, run.steps[0].status) == (Result.ERROR, "error")
        assert (
            evaluate(trace(WORDS), session(judged), {}, Policy(require_match=False)).result is Result.PASSED
        )

    def test_an_evaluation_that_waits_is_no_pass(self) -> None:
        judged = session({**INFORMS, "rules": [Judged(type="llm_judge", criteria="Kind")]})
        assert evaluate(trace(WORDS), judged, {}).result is Result.ERROR

    @pytest.mark.parametrize(("type_", "status"), [("any_of", "passed"), ("all_of", "error")])
    def test_without_a_judge_what_waits_is_an_error_also_within_a_composition(
        self, type_: str, status: str
    ) -> None:
        rules = (holds("hello"), Judged(type="llm_judge", criteria="Kind"))
        parts = tuple(Evaluation(f"e.evaluations[{n}]", rule) for n, rule in enumerate(rules))
        whole = Evaluation("e", Rule(type=type_), parts=parts)
        wanted = Session("s", (Behavior("b", "assistant", "informs", evaluations=(whole,)),))
        run = settle(evaluate(trace(WORDS), wanted, {}))
        (verdict,) = run.verdicts
        assert (verdict.status, [part.status for part in verdict.children]) == (status, ["passed", "error"])
        assert run.questions == ()

    def test_the_whole_conversation_is_judged_also_where_the_first_behavior_has_no_step(self) -> None:
        chain = (Eventually(type="eventually", match=Selector(actor="assistant")),)
        absent = {"actor": "assistant", "action": "calls", "optional": True}
        (verdict,) = evaluate(trace(WORDS), session(absent, chain=chain), {}).chain_evaluations
        assert verdict.status is Status.PASSED

    def test_a_failed_part_of_the_whole_conversation_fails_it(self) -> None:
        chain = (Never(type="never", match=Selector(actor="assistant")),)
        assert evaluate(trace(WORDS), session(INFORMS, chain=chain), {}).result is Result.FAILED


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("t", session(), {}), "trace must be of type Trace, as trace_file.read gives them, not str"),
        ((trace(), "s", {}), "session must be of type Session, as template.resolve.* gives it, not str"),
        (
            (trace(), session(), [Answer(1.0, "", "j")]),
            "answers must be of type Mapping, from the digest .* to its Answer, not list",
        ),
        ((trace(), session(), {"d": 1.0}), "each of the answers must be of type Answer, .*, not float"),
        ((trace(), session(), {}, {"require_match": False}), "policy must be of type Policy, .*, not dict"),
    ],
)
def test_what_a_caller_gave_by_mistake_is_told_in_a_line(given: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        evaluate(*given)


class TestRun:
    def test_it_says_whose_it_is_and_what_became_of_each_behavior(self) -> None:
        wanted = replace(
            session(
                {**USER, "id": "hello"},
                {"actor": "assistant", "action": "calls", "target": "Pay", "rules": [holds("x")]},
            ),
            file="s.abs.yaml",
        )
        observed = Trace("t-1", trace({**USER, "content": "hey"}, WORDS).steps, bindings={"n": 1})
        run = evaluate(observed, wanted, {}, Policy(require_match=False, strict_user=True))
        assert (run.session, run.file, run.trace, run.bindings) == ("s", "s.abs.yaml", "t-1", {"n": 1})
        assert (run.extra, run.questions, run.require_match, run.strict_user) == ((2,), (), False, True)
        near = "step 2 came closest: assistant responds, expected assistant calls"
        assert [replace(step, evaluations=()) for step in run.steps] == [
            BehaviorResult(
                "behaviors[0]", "user", "says", StepStatus.SENT, "hello", content="hi", step=1, differs=True
            ),
            BehaviorResult(
                "behaviors[1]", "assistant", "calls", StepStatus.UNMATCHED, target="Pay", near=near
            ),
        ]
        assert [verdict.at for verdict in run.steps[1].evaluations] == ["behaviors[1].evaluations[0]"]

    def test_questions_about_matching_stand_before_those_about_what_matched_each_once(self) -> None:
        kind = Judged(type="llm_judge", criteria="Kind")
        optional = {**INFORMS, "optional": True, "matches_when": MatchesWhen(type="llm_judge", criteria="x")}
        run = evaluate(trace(WORDS), session({**INFORMS, "rules": [kind, kind]}), {})
        assert [question.criteria for question in run.questions] == ["Kind"]
        run = evaluate(trace(WORDS), session({**INFORMS, "rules": [kind]}, optional), {})
        assert [question.at for question in run.questions] == ["behaviors[1].matches_when"]

    def test_settling_leaves_what_is_decided_and_ends_what_waits(self) -> None:
        kind = Judged(type="llm_judge", criteria="Kind")
        chain = (kind, Never(type="never", match=Selector(actor="tool")))
        open_ = evaluate(trace(WORDS), session({**INFORMS, "rules": [kind, holds("hello")]}, chain=chain), {})
        run = settle(open_)
        assert [(one.status, one.reason) for one in run.verdicts] == [
            ("error", "no judge configured"),
            ("passed", 'contains "hello"'),
            ("error", "no judge configured"),
            ("passed", "tool does anything nowhere"),
        ]
        assert run.questions == ()
        assert [one.at for one in run.verdicts] == [one.at for one in open_.verdicts]


class TestIsolation:
    def test_an_evaluator_that_raises_is_an_error_and_the_rest_is_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(evaluation: Evaluation, context: Context) -> Verdict:
            raise RuntimeError("out of luck")

        monkeypatch.setattr(scoring, "EVALUATORS", {**EVALUATORS, "contains": broken})
        exact = ExactMatch(type="exact_match", value="hello")
        run = evaluate(trace(WORDS), session({**INFORMS, "rules": [holds("x"), exact]}), {})
        assert [verdict.status for verdict in run.verdicts] == ["error", "passed"]
        assert "RuntimeError: out of luck" in run.verdicts[0].reason

    def test_what_is_nested_too_deep_to_be_judged_is_an_error_and_the_rest_is_run(self) -> None:
        deep: Json = []
        for _ in range(100_000):
            deep = [deep]
        wanted = session({**INFORMS, "rules": [holds("x")]}, {**INFORMS, "rules": [holds("hello")]})
        run = evaluate(trace({**WORDS, "content": deep}, WORDS), wanted, {})
        assert [(verdict.status, verdict.score) for verdict in run.verdicts] == [
            ("error", None),
            ("passed", 1.0),
        ]
        assert run.verdicts[0].reason == "what was observed is nested too deep to be judged"
        assert run.verdicts[0].at == "behaviors[0].evaluations[0]"

    def test_an_invalid_rule_is_an_error_at_its_place(self) -> None:
        invalid = Evaluation("behaviors[0].evaluations[0]", holds("x"), invalid="value: must not be empty")
        wanted = Session("s", (Behavior("behaviors[0]", "assistant", "informs", evaluations=(invalid,)),))
        (verdict,) = evaluate(trace(WORDS), wanted, {}).verdicts
        assert (verdict.status, verdict.reason) == (Status.ERROR, "value: must not be empty")

    def test_neither_trace_nor_session_is_changed(self) -> None:
        observed = trace(USER, {**WORDS, "content": {"a": [1, {"b": "x"}]}})
        rule = ExactMatch(type="exact_match", value={"a": [1, {"b": "x"}]})
        wanted = session(USER, {**INFORMS, "content": {"a": []}, "rules": [rule]})
        before = copy.deepcopy((observed, wanted))
        assert evaluate(observed, wanted, {}).result is Result.PASSED
        assert (observed, wanted) == before

    def test_the_same_values_give_the_same_run(self) -> None:
        observed, wanted = trace(USER, WORDS), session(USER, {**INFORMS, "rules": [holds("x")]})
        assert evaluate(observed, wanted, {}) == evaluate(observed, wanted, {})


def test_a_verdict_carries_its_fingerprint_and_the_authors_reason() -> None:
    rule = holds("zzz", reason="Say zzz.", blocking=True)
    evaluation = Evaluation("behaviors[0].evaluations[0]", rule, fingerprint="f")
    wanted = Session("s", (Behavior("behaviors[0]", "assistant", "informs", evaluations=(evaluation,)),))
    (verdict,) = evaluate(trace(WORDS), wanted, {}).verdicts
    assert verdict.reason == 'Say zzz. (expected to contain "zzz", observed "hello")'
    assert (verdict.fingerprint, verdict.blocking, verdict.evidence) == ("f", True, (1,))


# -- a session played exactly as written --

TEXTS = st.text("ab é7{}", min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
ARGUMENTS = st.dictionaries(TEXTS, VALUES, max_size=3)


def spoken(actor: str, action: str, content: Json) -> dict[str, Any]:
    rules: list[AnyRule] = [ExactMatch(type="exact_match", value=content)]
    rules.append(Schema.model_validate({"type": "schema", "schema": {"const": structured(content)}}))
    if isinstance(content, str):
        rules += [holds(content), Regex(type="regex", pattern=f"^{re.escape(content)}$")]
    return {"actor": actor, "action": action, "content": content, "capture": {"v": content}, "rules": rules}


def called(target: str, arguments: dict[str, Json], strict: bool) -> dict[str, Any]:
    rule = ToolCall.model_validate({"type": "tool_call"})
    field = "with_only" if strict else "with_"
    return {"actor": "assistant", "action": "calls", "target": target, field: arguments, "rules": [rule]}


SCRIPTS = st.lists(
    st.builds(spoken, st.just("user"), st.just("says"), TEXTS)
    | st.builds(spoken, st.just("assistant"), st.sampled_from(["informs", "asks"]), TEXTS)
    | st.builds(spoken, st.just("tool"), st.just("responds"), VALUES)
    | st.builds(called, st.sampled_from(["A", "B"]), ARGUMENTS, st.booleans()),
    min_size=1,
    max_size=8,
)


def played(behaviors: tuple[Behavior, ...]) -> Trace:
    """A trace in which everything happens exactly as the session has it."""
    steps = []
    for seq, behavior in enumerate(behaviors, 1):
        arguments = behavior.with_ if behavior.with_ is not None else behavior.with_only
        content = None if behavior.content is UNSET else behavior.content
        steps.append(Step(seq, behavior.actor, behavior.action, behavior.target, content, arguments))
    return Trace("t", tuple(steps))


@settings(deadline=None)
@given(SCRIPTS)
@example(
    [
        spoken("user", "says", "é {}"),
        called("A", {"é": [1, None], "a": {"b": "7"}}, strict=True),
        spoken("tool", "responds", {"a": [True]}),
        called("B", {}, strict=False),
        spoken("assistant", "asks", "{}"),
    ]
)
def test_a_session_played_as_written_passes(script: list[dict[str, Any]]) -> None:
    script = [{**fields, "id": f"b{n}"} for n, fields in enumerate(script)]
    script = [fields if n == 0 else {**fields, "capture": {}} for n, fields in enumerate(script)]
    as_written = [Selector(actor=fields["actor"], action=fields["action"]) for fields in script]
    first, last = as_written[0], as_written[-1]
    chain: list[AnyRule] = [
        Sequence(type="sequence", order=tuple(as_written)),
        Count(type="count", match=first, min=1, max=len(script)),
        Eventually(type="eventually", match=last),
        Never(type="never", match=Selector(action="hands_off")),
        Expected(type="expected", behavior="b0"),
    ]
    if len(script) > 1:
        chain.append(Within(type="within", after=first, match=last, max_steps=len(script) - 1))
        chain.append(Expected(type="expected", behavior=f"b{len(script) - 1}", after=first))
    if script[0].get("capture"):
        chain.append(VariableConsistency(type="variable_consistency", variable="v"))
    wanted = session(*script, chain=tuple(chain))
    run = evaluate(played(wanted.behaviors), wanted, {})
    assert run.result is Result.PASSED
    assert [step.step for step in run.steps] == list(range(1, len(script) + 1))
    assert all(verdict.score == 1.0 for verdict in run.verdicts)
    assert (run.extra, run.questions) == ((), ())


@settings(deadline=None)
@given(SCRIPTS, SCRIPTS)
def test_whatever_happened_every_evaluation_has_a_verdict(
    script: list[dict[str, Any]], other: list[dict[str, Any]]
) -> None:
    wanted = session(*script, chain=(Never(type="never", match=Selector(actor="tool")),))
    run = evaluate(played(session(*other).behaviors), wanted, {})
    expected = [e.at for behavior in wanted.behaviors for e in behavior.evaluations] + ["evaluations[0]"]
    assert [verdict.at for verdict in run.verdicts] == expected
    assert all(verdict.score is None or 0 <= verdict.score <= 1 for verdict in run.verdicts)
    assert all(verdict.reason for verdict in run.verdicts)
