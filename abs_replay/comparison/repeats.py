"""What the same judge said to the same question at other times: whether asking again could undo a flip."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from abs_replay.comparison import Comparison
from abs_replay.comparison.flips import Flip, resting
from abs_replay.verdicts import Verdict

type Asked = tuple[str, str]  # the question's digest, the judge's fingerprint
type Said = Mapping[Asked, tuple[float, ...]]


def asked(comparison: Comparison) -> set[Asked]:
    """What the flips rest on, on either side."""
    verdicts = (side.verdict for flip in comparison.flips for side in (flip.before, flip.after))
    return {each for verdict in verdicts if verdict for _, each in _judged(verdict)}


def with_repeats(comparison: Comparison, said: Said) -> Comparison:
    """Mark flips of which a side was also answered otherwise; `said` has all scores that are known."""
    flips = tuple(_marked(flip, said) for flip in comparison.flips)
    results = resting(comparison.results, flips + comparison.matches, comparison.incomparable)
    return replace(comparison, flips=flips, results=results)


def _marked(flip: Flip, said: Said) -> Flip:
    sides = (flip.before.verdict, flip.after.verdict)
    return replace(flip, wavers=any(_wavers(verdict, said) for verdict in sides if verdict))


def _wavers(verdict: Verdict, said: Said) -> bool:
    return any(
        len({score >= (judged.threshold or 0.0) for score in said.get(each, ())}) > 1
        for judged, each in _judged(verdict)
    )


def _judged(verdict: Verdict) -> Iterator[tuple[Verdict, Asked]]:
    """The verdict, or its parts, that a judge decided."""
    if verdict.judged is not None:
        yield verdict, (verdict.judged.question, verdict.judged.judge)
    for child in verdict.children:
        yield from _judged(child)
