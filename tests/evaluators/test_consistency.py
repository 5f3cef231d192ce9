"""`variable_consistency` (SEMANTICS C5)."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from abs_replay.verdicts import Run, Verdict

type Graded = Callable[..., Run]


def consistent(
    graded: Graded, behaviors: str, *steps: Mapping[str, Any], name: str = "id", **more: Any
) -> Verdict:
    rule = f"evaluations: [{{ type: variable_consistency, variable: {name} }}]"
    return graded(f"behaviors:\n{behaviors}\n{rule}", *steps, **more).chain_evaluations[0]


def user(content: Any) -> Mapping[str, Any]:
    return {"actor": "user", "action": "says", "content": content}


def words(content: Any) -> Mapping[str, Any]:
    return {"actor": "assistant", "action": "responds", "content": content}


def call(**arguments: Any) -> Mapping[str, Any]:
    return {"actor": "assistant", "action": "calls", "target": "Orders", "arguments": arguments}


GIVEN = '  - { actor: user, action: says, capture: { id: "12345" } }\n'
CALL = '  - { actor: assistant, action: calls, target: Orders, with: { id: "{{id}}" } }\n'
LIST = '  - { actor: assistant, action: calls, target: Orders, with: { ids: ["x", "{{id}}"] } }\n'
TOLD = '  - { actor: assistant, action: informs, content: "Order {{id}} is ready." }\n'


@pytest.mark.parametrize(
    ("behaviors", "steps", "status"),
    [
        (GIVEN, [user("It is 12345.")], "passed"),
        (GIVEN, [user("It is 123456.")], "failed"),
        (GIVEN, [], "failed"),
        (GIVEN + CALL, [user("12345"), call(id="12345")], "passed"),
        (GIVEN + CALL, [user("12345"), call(id=12345)], "failed"),
        (GIVEN + CALL, [user("12345"), call()], "passed"),
        (GIVEN + LIST, [user("12345"), call(ids=["x", "54321"])], "failed"),
        (GIVEN + TOLD, [user("12345"), words("Order 12345 is ready.")], "passed"),
        (GIVEN + TOLD, [user("12345"), words("Order 54321 is ready.")], "failed"),
        (GIVEN + TOLD, [user("12345"), words("Order no. 12345 is ready.")], "passed"),
        (GIVEN + TOLD, [user("12345"), words("Nothing.")], "passed"),
    ],
)
def test_what_was_observed_is_one_value(
    graded: Graded, behaviors: str, steps: list[Mapping[str, Any]], status: str
) -> None:
    assert consistent(graded, behaviors, *steps).status == status


ONLY = '  - { actor: assistant, action: calls, target: Orders, with_only: { id: "{{id}}" } }\n'
ANY = '  - { actor: assistant, action: calls, with: { id: "{{id}}" } }\n'
LONG = '  - { actor: assistant, action: calls, target: Orders, with: { ref: "No. {{id}}" } }\n'
SHARE = '  - { actor: assistant, action: informs, content: "{{id}} of 12345" }\n'
ANSWER = '  - { actor: tool, action: responds, content: { id: "{{id}}", n: 1 } }\n'


def tool(content: Any) -> Mapping[str, Any]:
    return {"actor": "tool", "action": "responds", "content": content}


@pytest.mark.parametrize(
    ("behaviors", "steps", "status", "evidence", "reason"),
    [
        (GIVEN, [user("It is 12345.")], "passed", (1,), '`id` is "12345" wherever it was observed'),
        (
            GIVEN,
            [user("Hm.")],
            "failed",
            (1,),
            'expected the captured "12345" at behaviors[0].capture.id, observed "Hm." in step 1',
        ),
        (GIVEN, [], "failed", (), "expected to observe `id` somewhere, observed it nowhere"),
        (
            GIVEN + ONLY,
            [user("12345"), call(id="9")],
            "failed",
            (1, 2),
            'expected one value of `id`, observed "12345" at behaviors[0].capture.id, '
            '"9" at behaviors[1].with_only.id',
        ),
        (
            GIVEN + LIST,
            [user("12345"), call(ids=["x", "9"])],
            "failed",
            (1, 2),
            'expected one value of `id`, observed "12345" at behaviors[0].capture.id, '
            '"9" at behaviors[1].with.ids[1]',
        ),
        (
            GIVEN + TOLD,
            [user("12345"), words("Order 9 is ready.")],
            "failed",
            (1, 2),
            'expected one value of `id`, observed "12345" at behaviors[0].capture.id, '
            '"9" at behaviors[1].content',
        ),
        (
            GIVEN + ANSWER,
            [user("12345"), tool('{"id": "9", "n": 2}')],
            "failed",
            (1, 2),
            'expected one value of `id`, observed "12345" at behaviors[0].capture.id, '
            '"9" at behaviors[1].content.id',
        ),
        (
            TOLD,
            [user("Hi"), words("Order 12345 is ready.")],
            "passed",
            (2,),
            '`id` is "12345" wherever it was observed',
        ),
        (
            TOLD,
            [words("Order 9 is ready.")],
            "failed",
            (1,),
            'expected one value of `id`, observed "9" at behaviors[0].content, '
            '"12345" at behaviors[0].content as written',
        ),
    ],
)
def test_the_verdict_says_what_was_seen_where(
    graded: Graded,
    behaviors: str,
    steps: list[Mapping[str, Any]],
    status: str,
    evidence: tuple[int, ...],
    reason: str,
) -> None:
    if steps and steps[0]["actor"] == "user" and not behaviors.startswith(GIVEN):
        behaviors = "  - { actor: user, action: says }\n" + behaviors
    verdict = consistent(graded, behaviors, *steps, row={"id": "12345"})
    assert (verdict.status, verdict.evidence, verdict.reason) == (status, evidence, reason)
    assert not [seq for seq in verdict.evidence if isinstance(seq, bool)]


@pytest.mark.parametrize(
    ("behaviors", "step", "status"),
    [
        (ANY, call(id="9"), "failed"),
        (LIST, call(ids="99"), "passed"),  # where a list was expected there is nothing to compare
        (LIST, call(ids=["x", "12345", "y"]), "passed"),
        (LONG, call(ref="No. 12345"), "passed"),
        (LONG, call(ref="No. 9"), "failed"),
        (LONG, call(ref=12345), "passed"),
        (LONG, call(ref=9), "passed"),  # no text, and the value is not in it: no observation
        (SHARE, words("9 of 12345"), "failed"),
        (SHARE, words("12345 of 12345"), "passed"),
        (SHARE, words("All of it, 12345."), "passed"),
        (ANSWER, tool('{"id": "12345", "n": 2}'), "passed"),
    ],
)
def test_what_stands_at_a_reference_is_the_observation(
    graded: Graded, behaviors: str, step: Mapping[str, Any], status: str
) -> None:
    assert consistent(graded, GIVEN + behaviors, user("12345"), step).status == status


def test_content_that_is_only_the_reference_is_compared_as_the_text_that_it_is(graded: Graded) -> None:
    text = '{"a": 1}'
    behaviors = f"  - {{ actor: user, action: says, capture: {{ id: '{text}' }} }}\n"
    behaviors += '  - { actor: assistant, action: informs, content: "{{id}}" }\n'
    assert consistent(graded, behaviors, user(text), words(text)).status == "passed"
    assert consistent(graded, behaviors, user(text), words('{"a":1}')).status == "failed"


def test_the_reason_names_both_values_and_where_they_stand(graded: Graded) -> None:
    verdict = consistent(graded, GIVEN + CALL, user("12345"), call(id="54321"))
    assert '"12345" at behaviors[0].capture.id' in verdict.reason
    assert '"54321" at behaviors[1].with.id' in verdict.reason
    assert verdict.evidence == (1, 2)


def test_a_number_in_words_is_the_captured_number(graded: Graded) -> None:
    behaviors = "  - { actor: user, action: says, capture: { id: 7 } }\n" + TOLD + CALL
    steps = user("Shelf 7"), words("Order 7 is ready.")
    assert consistent(graded, behaviors, *steps, call(id=7)).status == "passed"
    assert consistent(graded, behaviors, *steps, call(id="7")).status == "failed"


def test_normal_forms_are_one_where_text_was_read(graded: Graded) -> None:
    behaviors = '  - { actor: user, action: says, capture: { id: "caf\u00e9" } }\n' + TOLD
    assert (
        consistent(graded, behaviors, user("cafe\u0301"), words("Order cafe\u0301 is ready.")).status
        == "passed"
    )


def test_a_skipped_behavior_has_no_places(graded: Graded) -> None:
    optional = (
        "  - { actor: assistant, action: says, optional: true, capture: { id: '9' },"
        " matches_when: { type: contains, value: zzz } }\n"
    )
    assert consistent(graded, GIVEN + optional, user("12345"), words("9")).status == "passed"


def test_a_skipped_call_is_read_nowhere(graded: Graded) -> None:
    optional = CALL.replace("with:", "optional: true, with:")
    verdict = consistent(graded, GIVEN + optional, user("12345"), call(id="999"))
    assert (verdict.status, verdict.evidence) == ("passed", (1,))


def test_a_behavior_without_the_variable_may_be_undecided(graded: Graded) -> None:
    other = "  - { actor: assistant, action: says, matches_when: { type: llm_judge, criteria: Kind } }\n"
    assert consistent(graded, GIVEN + other, user("12345"), words("Hi")).status == "passed"


def test_two_captures_of_one_variable_have_to_agree(graded: Graded) -> None:
    again = "  - { actor: assistant, action: informs, capture: { id: '777' } }\n"
    assert consistent(graded, GIVEN + again, user("12345"), words("777")).status == "failed"


def test_an_untaken_call_stands_for_an_unmatched_one(graded: Graded) -> None:
    taken = '  - { actor: assistant, action: calls, target: Orders, with: { id: "54321" } }\n'
    steps = user("12345"), call(id="54321"), call(id="999")
    verdict = consistent(graded, GIVEN + taken + CALL, *steps)
    assert verdict.status == "failed"
    assert '"999"' in verdict.reason


def test_a_call_of_a_missing_turn_is_read_nowhere(graded: Graded) -> None:
    behaviors = GIVEN + "  - { actor: user, action: says }\n" + CALL
    verdict = consistent(graded, behaviors, call(id="999"), user("12345"))
    assert (verdict.status, verdict.evidence) == ("passed", (2,))


def test_only_evaluations_that_refer_to_it_observe_nothing(graded: Graded) -> None:
    behaviors = (
        '  - { actor: assistant, action: informs, evaluations: [{ type: contains, value: "{{id}}" }] }\n'
    )
    assert consistent(graded, behaviors, words("1"), row={"id": "1"}).status == "failed"


def test_a_place_whose_step_could_not_be_decided_is_an_error(graded: Graded) -> None:
    judged = TOLD.replace(" }", ", matches_when: { type: llm_judge, criteria: Friendly } }")
    run = graded(
        f"behaviors:\n{GIVEN}{judged}evaluations: [{{ type: variable_consistency, variable: id }}]",
        user("12345"),
        words("Order 54321 is ready."),
    )
    (verdict,) = run.chain_evaluations
    assert (verdict.status, verdict.score, verdict.reason) == ("error", None, "no judge configured")
