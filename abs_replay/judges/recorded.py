"""Answers out of files: what people, or a model somewhere else, said (`--judge-answers FILE`).

A file is JSON: a list of answers, one answer a line, or what `abs grade --dry-run --format json`
printed, filled in. An answer names its question by `digest`, or by place, and says what it comes to:

    {"digest": "3f1c…",                                    the question, wherever it is asked
     "session": "Refund", "at": "behaviors[1].evaluations[0]", "trace": "t-1",
                                                           or its place; without `trace`, in every trace
     "score": 0.8, "reason": "Friendly, short.",           0 to 1; null: not answered yet
     "error": "cannot be told",                            instead of a score: an `error` verdict
     "judge": "ann"}                                       who said so [default: recorded]

A digest goes before a place, a place with a trace before one without. Only a digest names the
question of a `matches_when`: it is asked about several steps at one place. Other fields of a question
are ignored, and so are keys that begin with `x-`.
"""

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from abs_replay.errors import Problem, UsageError
from abs_replay.judgement import Answer, Question

ANSWER = ("digest", "session", "trace", "at", "score", "reason", "error", "judge")
QUESTION = ("places", "type", "asks", "criteria", "prompt", "adapter", "evidence")

type Settings = Mapping[str, Sequence[str]]
type Key = str | tuple[str, str | None, str]


@dataclass(frozen=True, slots=True)
class RecordedJudge:
    """Answers by digest, or by (session, trace or None, at)."""

    answers: Mapping[Key, Answer]
    places: Mapping[Key, Problem] = field(default_factory=dict)  # where each answer is written
    used: set[Key] = field(default_factory=set)  # those that were to a question

    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        """Give the answers that the file holds; the others are left out."""
        found = {question.digest: self._answer(question) for question in questions}
        return {digest: answer for digest, answer in found.items() if answer is not None}

    def _answer(self, question: Question) -> Answer | None:
        keys: list[Key] = [question.digest]
        keys += [(place.session, place.trace, place.at) for place in question.places]
        keys += [(place.session, None, place.at) for place in question.places]
        found = [key for key in keys if key in self.answers]
        self.used.update(found)
        return self.answers[found[0]] if found else None

    def unused(self) -> tuple[Problem, ...]:
        """Say for each file which answers were to no question so far: slips, or of another grading."""
        found: dict[str | None, list[Problem]] = {}
        for key, place in self.places.items():
            if key not in self.used:
                found.setdefault(place.file, []).append(place)
        return tuple(_with_count(first, len(others)) for first, *others in found.values())


def _with_count(first: Problem, others: int) -> Problem:
    verb = "does" if others == 1 else "do"
    more = f", nor {verb} {others} more of the file" if others else ""
    return replace(first, message=f"answers no question that was asked{more}")


def open_judge(settings: Settings) -> RecordedJudge:
    """Make a judge of the files that `answers` names; raises `UsageError` as `FILE:LINE: message`."""
    return read(*map(Path, settings["answers"]))


def read(*paths: Path | str) -> RecordedJudge:
    """Read files of answers; raises `UsageError` with the line of what is wrong."""
    answers: dict[Key, Answer] = {}
    places: dict[Key, Problem] = {}
    for path in map(Path, paths):
        for line, value in _entries(_text(path), path):
            entry = _Entry(value, f"{path}:{line}")
            key, answer = entry.key(), entry.answer()
            if answer is None:
                continue
            if key in places:
                before = places[key]
                raise entry.wrong(f"{before.file}:{before.line} answers this question already")
            places[key], answers[key] = Problem("", str(path), line), answer
    return RecordedJudge(answers, places)


class _Entry:
    """One answer as written, with its place in the file."""

    def __init__(self, value: object, where: str) -> None:
        self._where = where
        if not isinstance(value, dict):
            raise self.wrong('an answer is an object: {"digest": .., "score": .., "reason": ..}')
        self._value: dict[str, Any] = value
        for name in value:
            if name not in (*ANSWER, *QUESTION) and not name.startswith("x-"):
                near = difflib.get_close_matches(name, ANSWER, n=1)
                hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(ANSWER)}"
                raise self.wrong(f"unknown key `{name}`: {hint}")

    def wrong(self, message: str) -> UsageError:
        return UsageError(f"{self._where}: {message}")

    def key(self) -> Key:
        digest = self._words("digest")
        if digest is not None:
            return digest
        session, at = self._words("session"), self._words("at")
        if session is None or at is None:
            raise self.wrong("which question? name its `digest`, or its `session` and `at`")
        if at.endswith(".matches_when"):
            raise self.wrong("a matches_when is asked about several steps: name the question by its `digest`")
        return session, self._words("trace"), at

    def answer(self) -> Answer | None:
        """Give the answer; None where the question is not answered yet."""
        score, error = self._value.get("score"), self._words("error")
        if not {"score", "error"} & self._value.keys():
            raise self.wrong("an answer needs a `score` from 0 to 1, or an `error`")
        if score is None and error is None:
            return None
        if score is not None and error is not None:
            raise self.wrong("an answer has a `score` or an `error`, not both")
        if score is not None and not (type(score) in (int, float) and 0 <= score <= 1):
            raise self.wrong(f"`score` must be a number from 0 to 1, not {json.dumps(score)}")
        number = None if score is None else float(score)
        return Answer(number, self._words("reason") or "", self._words("judge") or "recorded", error)

    def _words(self, name: str) -> str | None:
        value = self._value.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(f"`{name}` must be text, not {json.dumps(value)}")
        return value or None


# -- the file --


class _Twice(Exception):
    """An object has a key twice, of which only the last would count."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise _Twice
    return fields


_DECODER = json.JSONDecoder()
_STRICT = json.JSONDecoder(object_pairs_hook=_once)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{path}: can not be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is no UTF-8 text (byte {error.start})") from None


def _entries(text: str, path: Path) -> Iterator[tuple[int, object]]:
    """Every answer with its line."""
    if not text.strip():
        raise UsageError(f"{path}: is empty: fill in what abs grade --dry-run --format json prints")
    try:
        yield from _sequence(text, _start(text), path)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: is no JSON: {error.msg}") from None
    except (RecursionError, ValueError):  # ValueError: a whole number of thousands of digits
        raise UsageError(f"{path}: is nested too deeply, or holds a number that is too long") from None


def _start(text: str) -> int:
    """Where the answers begin: in the list, in that under `questions`, or at the first of several."""
    try:
        whole = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise
        return 0
    if isinstance(whole, list):
        return text.index("[") + 1
    if not isinstance(whole, dict) or not isinstance(whole.get("questions"), list):
        return 0
    at, key = text.index("{") + 1, ""
    while key != "questions":
        key, at = _DECODER.raw_decode(text, _skip(text, at))
        at = _skip(text, at, ":")
        end = _DECODER.raw_decode(text, at)[1]
        start, at = at, end
    return start + 1


def _sequence(text: str, at: int, path: Path) -> Iterator[tuple[int, object]]:
    line, counted = 1, 0
    while (at := _skip(text, at)) < len(text) and text[at] != "]":
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = _STRICT.raw_decode(text, at)
        except _Twice:
            raise UsageError(f"{path}:{line}: a key is there twice in one object: leave one out") from None
        yield line, value


def _skip(text: str, at: int, beside: str = ",") -> int:
    while at < len(text) and text[at] in f" \t\r\n{beside}":
        at += 1
    return at
