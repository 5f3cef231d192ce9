"""Questions put to a judge until none is new (DESIGN §2, second idea): evaluate, ask, evaluate again.

A round asks what all traces leave open, each question once. While a `matches_when` waits for its
answer nothing else of its turn is asked, so it takes a few rounds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from abs_replay.errors import JudgeError
from abs_replay.judgement import Answer, AskedAt, Judge, Question
from abs_replay.predicates.patience import one_run
from abs_replay.scoring import Policy, evaluated, needed, settle
from abs_replay.spec.session import Session
from abs_replay.trace import Trace
from abs_replay.values import dataclass
from abs_replay.verdicts import Run

type Pairs = Sequence[tuple[Trace, Session]]


@dataclass(frozen=True, slots=True)
class Open:
    """What a judge has yet to answer; unless it is `exact`, answers will lead to further questions."""

    questions: tuple[Question, ...]

    @property
    def exact(self) -> bool:
        return not any(question.at.endswith(".matches_when") for question in self.questions)


def judged(pairs: Pairs, policy: Policy = Policy(), judge: Judge | None = None) -> tuple[Run, ...]:
    """Judge each trace by its session. What no judge decides is an error that says so (SEMANTICS R1)."""
    with one_run():
        return tuple(map(settle, _rounds(pairs, policy, _Complete(judge) if judge else None)))


def open_questions(pairs: Pairs, policy: Policy = Policy(), judge: Judge | None = None) -> Open:
    """Say what would be asked, beyond what the judge answers already."""
    return Open(tuple(_questions(_rounds(pairs, policy, judge)).values()))


def _rounds(pairs: Pairs, policy: Policy, judge: Judge | None) -> list[Run]:
    for trace, session in pairs:
        needed(trace, session)
    answers: dict[str, Answer] = {}
    asked: set[str] = set()
    runs = [evaluated(trace, session, answers, policy) for trace, session in pairs]
    while judge is not None:
        new = [question for digest, question in _questions(runs).items() if digest not in asked]
        if not new:
            break
        asked.update(question.digest for question in new)
        found = judge.ask(new)
        answers.update((digest, found[digest]) for digest in asked & found.keys())
        runs = [
            evaluated(trace, session, answers, policy)
            if any(question.digest in found for question in run.questions)
            else run
            for (trace, session), run in zip(pairs, runs, strict=True)
        ]
    return runs


def _questions(runs: Sequence[Run]) -> dict[str, Question]:
    """Every open question once, with all the places that ask it."""
    questions: dict[str, Question] = {}
    places: dict[str, list[AskedAt]] = {}
    for run in runs:
        for question in run.questions:
            questions.setdefault(question.digest, question)
            places.setdefault(question.digest, []).append(AskedAt(run.session, run.trace, question.at))
    return {key: replace(question, places=tuple(places[key])) for key, question in questions.items()}


@dataclass(frozen=True, slots=True)
class _Complete:
    """A judge whose silence is an answer too: an error, never a failed evaluation (SEMANTICS R1)."""

    judge: Judge

    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]:
        try:
            found = self.judge.ask(questions)
        except JudgeError as error:
            return {question.digest: _silence(str(error)) for question in questions}
        return {
            question.digest: found.get(question.digest)
            or _silence(f"the judge has no answer to question {question.digest[:12]} (see --dry-run)")
            for question in questions
        }


def _silence(error: str) -> Answer:
    return Answer(None, "", "", error)
