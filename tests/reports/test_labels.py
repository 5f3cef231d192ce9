"""Rules and steps in words."""

import pytest

from abs_replay.reports.labels import entry, label, labelled
from abs_replay.spec import rules
from abs_replay.spec.rules import Rule, Selector
from abs_replay.spec.session import Behavior, Evaluation, Session
from abs_replay.trace import Step, Trace
from abs_replay.verdicts import BehaviorResult, Result, Run, Status, StepStatus, Verdict

ASKS, CALLS = Selector(action="asks"), Selector(actor="assistant", action="calls", target="Order MCP")


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (rules.ExactMatch(type="exact_match", value={"a": 1}), 'exact_match {"a":1}'),
        (rules.Contains(type="contains", value="on the way"), 'contains "on the way"'),
        (rules.Contains(type="contains", value="X", case_sensitive=True), 'contains "X" (case-sensitive)'),
        (rules.Regex(type="regex", pattern="^a+$"), "regex /^a+$/"),
        (rules.Schema(type="schema", schema={"type": "object"}), "schema"),
        (rules.ToolCall(type="tool_call"), "tool_call"),
        (
            rules.ToolCall.model_validate({"type": "tool_call", "target": "O", "with": {"a": 1}}),
            'tool_call O {"a":1}',
        ),
        (rules.Judged(type="llm_judge", criteria="Friendly"), 'llm_judge "Friendly"'),
        (rules.Judged(type="Fluency"), "Fluency"),
        (rules.TextMetric(type="f1", ground_truth="self"), 'f1 against "self"'),
        (rules.Custom(type="custom", id="mine"), "custom: mine"),
        (rules.Sequence(type="sequence", order=(ASKS, CALLS)), "sequence: asks → calls Order MCP"),
        (rules.Eventually(type="eventually", match=Selector(actor="assistant")), "eventually: assistant"),
        (rules.Never(type="never", match=Selector(action="hands_off")), "never: hands_off"),
        (
            rules.Never(type="never", match=Selector(actor="assistant", target="cancel_booking")),
            "never: assistant cancel_booking",
        ),
        (rules.Count(type="count", match=ASKS, min=1, max=2), "count: asks, min 1, max 2"),
        (
            rules.Within(
                type="within", after=Selector(actor="user", action="says"), match=CALLS, max_steps=1
            ),
            "within 1 step after user says: calls Order MCP",
        ),
        (rules.VariableConsistency(type="variable_consistency", variable="id"), "variable_consistency: id"),
        (rules.Expected(type="expected", behavior="ask", after=ASKS), "expected: ask after asks"),
        (rules.Composition(type="any_of", evaluations=({},)), "any_of"),
    ],
)
def test_a_rule_in_one_line(rule: Rule, words: str) -> None:
    assert label(rule) == words


def test_an_entry_names_target_and_content_where_it_has_them() -> None:
    assert entry("user", "says", None, "Hi") == 'user says "Hi"'
    assert entry("assistant", "calls", "Order MCP", None) == "assistant calls Order MCP"
    assert entry("tool", "responds", "Order MCP", {"a": None}) == 'tool responds Order MCP {"a":null}'


def test_a_run_gets_the_words_of_its_rules_and_of_its_extra_steps() -> None:
    part = Evaluation("behaviors[0].evaluations[0].evaluations[0]", rules.Regex(type="regex", pattern="a"))
    whole = Evaluation(
        "behaviors[0].evaluations[0]", rules.Composition(type="all_of", evaluations=({},)), parts=(part,)
    )
    chain = Evaluation("evaluations[0]", rules.Never(type="never", match=ASKS))
    session = Session("S", (Behavior("behaviors[0]", "assistant", "says", evaluations=(whole,)),), (chain,))
    inner = Verdict(part.at, "regex", Status.PASSED, "")
    outer = Verdict(whole.at, "all_of", Status.PASSED, "", children=(inner,))
    run = Run(
        "S",
        None,
        "t",
        Result.PASSED,
        (BehaviorResult("behaviors[0]", "assistant", "says", StepStatus.MATCHED, evaluations=(outer,)),),
        (Verdict("evaluations[0]", "never", Status.PASSED, ""),),
        extra=(7,),
    )

    told = labelled(run, session, Trace("t", (Step(7, "assistant", "calls", "Order MCP"),)))

    assert told.steps[0].evaluations[0].label == "all_of"
    assert told.steps[0].evaluations[0].children[0].label == "regex /a/"
    assert told.chain_evaluations[0].label == "never: asks"
    assert told.extra_labels == ("assistant calls Order MCP",)
