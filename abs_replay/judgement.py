"""Questions that only a judge can answer, their answers, and whoever gives them.

The evaluator never asks. It says what it would ask, as `Question`s; the shell finds the
answers and evaluates again (DESIGN §2, second idea).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Protocol

from abs_replay.exact_json import Json, dumps
from abs_replay.values import dataclass


@dataclass(frozen=True, slots=True)
class AskedAt:
    """One place that needs an answer: the evaluation `at` of a session, judging a trace."""

    session: str
    trace: str
    at: str


@dataclass(frozen=True, slots=True)
class Question:
    """What one judged rule needs to know. `digest` names everything the answer depends on; `places`
    are all that ask it, known once several traces are judged together."""

    digest: str
    at: str
    type: str
    criteria: str | None
    evidence: Json
    adapter: str | None = None
    prompt: str | None = None
    places: tuple[AskedAt, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """What answers took. `cost` is in US dollars, None where the price of a model is not known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            cost,
        )


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Answer:
    """A judge's answer, 0 to 1, or the reason why there is none.

    `judge` names who answered, for people; `fingerprint` all that the answer depends on besides the
    question: the engine, its model, parameters and prompt. `scores` has one a vote where several were
    asked for: `score` is then their lower median, so that a majority decides at any threshold and a tie
    does not pass. `usage` is what this grading spent on it, nothing for one that was `cached`.
    """

    score: float | None
    reason: str
    judge: str
    error: str | None = None
    fingerprint: str = ""
    scores: tuple[float, ...] = ()
    cached: bool = False
    usage: Usage = NO_USAGE
    duration_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Judging:
    """What the judging of one grading took: how many questions were `asked`, answered from `kept` answers,
    or left `unanswered`; by the name of each judge, what it took."""

    asked: int = 0
    kept: int = 0
    unanswered: int = 0
    models: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def usage(self) -> Usage:
        return sum(self.models.values(), NO_USAGE)


class Judge(Protocol):
    """Anything that answers questions in bulk, by their digests; it may leave some out."""

    def ask(self, questions: Sequence[Question]) -> Mapping[str, Answer]: ...


def digest_of(question: Json) -> str:
    """Name a question by everything its answer depends on; the order of keys is nothing."""
    return hashlib.sha256(dumps(_sorted(question)).encode(errors="surrogatepass")).hexdigest()


def _sorted(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list | tuple) else value
