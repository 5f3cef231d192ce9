"""The builders for tests make what the rest of the package takes for real."""

import pytest

from abs_replay.assembly import assemble
from abs_replay.exchange import Role, header
from abs_replay.judgement import Answer, Question
from abs_replay.testing import FakeJudge, exchange, step, trace
from abs_replay.trace import Visibility


def test_a_trace_numbers_its_steps_after_those_that_have_a_number() -> None:
    made = trace(step("user", "says", "Hi"), step(content="Hello", seq=7), step(content="Bye", internal=True))
    assert [one.seq for one in made.steps] == [1, 7, 8]
    assert made.steps[2].visibility is Visibility.INTERNAL


def test_an_exchange_of_the_chat_contract_becomes_a_conversation() -> None:
    sent = {"messages": [{"role": "user", "content": "Where is my order?"}]}
    came = {"message": {"role": "assistant", "content": "On its way."}}
    (made,) = assemble([exchange(sent, came)])
    assert [(one.actor, one.content) for one in made.steps] == [
        ("user", "Where is my order?"),
        ("assistant", "On its way."),
    ]


@pytest.mark.parametrize(
    ("content", "data", "kind"),
    [
        ({"a": 1}, b'{"a":1}', "application/json"),
        ("text", b"text", "text/plain; charset=utf-8"),
        (b"\x00", b"\x00", None),
        (None, b"", None),
    ],
)
def test_a_body_is_what_was_given(content: object, data: bytes, kind: str | None) -> None:
    made = exchange(response=content, role=Role.TOOL, name="KB", headers=(("x-a", "b"),))  # type: ignore[arg-type]
    assert made.response is not None
    assert made.response.body.data == data
    assert header(made.response.headers, "content-type") == kind
    assert (header(made.response.headers, "x-a"), str(made.channel)) == ("b", "tool:KB")


def test_a_fake_judge_answers_with_a_score_or_what_a_function_makes_of_a_question() -> None:
    question = Question("d", "evaluations[0]", "llm_judge", "Kind", None)
    assert FakeJudge(0.5).ask([question])["d"].score == 0.5
    assert FakeJudge(lambda one: Answer(None, "", "me", one.criteria)).ask([question])["d"].error == "Kind"
    silent = FakeJudge(lambda _: None)
    assert (silent.ask([question]), silent.asked) == ({}, [(question,)])
