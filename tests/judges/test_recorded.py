"""Answers out of a file: which question they answer, and what is refused with its line."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abs_replay.errors import UsageError
from abs_replay.judgement import Answer, AskedAt, Question
from abs_replay.judges import JUDGES, open_judge
from abs_replay.judges.recorded import RecordedJudge, read

AT = "behaviors[1].evaluations[0]"
GOOD = {"digest": "d1", "score": 0.8, "reason": "Kind.", "judge": "ann"}


def question(digest: str = "d1", *places: tuple[str, str, str]) -> Question:
    return Question(digest, AT, "llm_judge", "Kind", None, places=tuple(AskedAt(*one) for one in places))


def answers(tmp_path: Path, text: str) -> RecordedJudge:
    file = tmp_path / "answers.json"
    file.write_text(text, encoding="utf-8")
    return read(file)


@pytest.mark.parametrize("text", ["", "\n \n", "\ufeff"])
def test_a_file_without_anything_in_it_is_said_to_be_empty(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match=r"answers\.json: is empty: fill in what abs grade"):
        answers(tmp_path, text)


def only(judge: RecordedJudge, asked: Question) -> Answer | None:
    return judge.ask([asked]).get(asked.digest)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([GOOD]),
        json.dumps(GOOD),
        "\ufeff" + json.dumps(GOOD) + "\n\n" + json.dumps({**GOOD, "digest": "d2"}) + "\n",
        json.dumps({"result": "dry_run", "warnings": [{"a": []}], "questions": [GOOD], "count": 1}, indent=2),
        json.dumps([{**GOOD, "type": "llm_judge", "evidence": {"steps": [1]}, "x-note": 1}], indent=2),
    ],
)
def test_a_list_lines_and_a_filled_in_dry_run_are_read_alike(tmp_path: Path, text: str) -> None:
    assert only(answers(tmp_path, text), question()) == Answer(0.8, "Kind.", "ann")


def test_a_digest_goes_before_a_trace_and_a_trace_before_a_session(tmp_path: Path) -> None:
    place = {"session": "S", "at": AT}
    judge = answers(
        tmp_path,
        json.dumps(
            [{**place, "score": 0.1}, {**place, "trace": "t-2", "score": 0.2}, {**GOOD, "score": 0.3}]
        ),
    )
    scores = [
        only(judge, question("other", ("S", "t-1", AT))),
        only(judge, question("other", ("S", "t-2", AT))),
        only(judge, question("d1", ("S", "t-2", AT))),
        only(judge, question("other", ("T", "t-2", AT))),
    ]
    assert [answer and answer.score for answer in scores] == [0.1, 0.2, 0.3, None]


def test_an_error_is_an_answer_and_a_null_score_is_none(tmp_path: Path) -> None:
    text = json.dumps([{"digest": "d1", "error": "cannot be told"}, {"digest": "d2", "score": None}])
    judge = answers(tmp_path, text)
    assert only(judge, question("d1")) == Answer(None, "", "recorded", "cannot be told")
    assert only(judge, question("d2")) is None


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"digest": "d", "scor": 1}, "did you mean `score`?"),
        ({"digest": "d"}, "`score` from 0 to 1, or an `error`"),
        ({"digest": "d", "score": 5}, "from 0 to 1, not 5"),
        ({"digest": "d", "score": True}, "from 0 to 1, not true"),
        ({"digest": "d", "score": "0.5"}, "from 0 to 1"),
        ({"digest": "d", "score": float("nan")}, "from 0 to 1"),
        ({"digest": "d", "score": 1, "error": "e"}, "not both"),
        ({"digest": 7, "score": 1}, "`digest` must be text"),
        ({"session": "S", "score": 1}, "`session` and `at`"),
        ({"session": "S", "at": "behaviors[0].matches_when", "score": 1}, "by its `digest`"),
        ({"digest": "good", "score": 1}, "answers.json:2 answers this question already"),
        ("text", "an answer is an object"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, entry: Any, message: str) -> None:
    text = f"[\n{json.dumps({**GOOD, 'digest': 'good'}, indent=1)},\n{json.dumps(entry)}]"
    with pytest.raises(UsageError) as raised:
        answers(tmp_path, text)
    assert str(raised.value).startswith(f"{tmp_path / 'answers.json'}:8: ")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "text", ["", "[", '{"digest": "d", "score": 1}\n{"digest"', "[" * 100_000, "1" * 5000]
)
def test_a_file_that_is_no_json_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError) as raised:
        answers(tmp_path, text)
    assert "\n" not in str(raised.value)


def test_several_files_are_one_and_what_is_not_answered_in_one_may_be_in_another(tmp_path: Path) -> None:
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps([{**GOOD, "score": None}, {**GOOD, "digest": "d2"}]), encoding="utf-8")
    second.write_text(json.dumps(GOOD), encoding="utf-8")
    assert set(read(first, second).answers) == {"d1", "d2"}
    with pytest.raises(UsageError, match=r"second.json:1: .*second.json:1 answers this question already"):
        read(second, first, second)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be read"):
        open_judge("recorded", {"answers": [str(tmp_path / "no.json")]})
    assert list(JUDGES) == ["recorded"]


@given(
    entries=st.dictionaries(
        st.text(min_size=1), st.tuples(st.floats(0, 1), st.text(), st.dictionaries(st.text(), st.text()))
    ),
    indent=st.sampled_from([None, 2]),
    wrapped=st.booleans(),
)
def test_every_answer_written_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    entries: dict[str, tuple[float, str, dict[str, str]]],
    indent: int | None,
    wrapped: bool,
) -> None:
    rows = [
        {"digest": digest, "evidence": evidence, "score": score, "reason": reason}
        for digest, (score, reason, evidence) in entries.items()
    ]
    text = json.dumps(
        {"warnings": [{"questions": [1]}], "questions": rows} if wrapped else rows, indent=indent
    )
    judge = answers(tmp_path_factory.mktemp("answers"), text)
    assert {key: answer.score for key, answer in judge.answers.items()} == {
        digest: score for digest, (score, _, _) in entries.items()
    }


def test_answers_to_no_question_are_told_file_by_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text(json.dumps([{**GOOD, "digest": name} for name in ("d1", "d2", "d3", "d4")], indent=0))
    other.write_text(json.dumps({"session": "S", "at": AT, "score": 1}))
    judge = read(one, other)
    judge.ask([question("d1"), question("d9")])
    assert [str(warning) for warning in judge.unused()] == [
        f"{one}:8: answers no question that was asked, nor do 2 more of the file",
        f"{other}:1: answers no question that was asked",
    ]
    judge.ask([question("d2"), question("d3"), question("d4"), question("d5", ("S", "t", AT))])
    assert judge.unused() == ()


def test_a_key_that_is_there_twice_is_refused_at_its_answer(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"answers.json:2: a key is there twice in one object"):
        answers(tmp_path, '[{"digest": "d1", "score": 1},\n{"digest": "d2", "score": 1, "score": 0}]')


def test_a_file_that_is_no_text_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_bytes(b"[\xff]")
    with pytest.raises(UsageError, match=r"answers.json: is no UTF-8 text \(byte 1\)"):
        read(tmp_path / "answers.json")
