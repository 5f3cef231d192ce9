"""A cassette's text taken apart exchange by exchange, so that never the whole of it stands in memory as JSON.

As objects, JSON takes up to ten times its text; of each exchange only the bytes are to be kept.
"""

import re
from collections.abc import Callable
from json import JSONDecodeError
from typing import Any

from abs_replay.cassette.document import Document
from abs_replay.json_styles import parse_at

_BETWEEN = ",\n    {"
_BLANK = re.compile(r"[ \t\n\r]*")


def scan(text: str, take: Callable[[Document, int, int], int]) -> Any:
    """Read JSON; tell `take` of each of the `exchanges` with what stands before them, its number, its place.

    It reads it, and gives where it ends. They are left out of what is returned, unless they stand before
    the format. Raises `ValueError`, as `json_styles.parse` does.
    """
    place = _skip(text, 0)
    if text[place : place + 1] != "{":
        value, place = parse_at(text, place)
        return _ended(text, place, value)
    document: Document = {}
    place = _skip(text, place + 1)
    while text[place : place + 1] != "}" or document:
        key, place = _key(text, place, document)
        if key == "exchanges" and "abs_cassette" in document and text[place : place + 1] == "[":
            place = _items(text, place + 1, lambda number, at: take(document, number, at))
            document[key] = []
        else:
            document[key], place = parse_at(text, place)
        place = _skip(text, place)
        if text[place : place + 1] == "}":
            break
        place = _skip(text, _expect(text, place, ","))
    return _ended(text, place + 1, document)


def _key(text: str, place: int, document: Document) -> tuple[str, int]:
    if text[place : place + 1] != '"':
        raise JSONDecodeError("Expecting property name enclosed in double quotes", text, place)
    key, after = parse_at(text, place)
    if key in document:
        raise ValueError(f'"{key}" stands twice in one object')
    return key, _skip(text, _expect(text, _skip(text, after), ":"))


def _items(text: str, place: int, take: Callable[[int, int], int]) -> int:
    place = _skip(text, place)
    number = 0
    while text[place : place + 1] != "]" or number:
        place, number = take(number, place), number + 1
        if text.startswith(_BETWEEN, place):  # as the layout has it
            place += len(_BETWEEN) - 1
            continue
        place = _skip(text, place)
        if text[place : place + 1] == "]":
            break
        place = _skip(text, _expect(text, place, ","))
    return place + 1


def _skip(text: str, place: int) -> int:
    found = _BLANK.match(text, place)
    return found.end() if found else place


def _expect(text: str, place: int, mark: str) -> int:
    if text[place : place + 1] != mark:
        raise JSONDecodeError(f"Expecting '{mark}' delimiter", text, place)
    return place + 1


def _ended(text: str, place: int, value: Any) -> Any:
    place = _skip(text, place)
    if place < len(text):
        raise JSONDecodeError("Extra data", text, place)
    return value
