"""How often a judge decides otherwise though nothing changed: the floor that flips have to rise above.

Two sources tell, and each question counts once in each: what the same judge was asked again in the later
grading, with nothing edited (A/A), and votes on one question. Votes are single answers, and of several the
majority wavers less: a floor from votes is rather too high, which makes the test say less, not more.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from abs_replay.comparison.flips import DECIDED
from abs_replay.comparison.pairing import Check
from abs_replay.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class Floor:
    """Of so many questions asked twice, how many (of votes: which part) were decided otherwise."""

    pairs: int = 0
    otherwise: float = 0.0

    @property
    def rate(self) -> float | None:
        return self.otherwise / self.pairs if self.pairs else None


NO_FLOOR = Floor()


def floor_of(pairs: Iterable[tuple[Check, Check]]) -> Floor:
    """The floor that two gradings show."""
    count, otherwise = 0, 0.0
    for old, new in pairs:
        if asked_again(old, new):
            count += 1
            otherwise += old.status is not new.status
        for check in (old, new):
            if (differ := votes_differ(check.verdict)) is not None:
                count += 1
                otherwise += differ
    return Floor(count, otherwise)


def asked_again(old: Check, new: Check) -> bool:
    """Whether the same judge was asked the same now, and both answers were decided alike."""
    before, after = old.verdict, new.verdict
    if before is None or after is None or before.judged is None or after.judged is None:
        return False
    same = (before.judged.question, before.judged.judge) == (after.judged.question, after.judged.judge)
    alike = bool(after.fingerprint) and before.fingerprint == after.fingerprint
    return same and alike and after.judged.usage.calls > 0 and {old.status, new.status}.issubset(DECIDED)


def votes_differ(verdict: Verdict | None) -> float | None:
    """How often two of a judge's votes on one question come out differently; None for less than two."""
    if verdict is None or verdict.judged is None or len(verdict.judged.scores) < 2:
        return None
    votes, threshold = len(verdict.judged.scores), verdict.threshold or 0.0
    passed = sum(score >= threshold for score in verdict.judged.scores)
    return 2 * passed * (votes - passed) / (votes * (votes - 1))


def beyond(flipped: int, pairs: int, floor: Floor) -> float | None:
    """The p-value of as many flips, or more, if they were noise alone: Fisher's exact test, one-sided.

    None where nothing flipped, or nothing was asked twice.
    """
    if not flipped or not floor.pairs:
        return None
    from scipy.stats import fisher_exact  # type: ignore[import-untyped]

    otherwise = round(floor.otherwise)
    table = [[flipped, pairs - flipped], [otherwise, floor.pairs - otherwise]]
    return float(fisher_exact(table, alternative="greater").pvalue)
