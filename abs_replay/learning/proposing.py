"""From differences that have no meaning to the rules of `match.ignore` that take them out."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from abs_replay.exchange import Channel
from abs_replay.learning.meaning import Verdict
from abs_replay.learning.places import GONE, Place, Spot, Where
from abs_replay.learning.texts import Part, pattern_for
from abs_replay.spec.ignoring import Ignore, matching
from abs_replay.spec.paths import Wild

type Values = tuple[Any, Any]  # recorded, and asked
type Loose = tuple[str | int | Wild, ...]  # a place in which list positions are left open


@dataclass(frozen=True, slots=True)
class Judged:
    """One difference of a pair (by its number), and what it comes to."""

    pair: int
    channel: Channel
    spot: Spot
    part: Part | None
    verdict: Verdict

    @property
    def values(self) -> Values:
        return (self.part.then, self.part.now) if self.part else (self.spot.then, self.spot.now)


@dataclass(frozen=True, slots=True)
class Rule:
    """An ignore rule as it is written, and as it is applied, with the differences that speak for it."""

    written: Mapping[str, str]
    applied: Ignore
    seen: tuple[Judged, ...]

    @property
    def pairs(self) -> frozenset[int]:
        return frozenset(each.pair for each in self.seen)


def rules(judged: Sequence[Judged], elsewhere: Collection[tuple[Channel, Place]]) -> tuple[Rule, ...]:
    """Every rule that takes out something fresh.

    `elsewhere` are places of the same requests in which both were equal: a path with `[*]` must spare them.
    """
    fresh = [each for each in judged if each.verdict is Verdict.FRESH]
    spared = {
        *elsewhere,
        *((each.channel, each.spot.place) for each in judged if each.verdict is not Verdict.FRESH),
    }
    groups: dict[object, list[Judged]] = {}
    for each in fresh:
        groups.setdefault(_group(each, fresh, spared), []).append(each)
    found = (_rule(seen, _place(seen[0], fresh, spared)) for seen in groups.values())
    return tuple(rule for rule in found if rule is not None)


def _group(each: Judged, fresh: Sequence[Judged], spared: Collection[tuple[Channel, Place]]) -> object:
    before = each.part.before if each.part and _is_partial(each) else None
    return each.channel, each.spot.where, _place(each, fresh, spared), before


def _is_partial(each: Judged) -> bool:
    """Whether only a part of the value differs, or whether the place has no rule but a pattern."""
    if each.spot.where in (Where.PATH, Where.TEXT):
        return True
    return each.part is not None and each.values != (each.spot.then, each.spot.now)


def _place(each: Judged, fresh: Sequence[Judged], spared: Collection[tuple[Channel, Place]]) -> Loose:
    """The place, with `[*]` for the positions of a list that differ in all its items."""
    exact = each.spot.place
    if not any(isinstance(step, int) for step in exact):
        return exact
    loose = tuple(Wild.EVERY if isinstance(step, int) else step for step in exact)
    alike = {one.spot.place for one in fresh if one.channel == each.channel and _fits(loose, one.spot.place)}
    hit = any(channel == each.channel and _fits(loose, place) for channel, place in spared)
    return exact if hit or len(alike) < 2 else loose


def _fits(loose: Loose, place: Place) -> bool:
    return len(loose) == len(place) and all(
        isinstance(step, int) if wanted is Wild.EVERY else wanted == step
        for wanted, step in zip(loose, place, strict=True)
    )


def _rule(seen: Sequence[Judged], place: Loose) -> Rule | None:
    first = seen[0]
    written = _where(first.spot.where, place)
    if written is None:
        return None
    if _is_partial(first):
        parts = [each.part for each in seen if each.part is not None]
        pattern = pattern_for(parts)
        if pattern is None or (not written and pattern.startswith("^")):
            return None
        written = {**written, "pattern": pattern}
    written = {**written, "channel": str(first.channel)}
    (applied,) = matching({"ignore": [written]}).ignore
    return Rule(written, applied, tuple(seen))


def _where(where: Where, place: Loose) -> dict[str, str] | None:
    match where:
        case Where.QUERY:
            return {"query": str(place[0])}
        case Where.JSON:
            path = path_text(place)
            return None if path is None else {"json": path}
    return {}


def path_text(place: Loose) -> str | None:
    """Write a place as a path (`spec.paths`); None for a name that no path can say."""
    steps = [*_steps(place)]
    return None if None in steps or not steps else "$" + "".join(filter(None, steps))


def _steps(place: Loose) -> Iterator[str | None]:
    for step in place:
        if step is Wild.EVERY:
            yield "[*]"
        elif isinstance(step, int):
            yield f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", str(step)):
            yield f".{step}"
        else:
            quote = next((each for each in "'\"" if each not in str(step)), None)
            yield None if quote is None else f"[{quote}{step}{quote}]"


def shown(values: Values) -> tuple[str | None, str | None]:
    """Both values as text; None where one has none."""
    then, now = (None if v is GONE else v if isinstance(v, str) else str(v) for v in values)
    return then, now
