"""What does not count is taken out of a request before it is compared (`match.ignore`)."""

from collections.abc import Callable, Iterable
from typing import Any

from abs_replay.predicates import Undecided
from abs_replay.predicates.patterns import removed
from abs_replay.spec.paths import Path, Wild

GONE = object()  # where a value was


def reduced(document: Any, path: Path, pattern: str | None) -> Any:
    """The document without the values that a path leads to, or without what a pattern matches in them."""
    if pattern is None:
        changed = _at(document, path, lambda _: GONE)
        return None if changed is GONE else changed
    return _at(document, path, lambda value: _cleaned(value, pattern))


def _at(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    step, rest = path[0], path[1:]
    if step is Wild.DEEP:
        value, step, rest = _at(value, rest, change), Wild.EVERY, path
    return _children(value, lambda key: step is Wild.EVERY or key == step, lambda v: _at(v, rest, change))


def _children(value: Any, chosen: Callable[[Any], bool], change: Callable[[Any], Any]) -> Any:
    match value:
        case dict():
            pairs = ((key, change(each) if chosen(key) else each) for key, each in value.items())
            return {key: each for key, each in pairs if each is not GONE}
        case list():
            found = (change(each) if chosen(number) else each for number, each in enumerate(value))
            return [each for each in found if each is not GONE]
    return value


def _cleaned(value: Any, pattern: str) -> Any:
    if isinstance(value, str):
        return without(value, [pattern])
    return _children(value, lambda _: True, lambda each: _cleaned(each, pattern))


def without(text: str, patterns: Iterable[str]) -> str:
    """The text without what the patterns match; what takes a pattern too long counts as it stands."""
    for pattern in patterns:
        try:
            text = removed(pattern, text)
        except Undecided:
            continue
    return text
