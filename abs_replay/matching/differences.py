"""Why two requests differ, place by place, and which recorded request is nearest to one that missed."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from abs_replay.matching.canonical import Canonical, text_of
from abs_replay.spec.places import Path as Place
from abs_replay.spec.places import written

MOST = 12
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Difference:
    """One place (`body.messages[1].content`) with both values as text; None where one has no such place."""

    path: str
    recorded: str | None
    asked: str | None
    place: tuple[str | int, ...] = ()  # the same place, step by step

    def __str__(self) -> str:
        recorded, asked = _around(self.recorded, self.asked)
        return f"{self.path}: recorded {recorded}, asked {asked}"


def differences(recorded: Canonical, asked: Canonical) -> tuple[Difference, ...]:
    """List where two requests differ, at most `MOST` places; none where their canonical forms are equal."""
    if recorded.key == asked.key:
        return ()
    found = []
    for difference in _compare(recorded, asked):
        found.append(difference)
        if len(found) == MOST:
            break
    return tuple(found)


def _compare(recorded: Canonical, asked: Canonical) -> Iterator[Difference]:
    yield from _values(("method",), recorded.method, asked.method)
    yield from _values(("path",), recorded.path, asked.path)
    yield from _values(("query",), _query(recorded), _query(asked))
    if recorded.document is not None and asked.document is not None:
        yield from _values(("body",), recorded.document, asked.document)
    else:
        yield from _values(("body",), recorded.body, asked.body)


def _query(form: Canonical) -> dict[str, str]:
    pairs = form.target.partition("?")[2].split("&")
    return {name: value for name, _, value in (pair.partition("=") for pair in pairs) if name}


def _values(place: Place, recorded: Any, asked: Any) -> Iterator[Difference]:
    if isinstance(recorded, dict) and isinstance(asked, dict):
        for key in [*recorded, *(key for key in asked if key not in recorded)]:
            yield from _inner((*place, key), recorded, asked)
    elif isinstance(recorded, list) and isinstance(asked, list):
        then, now = dict(enumerate(recorded)), dict(enumerate(asked))
        for number in range(max(len(then), len(now))):
            yield from _inner((*place, number), then, now)
    elif text_of(recorded) != text_of(asked):
        yield _difference(place, text_of(recorded), text_of(asked))


def _inner(place: Place, recorded: dict[Any, Any], asked: dict[Any, Any]) -> Iterator[Difference]:
    key = place[-1]
    if key not in recorded:
        yield _difference(place, None, text_of(asked[key]))
    elif key not in asked:
        yield _difference(place, text_of(recorded[key]), None)
    else:
        yield from _values(place, recorded[key], asked[key])


def _difference(place: Place, recorded: str | None, asked: str | None) -> Difference:
    return Difference(written(place), recorded, asked, place)


def _around(recorded: str | None, asked: str | None) -> tuple[str, str]:
    """Cut two long texts to where they begin to differ."""
    same = _common(recorded or "", asked or "")
    start = max(0, same - _SHOWN // 3) if max(len(recorded or ""), len(asked or "")) > _SHOWN else 0
    return _cut(recorded, start), _cut(asked, start)


def _cut(text: str | None, start: int) -> str:
    if text is None:
        return "nothing"
    shown = text[start : start + _SHOWN]
    return f"{'…' if start else ''}{shown}{'…' if start + _SHOWN < len(text) else ''}"


def distance(recorded: Canonical, asked: Canonical) -> float:
    """How far apart two requests are: about the number of places, less for texts that are much alike."""
    return sum(_WEIGHTS.get(one.path, 1.0) * _unlike(one) for one in _compare(recorded, asked))


_WEIGHTS = {"path": 50.0, "method": 20.0}


def _unlike(one: Difference) -> float:
    if one.recorded is None or one.asked is None:
        return 1.0
    longest = max(len(one.recorded), len(one.asked), 1)
    before = _common(one.recorded, one.asked)
    rest = min(len(one.recorded), len(one.asked)) - before
    after = _common(one.recorded[::-1][:rest], one.asked[::-1][:rest])
    return max(0.05, 1 - (before + after) / longest)


def _common(left: str, right: str) -> int:
    """The length of two texts' common beginning, by halving: texts may be long."""
    return bisect_left(
        range(1, min(len(left), len(right)) + 1), True, key=lambda end: left[:end] != right[:end]
    )


def nearest(forms: Sequence[Canonical], asked: Canonical) -> int | None:
    """Give the index of the recorded request that is nearest, the earliest of equals."""
    # A miss must not stall a large cassette: of very many, those of about the same length are compared.
    indices: Sequence[int] = range(len(forms))
    if len(forms) > 200:
        length = len(asked.body)
        ranked = sorted(
            indices, key=lambda i: (forms[i].path != asked.path, abs(len(forms[i].body) - length))
        )
        indices = sorted(ranked[:200])
    return min(indices, key=lambda index: distance(forms[index], asked), default=None)
