"""Where two requests differ, value by value, and a request made of one with chosen values of the other."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from abs_replay.exchange import Body, Request
from abs_replay.learning.texts import Part, parts, replaced
from abs_replay.matching.canonical import Canonical, text_of

type Place = tuple[str | int, ...]

GONE = object()  # where one has no value


class Where(StrEnum):
    """In which part of a request a value stands."""

    JSON = "json"  # at a path in the body
    TEXT = "text"  # the body, which is no JSON
    QUERY = "query"  # a parameter
    PATH = "path"


@dataclass(frozen=True, slots=True)
class Spot:
    """One place in which two requests differ. `parts` say where in two texts, if both are texts."""

    where: Where
    place: Place
    then: Any
    now: Any
    parts: tuple[Part, ...] = ()

    @property
    def key(self) -> str:
        """The name that the value bears."""
        return next((step for step in reversed(self.place) if isinstance(step, str)), "")


def spots(recorded: Canonical, asked: Canonical) -> tuple[Spot, ...]:
    """Every place in which two requests of one method differ."""
    return tuple(_spots(recorded, asked))


def _spots(recorded: Canonical, asked: Canonical) -> Iterator[Spot]:
    if recorded.path != asked.path:
        yield _spot(Where.PATH, (), recorded.path, asked.path)
    then, now = query(recorded.target), query(asked.target)
    for name in dict.fromkeys([*then, *now]):
        if then.get(name) != now.get(name):
            yield _spot(Where.QUERY, (name,), then.get(name, GONE), now.get(name, GONE))
    if recorded.document is not None and asked.document is not None:
        yield from _leaves((), recorded.document, asked.document)
    elif recorded.body != asked.body:
        yield _spot(Where.TEXT, (), recorded.body, asked.body)


def query(target: str) -> dict[str, str]:
    """A target's parameters; those of one name are joined, in order."""
    found: dict[str, str] = {}
    for pair in filter(None, target.partition("?")[2].split("&")):
        name, _, value = pair.partition("=")
        found[name] = f"{found[name]}&{name}={value}" if name in found else value
    return found


def _spot(where: Where, place: Place, then: Any, now: Any) -> Spot:
    texts = isinstance(then, str) and isinstance(now, str)
    return Spot(where, place, then, now, parts(then, now) if texts else ())


def _leaves(place: Place, then: Any, now: Any) -> Iterator[Spot]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in [*then, *(key for key in now if key not in then)]:
            yield from _leaves((*place, key), then.get(key, GONE), now.get(key, GONE))
    elif isinstance(then, list) and isinstance(now, list):
        for number in range(max(len(then), len(now))):
            pair = [each[number] if number < len(each) else GONE for each in (then, now)]
            yield from _leaves((*place, number), *pair)
    elif then is GONE or now is GONE or text_of(then) != text_of(now):
        yield _spot(Where.JSON, place, then, now)


# -- a request of both


type Choice = Callable[[Spot, Part | None], bool]


def made(request: Request, form: Canonical, differing: Collection[Spot], asked: Choice) -> Request:
    """The recorded request, with the other's values where `asked` says so (of a text: of each part)."""
    target, body, document = form.target, form.body, form.document
    pairs = query(target)
    path = form.path
    for spot in differing:
        value = _chosen(spot, asked)
        match spot.where:
            case Where.PATH:
                path = value
            case Where.TEXT:
                body = value
            case Where.QUERY:
                pairs = {**pairs, spot.key: value}
            case _:
                document = _with(document, spot.place, value)
    data = body.encode("latin-1") if document is None else text_of(document).encode("utf-8", "surrogatepass")
    shown = "&".join(f"{name}={value}" for name, value in pairs.items() if value is not GONE)
    return replace(request, target=f"{path}?{shown}" if shown else path, body=Body(data))


def _chosen(spot: Spot, asked: Choice) -> Any:
    if spot.parts:
        return replaced(spot.then, [part for part in spot.parts if asked(spot, part)])
    return spot.now if asked(spot, None) else spot.then


def _with(document: Any, place: Place, value: Any) -> Any:
    if not place:
        return value
    key, rest = place[0], place[1:]
    if isinstance(document, dict):
        inner = _with(document.get(key), rest, value)
        return {k: v for k, v in {**document, key: inner}.items() if v is not GONE}
    items = [*document] + [GONE] * (int(key) + 1 - len(document))
    items[int(key)] = _with(items[int(key)], rest, value)
    while items and items[-1] is GONE:
        items.pop()
    return items
