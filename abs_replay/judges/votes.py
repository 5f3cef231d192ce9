"""Several answers of one judge to one question, made into one that decides."""

from collections.abc import Sequence
from dataclasses import dataclass

from abs_replay.judgement import NO_USAGE, Answer, Usage
from abs_replay.judges.engine import Engine, Sample


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer; `cached` where it was there already, and cost nothing."""

    sample: Sample
    cached: bool = False

    @property
    def usage(self) -> Usage:
        return NO_USAGE if self.cached else self.sample.usage


def decided(engine: Engine, votes: Sequence[Vote], wanted: int) -> Answer:
    """The lower median of the votes; an error where more than half of those wanted have no score.

    Of an even number the lower of both middle ones counts: a tie does not pass.
    """
    scored = sorted(
        (vote.sample for vote in votes if vote.sample.score is not None), key=lambda one: one.score or 0
    )
    enough = 2 * len(scored) > wanted
    chosen = scored[(len(scored) - 1) // 2] if enough else _without_score(votes)
    return Answer(
        chosen.score,
        chosen.reason,
        engine.shown,
        None if enough else chosen.error or "too few votes gave a score",
        fingerprint=engine.fingerprint,
        scores=_scores(votes) if wanted > 1 else (),
        cached=all(vote.cached for vote in votes),
        usage=sum((vote.usage for vote in votes), NO_USAGE),
        duration_ms=sum(_took(vote) for vote in votes),
    )


def _without_score(votes: Sequence[Vote]) -> Sample:
    return next(vote.sample for vote in votes if vote.sample.score is None)


def _scores(votes: Sequence[Vote]) -> tuple[float, ...]:
    return tuple(vote.sample.score for vote in votes if vote.sample.score is not None)


def _took(vote: Vote) -> float:
    return 0.0 if vote.cached else sum(attempt.duration_ms for attempt in vote.sample.attempts)


def silent(engine: Engine | None, error: str) -> Answer:
    """No answer, and why."""
    shown, fingerprint = (engine.shown, engine.fingerprint) if engine else ("", "")
    return Answer(None, "", shown, error, fingerprint)
