"""What it means that a text, a JSON value or a pattern fits: pure, and blind to rules and steps.

Alignment and the evaluators share these, so that a behavior and an evaluation never disagree on
what `with`, `contains` or `regex` mean. Values come in as parsed JSON; nothing is changed.
"""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from abs_replay.exact_json import Json, dumps, equal, loads

_LINE_ENDS = {ord("\n"): "\\n", ord("\r"): "\\r"}


class Undecided(Exception):
    """What is neither true nor false: the time limit, a pattern that no engine takes, a value too deep."""


# -- values as text and as structure --


@lru_cache(maxsize=128)
def normalised(text: str, fold: bool) -> str:
    """Bring text into the form in which `contains` compares (SEMANTICS E2)."""
    composed = text if text.isascii() else unicodedata.normalize("NFC", text)
    return composed.casefold() if fold else composed


def contains(text: str, part: str, *, case_sensitive: bool = False) -> bool:
    """Find `part` in `text` after NFC and, unless told otherwise, case folding (SEMANTICS E2)."""
    if text.isascii() and part in text:  # what is found as it is, is found in either form of ASCII
        return True
    fold = not case_sensitive
    return normalised(part, fold) in normalised(text, fold)


def as_text(content: Json) -> str:
    """Write content the way text rules search it: compact JSON, null as the empty text (E2)."""
    if isinstance(content, str):
        return content
    return "" if content is None else dumps(content)


def structured(content: Json) -> Json:
    """Give the object or list that a text wholly is, and anything else as it is (SEMANTICS A6, E4)."""
    return _parsed(content) if isinstance(content, str) else content


@lru_cache(maxsize=128)
def _parsed(text: str) -> Json:
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]"):
        return text
    try:
        value: Json = loads(bare)
    except (ValueError, ArithmeticError, RecursionError):
        return text
    return value


def arguments_of(arguments: Json) -> Json:
    """Give a call's arguments as the object they stand for: none are `{}` (SEMANTICS A5)."""
    if arguments is None or arguments == "":
        return {}
    parsed = structured(arguments)
    return parsed if isinstance(parsed, Mapping) else arguments


def shown(value: Json, limit: int = 80) -> str:
    """Quote a value for a reason, on one line and visibly shortened."""
    try:
        text = f'"{value[: limit + 1]}"' if isinstance(value, str) else dumps(value)
    except RecursionError:
        return f"{json_type(value)} nested too deep to show"
    whole = len(value) <= limit if isinstance(value, str) else len(text) <= limit
    text = text if whole else f"{text[:limit]}…"
    return text.translate(_LINE_ENDS) if "\n" in text or "\r" in text else text


# -- JSON values --


def fits(wanted: Mapping[str, Json], observed: Json, *, strict: bool = False) -> bool:
    """Check arguments against `with`, or with `strict` against `with_only` (SEMANTICS A5)."""
    return equal(wanted, observed) if strict else _partly(wanted, observed)


def _partly(wanted: Mapping[str, Json], observed: Json) -> bool:
    if not isinstance(observed, Mapping):
        return False
    for key, value in wanted.items():
        if key not in observed:
            return False
        found = observed[key]
        if not (_partly(value, found) if isinstance(value, Mapping) else equal(value, found)):
            return False
    return True


def misfit(wanted: Mapping[str, Json], observed: Json, *, strict: bool = False, path: str = "") -> str | None:
    """Say in a few words where arguments differ from what `fits` wants; None where they do not."""
    if not isinstance(observed, Mapping):
        return f"{path or 'the arguments'}: expected an object, observed {shown(observed)}"
    for key, value in wanted.items():
        place = f"{path}.{key}" if path else key
        if key not in observed:
            return f"{place}: expected {shown(value)}, observed no such key"
        if isinstance(value, Mapping):
            inner = misfit(value, observed[key], strict=strict, path=place)
            if inner:
                return inner
        elif not equal(value, observed[key]):
            return f"{place}: expected {shown(value)}, observed {shown(observed[key])}"
    extra = next((key for key in observed if key not in wanted), None) if strict else None
    return None if extra is None else f"{path + '.' if path else ''}{extra}: expected no such key"


def json_type(value: Json) -> str:
    """Name the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, Mapping):
        return "object"
    return "list" if isinstance(value, Sequence) else "number"


def unlike(wanted: Json, observed: Json, path: str = "the content") -> str | None:
    """Say where the structure differs (SEMANTICS A6); None where it does not. Texts are taken as they are."""
    if isinstance(wanted, Mapping) and isinstance(observed, Mapping):
        for key, value in wanted.items():
            if key not in observed:
                return f"{path} has no {shown(key)}"
            inner = unlike(value, observed[key], f"{path}.{key}")
            if inner:
                return inner
        return None
    kinds = json_type(wanted), json_type(observed)
    return None if kinds[0] == kinds[1] else f"{path} is {kinds[1]}, expected {kinds[0]}"
