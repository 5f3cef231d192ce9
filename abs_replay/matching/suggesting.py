"""Which ignore rules would have made a recorded request match the one asked.

Proposed is only what looks like noise: a member or parameter whose name says so (`nonce`, `user_id`), a
value that is made afresh, numbers and dates within a system prompt. What a user said, what a tool is called
with, and which model is asked are the request itself, and never proposed, nor is anything beside them.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence

import yaml

from abs_replay.matching.canonical import Canonical
from abs_replay.matching.differences import MOST, Difference
from abs_replay.matching.ignored import reduced
from abs_replay.spec.ignoring import Ignore
from abs_replay.spec.paths import Path, Wild

_CONVERSATIONS = ("messages", "input", "contents")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction")
_MEANT = frozenset(
    ("model", "tools", "arguments", "args", "prompt", "name", "role", "method", "stream", "text")
)
_META = frozenset(("metadata", "meta", "_meta", "cache_control"))
_NOISE = re.compile(
    r"(?:.+_)?(?:nonce|seed|salt|request|session|user|trace|span|correlation|timestamp|time|date|now|ts|run|"
    r"attempt|client|version|sdk|uuid|guid|idempotency|cache|created|updated|sent|device|safety|conversation|"
    r"rand|random|cb|seq|sequence)(?:_(?:id|key|at|ms|ns|info|buster|identifier|number))?|_"
)
_EPOCH = 1_000_000_000  # seconds since 1970 are larger since 2001, and few quantities are
_DATED = re.compile(r"\d{4}-\d\d-\d\d")


def proposed(found: Sequence[Difference], asked: Canonical) -> tuple[Ignore, ...]:
    """Rules that take all of these differences out; none where one of them is no noise."""
    if len(found) == MOST:  # there may be more
        return ()
    rules: list[Ignore] = []
    for difference in found:
        rule = _rule(difference, asked)
        if rule is None:
            return ()
        if rule not in rules:
            rules.append(rule)
    return tuple(rules) if _leaves_something(rules, asked.document) else ()


def _leaves_something(rules: Iterable[Ignore], document: object) -> bool:
    """A body of nothing but a `user_id` asks for that user."""
    paths = [rule.json for rule in rules if rule.json is not None and rule.pattern is None]
    if not paths or any(_META.intersection(step for step in path if isinstance(step, str)) for path in paths):
        return True
    for path in paths:
        document = reduced(document, path, None)
    return bool(document)


def fewest(rules: Iterable[Ignore], enough: Callable[[tuple[Ignore, ...]], bool]) -> tuple[Ignore, ...]:
    """Leave out each rule that is not needed; none are left where even all are not enough."""
    kept = tuple(rules)
    if not enough(kept):
        return ()
    for rule in kept:
        without = tuple(one for one in kept if one is not rule)
        if without and enough(without):
            kept = without
    return kept


def written(rules: Iterable[Ignore]) -> str:
    """Rules as the YAML that a configuration has below `match.ignore`."""
    documents = []
    for rule in rules:
        said = {"json": path_text(rule.json)} if rule.json is not None else {}
        parts = (("query", rule.query), ("header", rule.header), ("pattern", rule.pattern))
        documents.append(said | {key: value for key, value in parts if value is not None})
    return yaml.safe_dump(documents, sort_keys=False, allow_unicode=True, width=1000).rstrip()


def path_text(path: Path) -> str:
    """Write a path as `spec.paths` reads it."""
    text = "$"
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif isinstance(step, Wild):
            text += "[*]" if step is Wild.EVERY else "."
        elif re.fullmatch(r"\w+", step):
            text += f".{step}"
        else:
            text += f'["{step}"]' if "'" in step else f"['{step}']"
    return text


def _rule(difference: Difference, asked: Canonical) -> Ignore | None:
    where, *place = difference.place or (difference.path,)
    if where == "query" and len(place) == 1:
        name = str(place[0])
        return Ignore(query=name) if _is_noise(name, difference) else None
    if where != "body" or not place or '"' in "".join(map(str, place)):
        return None
    if _is_system(place, asked.document):
        pattern = _pattern(difference)
        return None if pattern is None else Ignore(json=_general(place), pattern=pattern)
    if _is_beside(place, difference):
        return Ignore(json=_general(place))
    return None


def _is_beside(place: Sequence[str | int], difference: Difference) -> bool:
    """Say whether a member stands beside what is asked."""
    names = [step for step in place if isinstance(step, str)]
    if _META.intersection(names):
        return True
    if _MEANT.intersection(names) or not names or names[-1] in (*_CONVERSATIONS, *_SYSTEM):
        return False
    return _is_noise(names[-1], difference)


def _is_noise(name: str, difference: Difference) -> bool:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()
    if _NOISE.fullmatch(snake):
        return True
    values = [text for text in (difference.recorded, difference.asked) if text is not None]
    return len(values) == 2 and all(map(_is_fresh, values))


def _is_fresh(text: str) -> bool:
    """Say whether a JSON value looks like one that every run makes afresh."""
    value = json.loads(text)
    if isinstance(value, (int, float)):
        return value >= _EPOCH
    if not isinstance(value, str):
        return False
    mixed = re.search("[0-9]", value) and re.search("[A-Za-z]", value)
    return bool(_DATED.match(value) or (len(value) >= 16 and mixed and not re.search(r"\s", value)))


def _general(place: Sequence[str | int]) -> Path:
    """A path that holds at every turn of a conversation, which moves what stands in a list."""
    return tuple(Wild.EVERY if isinstance(step, int) else step for step in place)


def _is_system(place: Sequence[str | int], document: object) -> bool:
    if not isinstance(document, dict) or "jsonrpc" in document:
        return False
    if place[0] in _SYSTEM:
        return True
    items = document.get(place[0]) if place[0] in _CONVERSATIONS else None
    if not isinstance(items, list) or len(place) < 3:
        return False
    number = place[1]
    item = items[number] if isinstance(number, int) and number < len(items) else None
    return isinstance(item, dict) and item.get("role") in ("system", "developer")


# -- a part of a text


def _pattern(difference: Difference) -> str | None:
    """What matches those words that differ, each with the word before it; None where the prose differs."""
    if difference.recorded is None or difference.asked is None:
        return None
    then, now = (_words(text) for text in (difference.recorded, difference.asked))
    if len(then) != len(now):
        return None
    patterns: list[str] = []
    for number, (old, new) in enumerate(zip(then, now, strict=True)):
        if old != new:
            inner = _inner(old, new)
            if inner is None:
                return None
            before = then[number - 1] if number and then[number - 1] == now[number - 1] else ""
            pattern = f"{_literal(before)} {inner}" if before.strip() else inner
            patterns += [] if pattern in patterns else [pattern]
    return "|".join(patterns) if 0 < len(patterns) <= 3 else None


def _words(text: str) -> list[str]:
    value = json.loads(text)
    return re.split(r"[ \n]", value) if isinstance(value, str) else []


def _inner(old: str, new: str) -> str | None:
    """A pattern for both of two words that have digits."""
    if not (re.search("[0-9]", old) and re.search("[0-9]", new)):
        return None
    for piece, form in ((r"\d+", r"\d+"), (r"\w+", r"\w+")):
        pattern = "".join(
            form if re.fullmatch(piece, part) else _literal(part) for part in re.split(f"({piece})", old)
        )
        if re.fullmatch(pattern, new):
            return pattern
    return r"\S+"


def _literal(text: str) -> str:
    return re.sub(r"([.^$*+?{}\[\]\\|()])", r"\\\1", text)
