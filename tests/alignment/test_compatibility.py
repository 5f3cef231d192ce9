"""What a behavior could take, and what a judge is asked about it (SEMANTICS A3 to A7)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from abs_replay.alignment import align
from abs_replay.alignment.compatibility import criterion_question, is_blank, is_call, unsaid
from abs_replay.judgement import Answer, Question
from abs_replay.spec.rules import MatchesWhen
from abs_replay.spec.session import Behavior, Session
from abs_replay.trace import Step, Trace

TALK: Mapping[str, Any] = {"actor": "assistant", "action": "responds"}
CALL: Mapping[str, Any] = {"actor": "assistant", "action": "calls", "target": "T"}
HANDS_OFF: Mapping[str, Any] = {"actor": "assistant", "action": "hands_off"}
RESPONSE: Mapping[str, Any] = {"actor": "tool", "action": "responds"}

type Fields = Mapping[str, Any]


def taken(
    behaviors: Sequence[Fields],
    steps: Sequence[Fields],
    answers: Mapping[str, Answer] | None = None,
    aliases: Mapping[str, tuple[str, ...]] | None = None,
) -> list[int | str | None]:
    """For each behavior the `seq` of its step, from 1, else its status."""
    built = tuple(Behavior(at=f"behaviors[{n}]", **fields) for n, fields in enumerate(behaviors))
    trace = Trace("t", tuple(Step(seq=n, **fields) for n, fields in enumerate(steps, 1)))
    places = align(trace, Session("s", built, aliases=aliases or {}), answers).places
    return [place.status.value if place.position is None else place.position + 1 for place in places]


def criterion(**fields: Any) -> Fields:
    return {**TALK, "matches_when": MatchesWhen.model_validate(fields)}


@pytest.mark.parametrize(
    ("wanted", "arguments", "fits"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, True),
        ({"a": 1, "b": 2}, {"a": 9, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1, "b": 9}, False),
        ({"a": 1, "b": {"c": 2}}, {"a": 9, "b": {"c": 2}}, False),
        ({}, {"a": 1}, True),
        ({}, "no object", False),
        ({"a": [1]}, {"a": [1.0]}, True),
    ],
)
def test_every_argument_counts(wanted: Any, arguments: Any, fits: bool) -> None:
    step = {**CALL, "arguments": arguments}
    assert taken([{**CALL, "with_": wanted}], [step]) == [1 if fits else "unmatched"]


def test_arguments_do_not_make_up_for_another_tool() -> None:
    assert taken([{**CALL, "with_": {"a": 1}}], [{**CALL, "target": "U", "arguments": {"a": 1}}]) == [
        "unmatched"
    ]


@pytest.mark.parametrize(
    ("wanted", "content", "fits"),
    [
        ({"a": 1, "b": "x"}, {"a": 2, "b": "y", "c": None}, True),
        ({"a": 1, "b": "x"}, {"a": "2", "b": "y"}, False),
        ({"a": 1, "b": "x"}, {"a": 2, "b": 3}, False),
        ({"a": 1, "b": {"c": "x"}}, {"a": "2", "b": {"c": "y"}}, False),
        ({"a": 1, "b": {"c": "x"}}, {"a": 2, "b": {"c": 3}}, False),
        ([1], "words", False),
        ({}, "words", False),
        ({}, {"a": 1}, True),
        (None, None, True),
    ],
)
def test_every_key_of_the_content_counts(wanted: Any, content: Any, fits: bool) -> None:
    assert taken([{**RESPONSE, "content": wanted}], [{**RESPONSE, "content": content}]) == [
        1 if fits else "unmatched"
    ]


def test_content_does_not_make_up_for_another_tool() -> None:
    wanted = {**RESPONSE, "target": "T", "content": {"a": 1}}
    assert taken([wanted], [{**RESPONSE, "target": "U", "content": {"a": 1}}]) == ["unmatched"]


def test_a_target_has_its_own_name_beside_its_aliases() -> None:
    aliases = {"T": ("t1", "t2")}
    for observed in ("T", "t1", "t2"):
        assert taken([CALL], [{**CALL, "target": observed}], aliases=aliases) == [1]
    assert taken([CALL], [{**CALL, "target": "t3"}], aliases=aliases) == ["unmatched"]


def test_an_unnamed_response_is_known_by_a_call_that_has_an_id_only() -> None:
    wanted = {**RESPONSE, "target": "T"}
    assert taken([wanted], [{**CALL, "call_id": "c"}, {**RESPONSE, "call_id": "c"}]) == [2]
    assert taken([wanted], [CALL, RESPONSE]) == ["unmatched"]


def test_what_the_system_updates_is_no_call() -> None:
    assert is_call(Step(1, "assistant", "updates"))
    assert not is_call(Step(1, "system", "updates"))
    assert not is_call(Step(1, "assistant", "shows"))


class TestHandOffs:
    def test_words_of_the_assistant_alone_stand_for_a_hand_off(self) -> None:
        assert taken([HANDS_OFF], [CALL, TALK]) == [2]
        assert taken([HANDS_OFF], [CALL]) == ["unmatched"]
        human = {"actor": "human", "action": "hands_off"}
        assert taken([human], [{"actor": "human", "action": "says"}]) == ["unmatched"]

    @pytest.mark.parametrize(("content", "fits"), [("Bye.", True), ("", False), (None, False)])
    def test_a_hand_off_meets_a_criterion_by_words_only(self, content: str | None, fits: bool) -> None:
        step = {**HANDS_OFF, "content": content}
        assert taken([criterion(type="regex", pattern="")], [step]) == [1 if fits else "unmatched"]


class TestCriteria:
    def test_each_criterion_is_decided_by_itself(self) -> None:
        steps = [{**TALK, "content": "one"}, {**TALK, "content": "two"}]
        for fields in ({"type": "regex", "pattern": "two"}, {"type": "contains", "value": "two"}):
            key = "pattern" if "pattern" in fields else "value"
            assert taken([criterion(**{**fields, key: "one"}), criterion(**fields)], steps) == [1, 2]
            assert taken([criterion(**{**fields, key: "one"}), criterion(**fields)], steps[:1]) == [
                1,
                "unmatched",
            ]

    @pytest.mark.parametrize(
        "fields", [{"type": "contains", "value": ""}, {"type": "llm_judge", "criteria": ""}]
    )
    def test_one_that_is_empty_could_not_be_decided(self, fields: Mapping[str, str]) -> None:
        assert taken([criterion(**fields)], [{**TALK, "content": "words"}]) == ["error"]
        assert taken([criterion(**fields), TALK], [{**TALK, "content": "words"}]) == ["error", 1]

    def test_words_are_folded_and_in_any_normal_form(self) -> None:
        steps = [{**TALK, "content": "Cafe"}, {**TALK, "content": "Das CAFE\u0301"}]
        wanted = [
            criterion(type="contains", value="das caf\u00e9"),
            criterion(type="contains", value="CAF\u00c9"),
        ]
        assert taken(wanted[:1], steps) == taken(wanted[1:], steps) == [2]

    def test_an_empty_pattern_is_found_anywhere(self) -> None:
        assert taken([criterion(type="regex", pattern="")], [{**TALK, "content": "words"}]) == [1]


class TestJudge:
    STEPS: Sequence[Fields] = [{**TALK, "content": "one"}, {**TALK, "content": "two"}]

    def taken(self, *answers: Answer) -> list[int | str | None]:
        steps = (Step(seq=n, **step) for n, step in enumerate(self.STEPS, 1))
        questions = [criterion_question("Kind", step, "").digest for step in steps]
        wanted = [criterion(type="llm_judge", criteria="Kind")]
        return taken(wanted, self.STEPS, dict(zip(questions, answers, strict=True)))

    def test_the_first_step_that_meets_it_is_taken(self) -> None:
        assert self.taken(Answer(0.5, "", "j"), Answer(1.0, "", "j")) == [1]
        assert self.taken(Answer(0.49, "", "j"), Answer(0.5, "", "j")) == [2]
        assert self.taken(Answer(0.4, "", "j"), Answer(0.4, "", "j")) == ["unmatched"]

    @pytest.mark.parametrize("broken", [Answer(0.9, "", "j", "down"), Answer(None, "No idea.", "j")])
    def test_an_answer_with_an_error_or_without_a_score_decides_nothing(self, broken: Answer) -> None:
        assert self.taken(broken, Answer(0.1, "", "j")) == ["error"]
        assert self.taken(broken, Answer(0.9, "", "j")) == [2]

    def test_the_question_is_about_one_steps_words_and_keeps_its_name(self) -> None:
        step = Step(7, "assistant", "asks", content="Your number?", call_id="c")
        evidence = {"steps": [{"actor": "assistant", "content": "Your number?"}]}
        # Answers are kept under this digest: another one would have to be paid for again.
        digest = "0166a178f8213da72a1795195073bdb3625d8d00338e08551cab0de8173ed732"
        at = "behaviors[0].matches_when"
        expected = Question(digest, at, "llm_judge", "Asks for a number", evidence)
        assert criterion_question("Asks for a number", step, at) == expected


@pytest.mark.parametrize(
    ("content", "blank"),
    [
        (None, True),
        ("", True),
        (" \n\t", True),
        ([], True),
        ((), True),
        ({}, True),
        (" x ", False),
        ([""], False),
        ({"a": None}, False),
        (0, False),
        (False, False),
    ],
)
def test_content_is_blank_where_it_says_nothing(content: Any, blank: bool) -> None:
    assert is_blank(content) is blank


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({**TALK, "content": "hi"}, None),
        ({**TALK, "content": " "}, "step 1 is empty"),
        ({**TALK, "content": "hi", "error": "status 500"}, "step 1 failed: status 500"),
        ({**RESPONSE, "content": "hi", "error": "no such key"}, None),
        ({**RESPONSE, "content": None, "error": "no such key"}, "step 1 is empty"),
        ({**CALL, "error": "refused"}, None),
        (HANDS_OFF, None),
    ],
)
def test_where_words_are_wanted_a_step_without_them_says_why(fields: Fields, why: str | None) -> None:
    assert unsaid(Step(seq=1, **fields)) == why


@pytest.mark.parametrize("silent", [{"content": " "}, {"content": "hi", "error": "status 500"}])
def test_a_judge_is_asked_about_the_steps_with_words_alone(silent: Fields) -> None:
    steps = tuple(Step(seq=n, **{**TALK, **each}) for n, each in enumerate((silent, {"content": "hi"}), 1))
    session = Session("s", (Behavior(at="b", **criterion(type="llm_judge", criteria="Kind")),))
    assert [one.evidence for one in align(Trace("t", steps), session).questions] == [
        {"steps": [{"actor": "assistant", "content": "hi"}]}
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"a": {"b": 1, "more": 2}, "more": 3}, 1),
        ('{"a": {"b": 1}}', 1),
        ({"a": {"b": 2}}, 1),  # its kind counts, and not its value (A6)
        ({"a": {"b": "1"}}, "unmatched"),
        ({"a": {}}, "unmatched"),
        ({"a": 1}, "unmatched"),
    ],
)
def test_an_object_within_content_has_the_same_keys_of_the_same_kinds(
    content: Any, expected: int | str
) -> None:
    assert taken([{**RESPONSE, "content": {"a": {"b": 1}}}], [{**RESPONSE, "content": content}]) == [expected]
