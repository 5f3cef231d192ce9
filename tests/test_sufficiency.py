"""What traces can decide, and why they can not decide the rest."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from abs_replay.grading import Settings, select_given
from abs_replay.judgement import Question
from abs_replay.spec.loader import load
from abs_replay.sufficiency import Checked, Kind, check, sees_calls
from abs_replay.testing import step, trace
from abs_replay.trace import Trace

TOOL = frozenset({"tool"})
USER, ANSWER = step("user", "says", "Where is it?"), step("assistant", "informs", "It is here.")
CALL = step("assistant", "calls", target="look", arguments={"n": 1})


def checked(
    tmp_path: Path,
    session: str,
    *traces: Trace,
    roles: frozenset[str] = frozenset(),
    refused: str | None = "no judge",
    variables: Mapping[str, str] | None = None,
) -> dict[str, Checked]:
    """Each check by its place."""
    path = tmp_path / "a.abs.yaml"
    path.write_text(f"session: S\n{session}")

    def refusals(questions: Sequence[Question]) -> dict[str, str]:
        return {question.digest: refused for question in questions if refused}

    found = check(
        select_given(traces, load([path]).sessions),
        Settings(variables=variables or {}),
        sees_calls(traces, lambda _: roles),
        refusals,
    )
    return {each.at: each for each in found}


def kinds(found: Checked) -> list[tuple[Kind, int]]:
    return [(lack.kind, len(lack.traces)) for lack in found.lacks]


TOOLS = """
behaviors:
  - {actor: user, action: says}
  - {actor: assistant, action: calls, target: look, optional: true, evaluations: [{type: tool_call}]}
  - {actor: assistant, action: informs, evaluations: [{type: contains, value: here}]}
evaluations:
  - {type: never, match: {actor: assistant, action: calls, target: refund}}
  - {type: all_of, evaluations: [{type: count, max: 2, match: {actor: tool}}]}
  - {type: eventually, match: {actor: assistant, action: informs}}
"""
ABOUT_TOOLS = ("behaviors[1]", "behaviors[1].evaluations[0]", "evaluations[0]", "evaluations[1]")


def test_rules_about_tools_say_nothing_where_no_call_could_have_been_seen(tmp_path: Path) -> None:
    found = checked(tmp_path, TOOLS, trace(USER, ANSWER))

    assert {at: kinds(each) for at, each in found.items() if each.lacks} == {
        at: [(Kind.NO_TOOLS, 1)] for at in ABOUT_TOOLS
    }
    assert found["behaviors[2].evaluations[0]"].decidable == 1


@pytest.mark.parametrize("role", ["tool", "llm"])
def test_a_channel_that_would_show_a_call_shows_that_there_was_none(tmp_path: Path, role: str) -> None:
    found = checked(tmp_path, TOOLS, trace(USER, ANSWER), roles=frozenset({"agent", role}))

    assert [at for at, each in found.items() if each.lacks] == []


def test_a_call_in_another_trace_of_the_recording_shows_that_calls_are_seen(tmp_path: Path) -> None:
    seen, without = trace(USER, CALL, ANSWER, id="a"), trace(USER, ANSWER, id="b")
    assert not any(each.lacks for each in checked(tmp_path, TOOLS, seen, without).values())

    apart = replace(without, recording="other")
    found = checked(tmp_path, TOOLS, seen, apart)
    assert kinds(found["evaluations[0]"]) == [(Kind.NO_TOOLS, 1)]
    assert found["evaluations[0]"].lacks[0].traces == ("b",)
    assert (found["evaluations[0]"].traces, found["evaluations[0]"].decidable) == (2, 1)


JUDGED = """
behaviors:
  - {actor: user, action: says, id: asked}
  - {actor: assistant, action: informs, id: answer, evaluations: [{type: llm_judge, criteria: kind}]}
  - {actor: assistant, action: calls, target: look, id: more, optional: true}
evaluations:
  - {type: any_of, evaluations: [{type: llm_judge, criteria: nice}, {type: eventually, match: {actor: tool}}]}
  - {type: Relevance, query: asked, response: more.calls}
"""


def test_a_judged_rule_needs_somebody_who_answers(tmp_path: Path) -> None:
    found = checked(tmp_path, JUDGED, trace(USER, ANSWER), roles=TOOL)
    assert kinds(found["behaviors[1].evaluations[0]"]) == [(Kind.NO_JUDGE, 1)]
    assert kinds(found["evaluations[0]"]) == [(Kind.NO_JUDGE, 1)]
    assert found["evaluations[0]"].lacks[0].message == "no judge"

    found = checked(tmp_path, JUDGED, trace(USER, ANSWER), roles=TOOL, refused=None)
    assert [at for at, each in found.items() if each.lacks] == ["evaluations[1]"]


def test_a_reference_to_a_step_that_no_trace_has_is_told_and_one_that_some_have_is_not(
    tmp_path: Path,
) -> None:
    short = trace(USER, ANSWER, id="a")
    (lack,) = checked(tmp_path, JUDGED, short, refused=None, roles=TOOL)["evaluations[1]"].lacks
    assert lack.kind is Kind.NO_REFERENCE
    assert "more.calls" in lack.message

    long = trace(USER, ANSWER, CALL, id="b")
    assert checked(tmp_path, JUDGED, short, long, refused=None)["evaluations[1]"].lacks == ()


STEPS = """
behaviors:
  - {actor: user, action: says}
  - {actor: assistant, action: informs, evaluations: [{type: contains, value: here}]}
  - {actor: user, action: says}
  - {actor: assistant, action: informs, evaluations: [{type: contains, value: bye}]}
"""


def test_an_evaluation_of_a_step_that_no_trace_has_is_told(tmp_path: Path) -> None:
    short = trace(USER, ANSWER, id="a")
    found = checked(tmp_path, STEPS, short)
    assert {at: kinds(each) for at, each in found.items() if each.lacks} == {
        "behaviors[3].evaluations[0]": [(Kind.NO_STEP, 1)]
    }

    long = trace(USER, ANSWER, USER, ANSWER, id="b")
    assert not any(each.lacks for each in checked(tmp_path, STEPS, short, long).values())


def test_a_trace_that_shows_the_user_nothing_decides_nothing(tmp_path: Path) -> None:
    hidden = trace(step("assistant", "informs", "thinking", internal=True))

    assert {each.lacks[0].kind for each in checked(tmp_path, STEPS, hidden).values()} == {Kind.NO_STEPS}


def test_a_variable_without_a_value_and_a_rule_that_its_value_breaks_are_told(tmp_path: Path) -> None:
    session = """
behaviors:
  - {actor: user, action: says}
  - {actor: assistant, action: informs, evaluations: [{type: contains, value: "{{wanted}}"}]}
"""
    (found,) = checked(tmp_path, session, trace(USER, ANSWER)).values()
    assert kinds(found) == [(Kind.VARIABLE, 1)]
    assert "wanted" in found.lacks[0].message

    found = checked(tmp_path, session, trace(USER, ANSWER), variables={"wanted": ""})[
        "behaviors[1].evaluations[0]"
    ]
    assert kinds(found) == [(Kind.ERROR, 1)]
    assert (
        checked(tmp_path, session, trace(USER, ANSWER), variables={"wanted": "here"})[
            "behaviors[1].evaluations[0]"
        ].lacks
        == ()
    )


def test_a_check_whose_variables_have_no_values_is_named_and_all_of_them_are_told(tmp_path: Path) -> None:
    session = """
behaviors:
  - {actor: user, action: says}
  - actor: assistant
    action: informs
    content: "{{opening}}"
    evaluations:
      - {type: contains, value: here}
      - {type: all_of, evaluations: [{type: llm_judge, criteria: "{{one}} and {{two}}"}]}
evaluations:
  - {type: llm_judge, criteria: "{{three}}"}
"""
    found = checked(tmp_path, session, trace(USER, ANSWER))

    assert [(each.at, each.type, each.label) for each in found.values()] == [
        ("behaviors[1].content", "", "the whole session"),
        ("behaviors[1].evaluations[1]", "all_of", "all_of"),
        ("evaluations[0]", "llm_judge", "llm_judge"),
    ]
    told = found["behaviors[1].evaluations[1]"].lacks[0].message
    assert "one" in told
    assert "two" in told


def test_which_steps_match_may_be_a_judges_to_say(tmp_path: Path) -> None:
    session = """
behaviors:
  - {actor: user, action: says}
  - actor: assistant
    action: informs
    matches_when: {type: llm_judge, criteria: says where it is}
    evaluations: [{type: contains, value: here}]
"""
    found = checked(tmp_path, session, trace(USER, ANSWER))

    assert {at: kinds(each) for at, each in found.items()} == {
        "behaviors[1]": [(Kind.NO_JUDGE, 1)],
        "behaviors[1].evaluations[0]": [(Kind.NO_JUDGE, 1)],
    }
    assert not any(
        each.lacks for each in checked(tmp_path, session, trace(USER, ANSWER), refused=None).values()
    )
