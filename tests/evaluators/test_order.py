"""`sequence`, `eventually`, `never`, `count`, `within` (SEMANTICS C1 to C4)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from abs_replay.evaluators import EVALUATORS
from abs_replay.scoring import evaluate
from abs_replay.spec.rules import AnyRule, Count, Eventually, Never, Selector, Sequence, Within
from abs_replay.spec.session import Behavior, Evaluation, Session
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import Verdict

type JudgedChain = Callable[..., list[Verdict]]

STEPS = st.lists(
    st.builds(
        lambda actor, action, target: {"actor": actor, "action": action, "target": target},
        st.sampled_from(["user", "assistant", "tool", "system"]),
        st.sampled_from(["calls", "responds", "hands_off"]),
        st.sampled_from([None, "A", "B"]),
    ),
    max_size=8,
)
SELECTORS = st.builds(
    Selector,
    actor=st.sampled_from([None, "user", "assistant", "system"]),
    action=st.sampled_from([None, "calls", "says"]),
    target=st.sampled_from(["A", "B"]),
) | st.builds(Selector, actor=st.sampled_from(["user", "assistant", "system"]))


def status(rule: AnyRule, steps: list[dict[str, Any]]) -> str:
    session = Session("s", (Behavior("b", "human", "says", optional=True),), (Evaluation("e", rule),))
    trace = Trace("t", tuple(Step(seq=n, **step) for n, step in enumerate(steps, 1)))
    (verdict,) = evaluate(trace, session, {}).chain_evaluations
    assert verdict.score in (0.0, 1.0)
    return verdict.status


SAID = {"actor": "assistant", "action": "responds", "target": None}
ASKED = {"actor": "user", "action": "says", "target": None}


@settings(deadline=None)
@given(SELECTORS, STEPS)
@example(Selector(actor="user"), [])
@example(Selector(actor="user"), [SAID])
@example(Selector(actor="user"), [ASKED, SAID, ASKED])
def test_never_is_count_of_at_most_none(match: Selector, steps: list[dict[str, Any]]) -> None:
    assert status(Never(type="never", match=match), steps) == status(
        Count(type="count", match=match, max=0), steps
    )


@settings(deadline=None)
@given(SELECTORS, STEPS)
def test_eventually_is_the_opposite_of_never(match: Selector, steps: list[dict[str, Any]]) -> None:
    eventually = status(Eventually(type="eventually", match=match), steps)
    assert (eventually == "passed") != (status(Never(type="never", match=match), steps) == "passed")


@settings(deadline=None)
@given(SELECTORS, STEPS, STEPS, st.integers(0, 8))
@example(Selector(actor="assistant"), [SAID], [ASKED, SAID], 0)
@example(Selector(actor="user"), [ASKED, SAID], [ASKED], 1)
def test_further_steps_never_undo_eventually(
    match: Selector, steps: list[dict[str, Any]], more: list[dict[str, Any]], at: int
) -> None:
    rule = Eventually(type="eventually", match=match)
    if status(rule, steps) == "passed":
        assert status(rule, [*steps[:at], *more, *steps[at:]]) == "passed"


@settings(deadline=None)
@given(SELECTORS, STEPS, st.integers(1, 3))
def test_a_sequence_of_one_selector_needs_as_many_steps(
    match: Selector, steps: list[dict[str, Any]], times: int
) -> None:
    in_order = status(Sequence(type="sequence", order=(match,) * times), steps)
    assert in_order == status(Count(type="count", match=match, min=times), steps)


@settings(deadline=None)
@given(SELECTORS, SELECTORS, STEPS, st.integers(1, 4))
def test_within_for_every_start_is_no_easier(
    after: Selector, match: Selector, steps: list[dict[str, Any]], most: int
) -> None:
    first = status(Within(type="within", after=after, match=match, max_steps=most), steps)
    every = status(Within(type="within", after=after, match=match, max_steps=most, every=True), steps)
    assert first == "passed" or every == "failed"


def step(actor: str, action: str, target: str | None = None) -> Mapping[str, Any]:
    return {"actor": actor, "action": action, "target": target}


def test_a_system_step_lies_in_the_window_without_being_counted(judged_chain: JudgedChain) -> None:
    steps = (step("user", "says"), step("system", "updates", "state.x"), step("assistant", "hands_off"))
    rules = """
        { type: within, after: { actor: user }, match: { action: hands_off }, max_steps: 1 }
        { type: within, after: { actor: user }, match: { actor: system }, max_steps: 1 }
        { type: within, after: { actor: assistant }, match: { actor: system }, max_steps: 9 }
    """
    assert [verdict.status for verdict in judged_chain(rules, *steps)] == ["passed", "passed", "failed"]


def test_a_system_step_before_the_window_does_not_lengthen_it(judged_chain: JudgedChain) -> None:
    update = step("system", "updates", "state.x")
    talk = step("assistant", "responds")
    steps = (update, step("user", "says"), talk, update, talk, step("tool", "responds"))
    rules = """
        { type: within, after: { actor: user }, match: { actor: tool }, max_steps: 2 }
        { type: within, after: { actor: user }, match: { actor: tool }, max_steps: 3 }
    """
    assert [verdict.status for verdict in judged_chain(rules, *steps)] == ["failed", "passed"]


def test_a_sequence_names_the_selector_that_found_nothing_and_where(judged_chain: JudgedChain) -> None:
    rule = "{ type: sequence, order: [{ actor: user }, { actor: tool, target: Refunds }, { actor: user }] }"
    (verdict,) = judged_chain(rule, step("user", "says"), step("tool", "responds", "Orders"))
    assert verdict.reason == 'expected tool does anything "Refunds" after step 1, observed none'
    assert verdict.evidence == (1,)


TOOL = "{ actor: tool }"
TALK = "{ actor: assistant }"
TRACE = (
    step("user", "says"),
    step("tool", "responds", "A"),
    step("assistant", "responds"),
    step("tool", "responds", "B"),
    step("user", "says"),
)


@pytest.mark.parametrize(
    ("rule", "status", "evidence", "reason"),
    [
        (f"type: sequence, order: [{TOOL}, {TOOL}]", "passed", (2, 4), "found in order at steps 2, 4"),
        (
            f"type: sequence, order: [{TOOL}, {TALK}, {TOOL}]",
            "passed",
            (2, 3, 4),
            "found in order at steps 2, 3, 4",
        ),
        (
            f"type: sequence, order: [{TALK}, {TALK}]",
            "failed",
            (3,),
            "expected assistant does anything after step 3, observed none",
        ),
        (
            "type: sequence, order: [{ actor: external }]",
            "failed",
            (),
            "expected external does anything in the trace, observed none",
        ),
        (f"type: eventually, match: {TOOL}", "passed", (2, 4), "tool does anything at step 2"),
        (
            "type: eventually, match: { target: C }",
            "failed",
            (),
            'expected anybody does anything "C" somewhere, observed none',
        ),
        ("type: never, match: { action: calls }", "passed", (), "anybody calls nowhere"),
        (
            f"type: never, match: {TOOL}",
            "failed",
            (2, 4),
            "expected tool does anything nowhere, observed at step 2, 4",
        ),
        (
            f"type: count, match: {TOOL}, min: 2, max: 2",
            "passed",
            (2, 4),
            "expected tool does anything at least 2 and at most 2 times, observed 2",
        ),
        (
            f"type: count, match: {TOOL}, min: 3",
            "failed",
            (2, 4),
            "expected tool does anything at least 3 times, observed 2",
        ),
        (
            f"type: count, match: {TOOL}, max: 1",
            "failed",
            (2, 4),
            "expected tool does anything at most 1 time, observed 2",
        ),
        (
            f"type: within, after: {TOOL}, match: {TALK}, max_steps: 1",
            "passed",
            (2, 3),
            "assistant does anything within 1 steps",
        ),
        (
            f"type: within, after: {TOOL}, match: {TALK}, max_steps: 9, every: true",
            "failed",
            (2, 3, 4),
            "expected assistant does anything within 9 steps after step 4, observed none",
        ),
        (
            "type: within, after: { actor: user }, match: { target: B }, max_steps: 2",
            "failed",
            (1,),
            'expected anybody does anything "B" within 2 steps after step 1, observed none',
        ),
        (
            "type: within, after: { actor: user }, match: { target: B }, max_steps: 3",
            "passed",
            (1, 4),
            'anybody does anything "B" within 3 steps',
        ),
        (
            f"type: within, after: {{ actor: human }}, match: {TALK}, max_steps: 3",
            "failed",
            (),
            "expected human does anything to begin from, observed none",
        ),
        (
            f"type: within, after: {TOOL}, match: {TOOL}, max_steps: 2",
            "passed",
            (2, 4),
            "tool does anything within 2 steps",
        ),
    ],
)
def test_a_verdict_says_what_was_looked_at(
    judged_chain: JudgedChain, rule: str, status: str, evidence: tuple[int, ...], reason: str
) -> None:
    (verdict,) = judged_chain(f"{{ {rule} }}", *TRACE)
    assert (verdict.status, verdict.evidence, verdict.reason) == (status, evidence, reason)
    assert verdict.score == (1.0 if status == "passed" else 0.0)


def test_of_many_steps_ten_are_listed(judged_chain: JudgedChain) -> None:
    (verdict,) = judged_chain("{ type: never, match: { actor: tool } }", *[step("tool", "responds")] * 10)
    assert verdict.reason.endswith("step 1, 2, 3, 4, 5, 6, 7, 8, 9, 10")
    (verdict,) = judged_chain("{ type: never, match: { actor: tool } }", *[step("tool", "responds")] * 11)
    assert verdict.reason.endswith("step 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …")


def test_every_type_of_the_document_format_has_an_evaluator() -> None:
    from abs_replay.spec.rule_checks import TYPES

    assert set(TYPES) == set(EVALUATORS)
