"""Fields of a JSON file that somebody else wrote: typed, or refused where they stand."""

import math
from collections.abc import Collection, Mapping
from typing import Any, Final

from abs_replay import exact_json
from abs_replay.errors import UsageError
from abs_replay.importers.json_lines import line_of

LARGEST = 2**63  # of 64 bits, as in a store
_KINDS: Final[Mapping[type, str]] = {str: "text", dict: "an object", list: "a list", int: "a whole number"}

_SHORT: Final[Mapping[str, str]] = {"args": "arguments", "params": "arguments", "tool": "target"}


class Place:
    """Where in a file a value stands, for messages: `FILE:LINE: steps[3].seq`.

    `text` is a whole file's, in which the line is looked up. Every value has a place, nearly none needs
    its path: it is put together when it is told.
    """

    __slots__ = ("_above", "_key", "file", "line", "text")

    def __init__(
        self,
        file: str,
        line: int | None = None,
        text: str = "",
        above: "Place | None" = None,
        key: str | int = "",
    ) -> None:
        self.file, self.line, self.text, self._above, self._key = file, line, text, above, key

    def at(self, key: str | int) -> "Place":
        return Place(self.file, self.line, self.text, self, key)

    @property
    def path(self) -> str:
        if self._above is None:
            return ""
        above = self._above.path
        return above + (
            f"[{self._key}]" if isinstance(self._key, int) else f".{self._key}" if above else self._key
        )

    def wrong(self, message: str) -> UsageError:
        path = self.path
        line = self.line or line_of(self.text, path)
        where = f"{self.file}:{line}" if line else self.file
        return UsageError(": ".join(part for part in (where, path, message) if part))


def refuse_misspelt(fields: Mapping[str, Any], known: Mapping[str, object], place: Place) -> None:
    """Refuse what is nearly a known key that is absent: ignored, it would be missed silently.

    Other unknown keys are those of later versions, which are ignored (FORMATS).
    """
    if fields.keys() <= known.keys():
        return
    for key in fields:
        near = None if key in known else _SHORT.get(key) or nearest(key, known, 0.8)
        if near in known and near not in fields:
            raise place.at(key).wrong(f"is no known key; did you mean {near!r}?")


def nearest(word: str, known: Collection[str], cutoff: float) -> str | None:
    """Give the known word that another is nearly, if there is one."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(word.strip().lower(), known, n=1, cutoff=cutoff)), None)


def required(fields: Mapping[str, Any], key: str, kind: type, place: Place) -> Any:
    if key not in fields:
        raise place.wrong(f"has no {key}; add it")
    return typed(fields[key], kind, place, key)


def optional(fields: Mapping[str, Any], key: str, kind: type, place: Place) -> Any:
    value = fields.get(key)
    return None if value is None else typed(value, kind, place, key)


def text(fields: Mapping[str, Any], key: str, place: Place) -> str | None:
    value: str | None = fields.get(key)
    if value is not None:
        typed(value, str, place, key)
    return value


def texts(fields: Mapping[str, Any], key: str, place: Place) -> dict[str, str]:
    values = optional(fields, key, dict, place)
    if not values:
        return {}
    return {name: typed(value, str, place.at(key).at(name)) for name, value in values.items()}


def number(fields: Mapping[str, Any], key: str, place: Place) -> float | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | exact_json.Number):
        raise place.at(key).wrong(f"is {shown(value)}, not a number")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if math.isinf(found):
        raise place.at(key).wrong(f"is {shown(value)}, which is too large")
    return found


def typed(value: Any, kind: type, place: Place, key: str | None = None) -> Any:
    """Give a value of that kind, or say that it is none; it stands at `place`, or under `key` there."""
    if type(value) is kind and kind is not int:  # nearly all, of which nothing else can be wrong
        return value
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _there(place, key).wrong(f"is {shown(value)}, not {_KINDS[kind]}")
    if isinstance(value, int) and abs(value) >= LARGEST:
        raise _there(place, key).wrong(f"is {shown(value)}, which is too large")
    return value


def _there(place: Place, key: str | None) -> Place:
    return place if key is None else place.at(key)


def shown(value: Any) -> str:
    text = exact_json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."
