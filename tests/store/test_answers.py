"""What judges said is kept with every attempt, found again, and never overwritten."""

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from abs_replay.judgement import Question
from abs_replay.store import KeptAnswer, Store
from abs_replay.store.schema import ATTEMPT_COLUMNS
from abs_replay.verdicts import Grading, Judged, Report, Result, Run, Status, Verdict

ATTEMPT = {
    **dict.fromkeys(ATTEMPT_COLUMNS),
    "outcome": "read",
    "sent": "Is it kind?",
    "reply": '{"score": 1} \ud83d',
    "calls": 1,
    "input_tokens": 90,
    "cost": 0.5,
    "at": 11.0,
}
ANSWER = KeptAnswer(
    "d1", "f1", 0, 0.8, "Kind.", None, True, {"raw": [4, 5]}, "openai gpt", 12.0, "g-1", (ATTEMPT,)
)


def question(digest: str) -> Question:
    return Question(digest, "evaluations[0]", "llm_judge", "Kind?", {"steps": []}, None, "v1")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store.duckdb")


def rows(store: Store, query: str) -> list[tuple[object, ...]]:
    with duckdb.connect(store.path, read_only=True) as connection:
        return connection.execute(query).fetchall()


def test_an_answer_is_found_by_question_judge_and_sample(store: Store) -> None:
    answers = [
        ANSWER,
        replace(ANSWER, sample=1, score=0.2),
        replace(ANSWER, judge="f2"),
        replace(ANSWER, question="d2"),
    ]
    store.keep_answers(map(question, ("d1", "d2")), answers)

    found = store.answers(["d1", "d3"], ["f1"])

    bare = replace(ANSWER, attempts=())
    assert found == {("d1", "f1", 0): bare, ("d1", "f1", 1): replace(bare, sample=1, score=0.2)}


def test_the_newest_answer_counts_and_the_older_one_is_still_there(store: Store) -> None:
    for score in (0.8, 0.3):
        store.keep_answers([question("d1")], [replace(ANSWER, score=score)])

    assert store.answers(["d1"], ["f1"])["d1", "f1", 0].score == 0.3
    assert rows(store, "SELECT score FROM answers") == [(0.8,), (0.3,)]
    assert rows(store, "SELECT digest, asked_at, prompt FROM questions") == [("d1", 12.0, "v1")]


def test_an_error_that_settles_nothing_is_kept_and_is_no_answer(store: Store) -> None:
    store.keep_answers([question("d1")], [replace(ANSWER, score=None, error="timed out", settled=False)])

    assert store.answers(["d1"], ["f1"]) == {}
    assert rows(store, "SELECT question, sample, attempt, sent, cost, grading FROM attempts") == [
        ("d1", 0, 0, "Is it kind?", 0.5, "g-1")
    ]


def graded(id_: str, digest: str) -> Grading:
    verdict = Verdict("evaluations[0]", "llm_judge", Status.PASSED, "", judged=Judged(digest, "f1"))
    return Grading(id_, 1.0, Report((Run("s", None, "t", Result.PASSED, (), (verdict,)),)))


def test_an_answer_goes_with_the_last_grading_that_rests_on_it(store: Store) -> None:
    for id_, digest in (("g-1", "d1"), ("g-2", "d1"), ("g-1b", "d2")):
        store.save_grading(graded(id_, digest))
    store.keep_answers(map(question, ("d1", "d2")), [ANSWER, replace(ANSWER, question="d2")])

    store.remove([], ["g-1"])
    assert len(rows(store, "SELECT * FROM answers")) == 2

    store.remove([], ["g-2"])
    left = [
        rows(store, f"SELECT {column} FROM {table}")
        for table, column in (("questions", "digest"), ("answers", "question"), ("attempts", "question"))
    ]
    assert left == [[("d2",)]] * 3


def test_answers_of_another_store_are_taken_over_once(store: Store, tmp_path: Path) -> None:
    other = Store(tmp_path / "other.duckdb")
    other.keep_answers(map(question, ("d1", "d2")), [ANSWER, replace(ANSWER, question="d2", made_at=13.0)])
    store.keep_answers([question("d1")], [ANSWER])

    for _ in range(2):
        store.merge(other.path)

    assert rows(store, "SELECT question, made_at FROM answers") == [("d1", 12.0), ("d2", 13.0)]
    assert len(rows(store, "SELECT * FROM questions")) == len(rows(store, "SELECT * FROM attempts")) == 2


def test_what_judges_were_told_and_said_is_redacted(store: Store) -> None:
    store.keep_answers([question("d1")], [ANSWER])

    store.change(lambda exchange: exchange, lambda text: text.replace("ind", "***"))

    assert rows(store, "SELECT criteria FROM questions") == [("K***?",)]
    assert rows(store, "SELECT reason FROM answers") == [("K***.",)]
    assert rows(store, "SELECT sent FROM attempts") == [("Is it k***?",)]


def test_what_was_set_aside_counts_from_there_and_goes_into_the_store_once(store: Store) -> None:
    store.keep_answers([question("d1")], [replace(ANSWER, score=0.1, made_at=1.0)])
    store.set_aside(map(question, ("d1", "d2")), [ANSWER, replace(ANSWER, question="d2", settled=False)])
    (path,) = store.path.parent.glob("*.answers.json")
    set_aside = path.read_bytes()

    bare = replace(ANSWER, attempts=())
    assert store.answers(["d1", "d2"], ["f1"]) == {("d1", "f1", 0): bare}

    report = Report((Run("S", None, "t", Result.PASSED, ()),))
    store.save_grading(Grading("g-1", 1.0, report))
    path.write_bytes(set_aside)  # as if a kill had come before it was taken away
    store.keep_answers([question("d3")], [replace(ANSWER, question="d3")])

    assert not path.exists()
    assert rows(store, "SELECT question, score FROM answers ORDER BY rowid") == [
        ("d1", 0.1),
        ("d1", 0.8),
        ("d2", 0.8),
        ("d3", 0.8),
    ]
    assert len(rows(store, "SELECT * FROM attempts")) == 4
    assert store.answers(["d1"], ["f1"]) == {("d1", "f1", 0): bare}
