"""Judges against the people who labelled what they judged: calibrations, by evaluation and judge."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from abs_replay.comparison.confusion import Confusion, Corrected, corrected
from abs_replay.comparison.statistics import wilson
from abs_replay.labels import FAIL, PASS, UNSURE, Opinion, Place, Population

type Key = tuple[str, str, str | None, str | None]  # session, at, judge, its fingerprint


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One place on which people and the judge decided differently."""

    place: Place
    human: str
    status: str
    score: float | None
    who: tuple[str, ...]
    notes: tuple[str, ...]
    reason: str

    @property
    def distance(self) -> float:
        """How far the judge was off, 0 to 1; 0 where it gave no score."""
        if self.score is None:
            return 0.0
        return 1 - self.score if self.human == PASS else self.score


@dataclass(frozen=True, slots=True)
class Calibration:
    """One judge on one evaluation, against the people who labelled it.

    Left out of `table`: what is `stale`, what people are `unsure` or `split` about, what the judge left
    `undecided`. `current` is whether this judge's answers stand now.
    """

    session: str
    at: str
    type: str
    label: str
    judge: str | None
    judge_fingerprint: str | None
    current: bool
    table: Confusion = field(default_factory=Confusion)
    stale: int = 0
    unsure: int = 0
    split: int = 0
    undecided: int = 0
    worst: tuple[Disagreement, ...] = ()
    population: Population | None = None

    @property
    def corrected(self) -> Corrected | None:
        """The pass rate of what stands now, corrected; None where `uncorrected` says why not."""
        if self.uncorrected or self.population is None:
            return None
        return corrected(self.table, self.population.passed, self.population.decided)

    @property
    def uncorrected(self) -> str | None:
        """Why there is no corrected pass rate."""
        if self.population is None or not self.population.decided:
            return "this judge's answers stand nowhere now"
        if not self.table.total:
            return "all labels are stale" if self.stale else "nothing that it judged is labelled"
        if self.table.tpr is None or self.table.tnr is None:
            return f"no label says {FAIL if self.table.tnr is None else PASS}"
        if self.table.tpr + self.table.tnr <= 1:
            return "the judge is no better than chance"
        return None

    @property
    def unlike(self) -> bool:
        """Whether the judge passes another share of what is labelled than of the whole: then the labels are
        no sample of it, and TPR and TNR may be off."""
        if self.population is None or not self.table.total or not self.population.decided:
            return False
        low, high = wilson(self.table.passed + self.table.waved_through, self.table.total)
        return not low <= self.population.passed / self.population.decided <= high


def calibrations(
    opinions: Iterable[Opinion], populations: Iterable[Population] = ()
) -> tuple[Calibration, ...]:
    """Compare people with judges, by evaluation and judge; judges whose answers stand, but who judged nothing
    that is labelled, are there with an empty table."""
    by_key: defaultdict[Key, list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        by_key[opinion.session, opinion.at, opinion.judge, opinion.judge_fingerprint].append(opinion)
    known: dict[Key, Population] = {(p.session, p.at, p.judge, p.judge_fingerprint): p for p in populations}
    keys = dict.fromkeys([*by_key, *(key for key, each in known.items() if each.labelled)])
    found = (_calibration(by_key.get(key, ()), known.get(key)) for key in keys)
    return tuple(sorted(found, key=lambda each: (each.session, each.at, not each.current, each.judge or "")))


def _calibration(opinions: Sequence[Opinion], population: Population | None) -> Calibration:
    first = next((each for each in opinions if each.current), None) or (opinions[0] if opinions else None)
    what = first or population
    assert what is not None
    by_place: defaultdict[Place, list[Opinion]] = defaultdict(list)
    for opinion in opinions:
        if not opinion.stale:
            by_place[Place(opinion.session, opinion.trace, opinion.at)].append(opinion)
    said = {place: consensus([each.human for each in found]) for place, found in by_place.items()}
    decided = {
        place: (said[place], found[0].judged)
        for place, found in by_place.items()
        if said[place] in (PASS, FAIL)
    }
    pairs = Counter(decided.values())
    return Calibration(
        session=what.session,
        at=what.at,
        type=what.type,
        label=what.label,
        judge=what.judge,
        judge_fingerprint=what.judge_fingerprint,
        current=population is not None,
        table=Confusion(pairs[PASS, PASS], pairs[FAIL, PASS], pairs[PASS, FAIL], pairs[FAIL, FAIL]),
        stale=len({each.trace for each in opinions if each.stale}),
        unsure=sum(word == UNSURE for word in said.values()),
        split=sum(word is None for word in said.values()),
        undecided=sum(judged is None for _, judged in decided.values()),
        worst=_worst(
            [
                (place, human, by_place[place])
                for place, (human, judged) in decided.items()
                if judged and human != judged
            ]
        ),
        population=population,
    )


def consensus(words: Sequence[str]) -> str | None:
    """What most of those who decided say; `unsure` where nobody did, None where they are as many."""
    counts = Counter(word for word in words if word in (PASS, FAIL))
    if not counts:
        return UNSURE
    if counts[PASS] == counts[FAIL]:
        return None
    return PASS if counts[PASS] > counts[FAIL] else FAIL


def _worst(found: Iterable[tuple[Place, str | None, Sequence[Opinion]]]) -> tuple[Disagreement, ...]:
    all_ = [
        Disagreement(
            place,
            str(human),
            opinions[0].status,
            opinions[0].score,
            tuple(each.who for each in opinions if each.human == human),
            tuple(each.note for each in opinions if each.human == human and each.note),
            opinions[0].reason,
        )
        for place, human, opinions in found
    ]
    return tuple(sorted(all_, key=lambda each: (-each.distance, each.place.trace)))
