"""What a judge's engine is: one way of asking a model, or a service, one question.

An engine knows neither store nor other questions. Who asks in bulk, remembers, counts votes and money
is the panel.
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from abs_replay.errors import JudgeError
from abs_replay.exact_json import Json
from abs_replay.judgement import NO_USAGE, Question, Usage
from abs_replay.values import dataclass

# How one call ended. `read`: it gave an answer. The others gave none, and each is its own trouble:
# `unreadable` (not what was asked for), `refused` (the model would not), `cut_off` (the output limit came
# first), `failed` (no reply: network, time-out, an error status).
type Outcome = Literal["read", "unreadable", "refused", "cut_off", "failed"]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call of an engine, kept whatever it came to. `sent` and `reply` are texts as they went."""

    outcome: Outcome
    sent: str
    reply: str
    problem: str | None = None  # why it was not read
    model: str | None = None  # as the reply names it: aliases drift
    finish_reason: str | None = None
    usage: Usage = NO_USAGE
    duration_ms: float = 0.0
    at: float = 0.0  # Unix seconds


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer to one question, however many attempts it took.

    `score` is 0 to 1. Without one `error` says why; `settled` is then whether asking again is of no use
    (the judge says that it can not be told) or might help (no answer was readable, the service was away).
    `details` is what the judge said besides: evidence, verdicts by criterion, the raw score.
    """

    score: float | None
    reason: str
    error: str | None = None
    settled: bool = True
    attempts: tuple[Attempt, ...] = ()
    details: Mapping[str, Json] | None = None

    @property
    def usage(self) -> Usage:
        return sum((attempt.usage for attempt in self.attempts), NO_USAGE)


class Stopped(JudgeError):
    """What no other question would fare better with, and what was tried until that was known."""

    def __init__(self, problem: str, attempts: tuple[Attempt, ...]) -> None:
        super().__init__(problem)
        self.attempts = attempts


class Engine(Protocol):
    """One engine with its model and parameters, made by `open_engine(settings)` of its module.

    `name` is that of the registry, `shown` tells people who answers (`openai gpt-4o-mini`), `fingerprint`
    names all that an answer depends on besides the question and chance: engine, endpoint, model,
    parameters, prompt.
    """

    @property
    def name(self) -> str: ...

    @property
    def shown(self) -> str: ...

    @property
    def fingerprint(self) -> str: ...

    def refuses(self, question: Question) -> str | None:
        """Why this engine can not decide such a question at all (`aws has no safety evaluators`), if so."""
        ...

    def estimate(self, question: Question) -> Usage:
        """What one call would take, from the texts that would be sent; nothing is sent."""
        ...

    async def sample(self, question: Question, number: int) -> Sample:
        """Ask. `number` counts the votes on one question from 0.

        Rate limits, time-outs and unreadable replies are this call's business, up to its bounds; what is
        left of them is a `Sample` with an `error`. Raises `JudgeError` only for what no other question
        would fare better with: a wrong key, an unknown model; as `Stopped` with what was tried.
        """
        ...

    async def close(self) -> None: ...
