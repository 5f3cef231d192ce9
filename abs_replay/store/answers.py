"""Answers of judges, each with its question and every attempt at it: kept as they come, never overwritten."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

from abs_replay.exact_json import Json
from abs_replay.judgement import Question
from abs_replay.store.opening import transaction
from abs_replay.store.rows import Row
from abs_replay.store.schema import ANSWER_COLUMNS, ATTEMPT_COLUMNS
from abs_replay.store.texts import json_or_null, json_text, json_value, plain
from abs_replay.store.writing import insert

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a judge said to a question, or why it said nothing.

    `judge` is its fingerprint, `shown` its name for people, `sample` which of several votes it was.
    `attempts` have the names and values of the columns of `attempts`, in the order in which they were made;
    they are not read back. One that is not `settled` is no answer, and asked again.
    """

    question: str
    judge: str
    sample: int
    score: float | None
    reason: str
    error: str | None = None
    settled: bool = True
    details: Mapping[str, Json] | None = None
    shown: str = ""
    made_at: float = 0.0
    grading: str | None = None
    attempts: tuple[Mapping[str, Any], ...] = ()


type Key = tuple[str, str, int]  # question, judge, sample


class Rows(TypedDict):
    """Answers as rows of their tables, in the order of their columns: plain values, as JSON has them."""

    questions: list[Row]
    answers: list[Row]
    attempts: list[Row]


def rows_of(questions: Iterable[Question], answers: Sequence[KeptAnswer]) -> Rows:
    """Answers with their questions and attempts."""
    asked = {question.digest: question for question in questions}
    first = {answer.question: answer.made_at for answer in reversed(answers)}
    return {
        "questions": [_question_row(one, first.get(one.digest)) for one in asked.values()],
        "answers": [_answer_row(answer) for answer in answers],
        "attempts": [row for answer in answers for row in _attempt_rows(answer)],
    }


def keep(connection: DuckDBPyConnection, rows: Rows, once: bool = False) -> None:
    """Add answers with their attempts, and those of the questions that are not there yet.

    With `once` nothing is added where the first of them is there already.
    """
    with transaction(connection):
        if once and rows["answers"] and _is_there(connection, rows["answers"][0]):
            return
        query = "SELECT digest FROM questions WHERE list_contains(?::VARCHAR[], digest)"
        digests = [row[0] for row in rows["questions"]]
        known = {digest for (digest,) in connection.execute(query, [digests]).fetchall()}
        insert(connection, "questions", [row for row in rows["questions"] if row[0] not in known])
        insert(connection, "answers", rows["answers"])
        insert(connection, "attempts", rows["attempts"])


def _is_there(connection: DuckDBPyConnection, row: Row) -> bool:
    names = "question", "judge", "sample", "made_at"
    values = dict(zip(ANSWER_COLUMNS, row, strict=True))
    query = f"SELECT 1 FROM answers WHERE {' AND '.join(f'{name} = ?' for name in names)}"
    return bool(connection.execute(query, [values[name] for name in names]).fetchall())


def answers(
    connection: DuckDBPyConnection, questions: Sequence[str], judges: Sequence[str]
) -> dict[Key, KeptAnswer]:
    """What these judges said to these questions, the newest where there are several; settled ones alone."""
    query = """
        SELECT question, judge, sample, score, reason, error, settled, details, shown, made_at, grading
        FROM answers SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS question) USING (question)
        WHERE settled AND list_contains(?::VARCHAR[], judge) ORDER BY answers.rowid
    """
    found = connection.execute(query, [list(questions), list(judges)]).fetchall()
    return {(row[0], row[1], row[2]): answer_of(row) for row in found}


def scores(
    connection: DuckDBPyConnection, questions: Sequence[str]
) -> dict[tuple[str, str], tuple[float, ...]]:
    """Every score that a judge gave to these questions, whenever: by question and judge."""
    query = """
        SELECT question, judge, list(score)
        FROM answers SEMI JOIN (SELECT unnest(?::VARCHAR[]) AS question) USING (question)
        WHERE settled AND score IS NOT NULL GROUP BY question, judge
    """
    found = connection.execute(query, [list(questions)]).fetchall()
    return {(question, judge): tuple(values) for question, judge, values in found}


def _question_row(question: Question, asked_at: float | None) -> Row:
    return (
        question.digest,
        question.type,
        plain(question.criteria),
        question.adapter,
        plain(question.prompt),
        json_text(question.evidence),
        asked_at,
    )


def _answer_row(answer: KeptAnswer) -> Row:
    return (
        answer.question,
        answer.judge,
        answer.sample,
        answer.score,
        plain(answer.reason),
        plain(answer.error),
        answer.settled,
        json_or_null(answer.details),
        plain(answer.shown),
        answer.made_at,
        answer.grading,
    )


def _attempt_rows(answer: KeptAnswer) -> list[Row]:
    own = {"question": answer.question, "judge": answer.judge, "sample": answer.sample}
    return [
        tuple(
            plain(value) if isinstance(value, str) else value
            for value in map(
                {**attempt, **own, "attempt": number, "grading": answer.grading}.get, ATTEMPT_COLUMNS
            )
        )
        for number, attempt in enumerate(answer.attempts)
    ]


def answer_of(row: Sequence[Any]) -> KeptAnswer:
    """An answer without its attempts, of a row of its table."""
    question, judge, sample, score, reason, error, settled, details, *rest = row
    return KeptAnswer(question, judge, sample, score, reason, error, settled, json_value(details), *rest)
