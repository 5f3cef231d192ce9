"""What a failed blocking evaluation makes inconclusive (SEMANTICS R5)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from abs_replay.verdicts import Run

type Graded = Callable[..., Run]

FAILS = "{ type: contains, value: zzz }"
BLOCKS = "{ type: contains, value: zzz, blocking: true }"


def entry(actor: str, action: str, *rules: str, more: str = "") -> str:
    return f"  - {{ actor: {actor}, action: {action}, {more} evaluations: [{', '.join(rules)}] }}\n"


def step(actor: str, content: Any = "words", **more: Any) -> Mapping[str, Any]:
    return {"actor": actor, "action": "says" if actor == "user" else "responds", "content": content, **more}


def call(target: str, id_: str | None = None) -> Mapping[str, Any]:
    return {"actor": "assistant", "action": "calls", "target": target, "arguments": {}, "call_id": id_}


def statuses(run: Run) -> list[str]:
    return [verdict.status.value for verdict in run.verdicts]


def test_what_passes_stays_passed_and_the_reason_names_the_blocking_evaluation(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "asks", BLOCKS, more="id: a,")
    text += entry("assistant", "informs", FAILS, "{ type: contains, value: words }", more="requires: a,")
    run = graded(text, step("assistant"), step("assistant"))
    assert statuses(run) == ["failed", "inconclusive", "passed"]
    assert "behaviors[0].evaluations[0]" in run.verdicts[1].reason
    assert run.verdicts[1].score is None


def test_an_inconclusive_blocking_evaluation_blocks_nothing_further(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "asks", BLOCKS, more="id: a,")
    text += entry("assistant", "calls", BLOCKS, more="target: T, requires: a,")
    text += entry("assistant", "informs", FAILS)
    # Had the call failed by itself, the rest of the turn would have depended on it.
    assert statuses(graded(text, step("assistant"), call("T"), step("assistant"))) == [
        "failed",
        "inconclusive",
        "failed",
    ]


def test_a_failed_call_takes_its_response_and_the_rest_of_its_turn_along(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "calls", BLOCKS, more="target: T,")
    text += entry("tool", "responds", FAILS, more="target: T,") + entry(
        "tool", "responds", FAILS, more="target: U,"
    )
    text += (
        entry("assistant", "informs", FAILS)
        + entry("user", "says", FAILS)
        + entry("assistant", "informs", FAILS)
    )
    steps = call("T"), step("tool", target="T"), step("tool", target="U"), step("assistant"), step("user")
    expected = ["failed", "inconclusive", "failed", "inconclusive", "failed", "failed"]
    assert statuses(graded(text, *steps, step("assistant"))) == expected


def test_a_response_belongs_to_the_call_of_its_id(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "calls", "{ type: tool_call }", more="target: T,")
    text += entry("assistant", "calls", BLOCKS, more="target: T,")
    text += entry("tool", "responds", FAILS, more="target: T,") * 2
    steps = call("T", "c1"), call("T", "c2"), step("tool", target="T", call_id="c2")
    run = graded(text, *steps, step("tool", target="T", call_id="c1"))
    assert statuses(run) == ["passed", "failed", "inconclusive", "failed"]


@pytest.mark.parametrize(("first", "second"), [("c1", "c2"), ("c2", "c1")])
def test_each_response_belongs_to_the_call_of_its_id(graded: Graded, first: str, second: str) -> None:
    text = "behaviors:\n" + entry("assistant", "calls", more="target: T,")
    text += entry("assistant", "calls", BLOCKS, more="target: T,")
    text += entry("tool", "responds", FAILS, more="target: T,") * 2
    steps = call("T", "c1"), call("T", "c2"), step("tool", target="T", call_id=first)
    run = graded(text, *steps, step("tool", target="T", call_id=second))
    assert statuses(run)[1:] == [{"c1": "failed", "c2": "inconclusive"}[id_] for id_ in (first, second)]


@pytest.mark.parametrize(("of_call", "of_response"), [(None, None), ("c", None), (None, "r")])
def test_without_an_id_on_both_sides_the_third_response_belongs_to_the_third_call(
    graded: Graded, of_call: str | None, of_response: str | None
) -> None:
    text = "behaviors:\n" + entry("assistant", "calls", more="target: T,") * 2
    text += entry("assistant", "calls", BLOCKS, more="target: T,")
    text += entry("tool", "responds", FAILS, more="target: T,") * 3
    calls = [call("T", of_call and f"{of_call}{n}") for n in range(3)]
    responses = [step("tool", target="T", call_id=of_response and f"{of_response}{n}") for n in range(3)]
    assert statuses(graded(text, *calls, *responses)) == ["failed", "failed", "failed", "inconclusive"]


@pytest.mark.parametrize(("id_", "status"), [("other", "failed"), (None, "inconclusive")])
def test_a_response_with_another_id_than_the_only_call_is_not_its_own(
    graded: Graded, id_: str | None, status: str
) -> None:
    text = "behaviors:\n" + entry("tool", "responds", FAILS, more="target: T,") + entry("user", "says")
    text += entry("assistant", "calls", BLOCKS, more="target: T,")
    run = graded(text, step("tool", target="T", call_id=id_), step("user"), call("T", "c"))
    assert statuses(run) == [status, "failed"]


@pytest.mark.parametrize(
    ("fields", "rule", "status"),
    [
        ("capture: { v: y },", '{ type: contains, value: "{{v}}" }', "failed"),  # its own capture (V1)
        ('content: "{{v}}",', FAILS, "inconclusive"),
        ('content: "{{v}}", capture: { v: y },', FAILS, "inconclusive"),
        ('content: "{{v}}", capture: { v: y },', '{ type: contains, value: "{{v}}" }', "inconclusive"),
        ('target: "{{v}}", capture: { v: y },', FAILS, "inconclusive"),
        ("", '{ type: contains, value: "{{v}}" }', "inconclusive"),
        ("", '{ type: contains, value: "{{later}}" }', "failed"),  # that comes from outside
    ],
)
def test_its_own_capture_stands_behind_its_evaluations_alone(
    graded: Graded, fields: str, rule: str, status: str
) -> None:
    text = (
        "behaviors:\n" + entry("assistant", "asks", BLOCKS, more="capture: { v: x },") + entry("user", "says")
    )
    text += entry("assistant", "informs", rule, more=fields)
    text += entry("assistant", "informs", BLOCKS, more="capture: { later: z },")
    run = graded(
        text, step("assistant"), step("user"), step("assistant"), step("assistant"), row={"later": "qqq"}
    )
    assert [verdict.status for verdict in run.steps[2].evaluations] == [status]


def test_a_part_of_what_was_captured_depends_on_it(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "asks", BLOCKS, more="capture: { v: { id: x } },")
    text += entry("user", "says") + entry("assistant", "informs", '{ type: contains, value: "{{v.id}}" }')
    run = graded(text, step("assistant"), step("user"), step("assistant"))
    assert statuses(run) == ["failed", "inconclusive"]


def test_variables_carry_dependence_through_what_is_made_of_them(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "asks", BLOCKS, more="capture: { a: x },")
    text += entry("user", "says", more='capture: { b: "{{a}}/1" },')
    text += entry("assistant", "informs", '{ type: contains, value: "{{b}}" }')
    text += entry("assistant", "informs", FAILS, more='capture: { a: y }, content: "{{c}}",')
    steps = step("assistant"), step("user"), step("assistant"), step("assistant")
    assert statuses(graded(text, *steps, row={"c": "z"})) == ["failed", "inconclusive", "failed"]


def test_what_depends_in_two_ways_and_on_a_circle_is_inconclusive_once(graded: Graded) -> None:
    names_b = f"{{ type: all_of, evaluations: [{{ type: Relevance, context: b, when: 'false' }}, {FAILS}] }}"
    text = "behaviors:\n" + entry("assistant", "asks", BLOCKS, names_b, more="id: a, capture: { v: x },")
    text += entry("user", "says", FAILS, more='id: b, requires: a, capture: { w: "{{v}}/1" },')
    text += entry("assistant", "informs", FAILS, more='content: "{{v}} and {{w}}",')
    run = graded(text, step("assistant"), step("user"), step("assistant"))
    # `a` has an input that names `b`, which requires `a`: still it does not depend on itself.
    assert statuses(run) == ["failed", "failed", "inconclusive", "inconclusive"]
    assert run.verdicts[3].reason.count("depends on a step that failed") == 1


@pytest.mark.parametrize("named", ["kb", "kb.informs"])
def test_an_input_that_names_the_failed_step_depends_on_it(graded: Graded, named: str) -> None:
    text = "behaviors:\n" + entry("assistant", "informs", BLOCKS, more="id: kb,")
    rule = (
        "{ type: all_of, evaluations: [{ type: Relevance, query: KB, when: 'false' }, ".replace("KB", named)
        + FAILS
        + "] }"
    )
    text += entry("user", "says") + entry("assistant", "informs", rule, FAILS)
    run = graded(text, step("assistant"), step("user"), step("assistant"))
    assert statuses(run) == ["failed", "inconclusive", "inconclusive"]


def test_an_unmatched_blocking_step_blocks_as_well(graded: Graded) -> None:
    text = "behaviors:\n" + entry(
        "assistant", "calls", "{ type: tool_call, blocking: true }", more="target: T,"
    )
    text += entry("assistant", "informs", FAILS)
    run = graded(text, step("assistant"))
    assert statuses(run) == ["failed", "inconclusive"]
    assert run.steps[0].status == "unmatched"
    assert run.result == "failed"


def test_session_evaluations_about_what_depends_are_inconclusive(graded: Graded) -> None:
    text = "behaviors:\n" + entry("assistant", "asks", BLOCKS, more="id: a, capture: { v: x },")
    text += entry("assistant", "informs", more="id: b, requires: a,") + entry("user", "says", more="id: c,")
    rules = (
        "{ type: variable_consistency, variable: v }",
        "{ type: expected, behavior: b, after: { actor: tool } }",
        "{ type: expected, behavior: c }",
        "{ type: never, match: { actor: assistant } }",
        "{ type: all_of, evaluations: [{ type: variable_consistency, variable: v }] }",
        "{ type: all_of, evaluations: [{ type: expected, behavior: c }, { type: expected, behavior: b,"
        " after: { actor: tool } }] }",
    )
    run = graded(f"{text}evaluations: [{', '.join(rules)}]", step("assistant"), step("assistant"))
    expected = ["inconclusive", "inconclusive", "failed", "failed", "inconclusive", "failed"]
    assert statuses(run)[1:] == expected
    at = "behaviors[0].evaluations[0]"
    for verdict in run.chain_evaluations[:2]:
        assert (verdict.score, verdict.reason.partition(": ")[0]) == (
            None,
            f"depends on a step that failed {at}",
        )
