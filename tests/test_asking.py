"""Questions go to a judge round by round, each once, and silence is an error (DESIGN §2, SEMANTICS R1)."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from abs_replay.asking import judged, open_questions
from abs_replay.errors import JudgeError
from abs_replay.judgement import Answer, AskedAt, Question
from abs_replay.spec.loader import load
from abs_replay.spec.session import Session
from abs_replay.spec.variables import Sources
from abs_replay.testing import FakeJudge, step, trace

TEXT = """
session: S
abs_version: "0.2"
behaviors:
  - { id: q, actor: user, action: says }
  - id: ask
    actor: assistant
    action: asks
    optional: true
    matches_when: { type: llm_judge, criteria: Asks for a number }
  - { actor: assistant, action: informs, evaluations: [{ type: llm_judge, criteria: Kind, threshold: 0.7 }] }
evaluations: [{ type: llm_judge, criteria: Short }]
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    file = tmp_path / "s.abs.yaml"
    file.write_text(TEXT, encoding="utf-8")
    (template,) = load([file]).sessions
    return template.resolve(Sources())


FIRST = trace(step("user", "says", "Hi"), step(content="Your number?"), step(content="Done."), id="t-1")
TWIN = trace(step("user", "says", "Hi"), step(content="Your number?"), step(content="Done."), id="t-2")


def by_criteria(scores: Mapping[str, float]) -> Callable[[Question], float | None]:
    return lambda question: scores.get(question.criteria or "")


ALL = by_criteria({"Asks for a number": 1.0, "Kind": 0.8, "Short": 0.2})


def test_what_a_criterion_decides_is_asked_after_it(session: Session) -> None:
    judge = FakeJudge(ALL)
    (run,) = judged([(FIRST, session)], judge=judge)
    rounds = [sorted({question.criteria for question in asked if question.criteria}) for asked in judge.asked]
    assert rounds == [["Asks for a number"], ["Kind", "Short"]]
    assert [verdict.status for verdict in run.verdicts] == ["passed", "failed"]
    assert (run.verdicts[0].judge, run.questions) == ("fake", ())


def test_equal_conversations_ask_once_and_all_places_are_named(session: Session) -> None:
    judge = FakeJudge(ALL)
    runs = judged([(FIRST, session), (TWIN, session)], judge=judge)
    digests = [question.digest for asked in judge.asked for question in asked]
    assert len(digests) == len(set(digests))
    kind = next(question for question in judge.asked[1] if question.criteria == "Kind")
    assert kind.places == tuple(AskedAt("S", name, "behaviors[2].evaluations[0]") for name in ("t-1", "t-2"))
    assert [run.verdicts[0].score for run in runs] == [0.8, 0.8]


def test_a_question_without_an_answer_is_an_error_and_not_asked_again(session: Session) -> None:
    judge = FakeJudge(by_criteria({"Asks for a number": 1.0, "Short": 1.0}))
    (run,) = judged([(FIRST, session)], judge=judge)
    assert [verdict.status for verdict in run.verdicts] == ["error", "passed"]
    assert "no answer to question" in run.verdicts[0].reason
    assert run.verdicts[0].judge is None
    assert len(judge.asked) == 2


def test_an_unanswered_criterion_is_an_error_of_its_behavior(session: Session) -> None:
    (run,) = judged([(FIRST, session)], judge=FakeJudge(lambda _: None))
    assert run.steps[1].status == "error"
    assert run.result == "error"


def test_without_a_judge_the_verdict_says_so(session: Session) -> None:
    (run,) = judged([(FIRST, session)])
    assert {verdict.reason for verdict in run.verdicts} == {"no judge configured"}


class Unreachable:
    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        raise JudgeError("http://judge.test refuses connections")


def test_an_unreachable_judge_is_an_error_of_each_verdict_not_of_the_grading(session: Session) -> None:
    (run,) = judged([(FIRST, session)], judge=Unreachable())
    assert {verdict.status for verdict in run.verdicts} == {"error"}
    assert "refuses connections" in run.verdicts[0].reason


def test_a_dry_run_counts_and_says_where_more_will_follow(session: Session) -> None:
    found = open_questions([(FIRST, session), (TWIN, session)])
    assert {question.criteria for question in found.questions} == {"Asks for a number"}
    assert not found.exact
    answered = open_questions([(FIRST, session)], judge=FakeJudge(by_criteria({"Asks for a number": 1.0})))
    assert [question.criteria for question in answered.questions] == ["Kind", "Short"]
    assert answered.exact
