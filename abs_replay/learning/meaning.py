"""Whether two values differ with meaning: what is made afresh in each run has none, what a user said has.

In doubt a difference has meaning: an ignore rule that is one too many lets a job pass that should fail.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from abs_replay.exact_json import Number
from abs_replay.exchange import Exchange, Role
from abs_replay.learning.heard import Heard
from abs_replay.learning.places import GONE, Place, Spot, Where
from abs_replay.learning.texts import Part


class Verdict(StrEnum):
    """What a difference comes to."""

    FRESH = "made afresh in each run"
    ECHO = "brought by an answer, as it will be in replay"
    WORDS = "the user's words, or taken from them"
    BUSINESS = "a number or an id that answers have, too"
    NUMBER = "a number that is no time and no nonce"
    SAID = "what the assistant or a tool said"
    SETTING = "a setting, or what the request is about"
    SHAPE = "only one of both has it"


@dataclass(frozen=True, slots=True)
class Side:
    """One exchange of a recording, its request's document, and all that was heard in the recording."""

    heard: Heard
    number: int
    exchange: Exchange
    document: Any


# Names of values that are made for one request or one run.
_FRESH_NAME = re.compile(
    r"(?:^|_)(?:nonce|timestamp|ts|now|seed|salt|random|rand|uuid|guid|idempotency|traceparent)(?:_|$)"
    r"|(?:request|trace|span|correlation|run|invocation|message|idempotency)_(?:id|key)$|_(?:at|ms|ts)$"
)
# Names of who asks; where a tool is asked they may say for whom.
_CALLER_NAME = re.compile(r"(?:^|_)(?:user|session|client|device|thread|conversation|instance|host)(?:_|$)")
_SETTINGS = re.compile(r"^(?:model|role|type|name|object|method|format|language|currency|status|version)$")
_TOKEN = re.compile(r"(?:[A-Za-z]+[-_.:])*(?P<rest>[\w+/=.:-]{6,})", re.ASCII)
_SHORT_ID = re.compile(r"[A-Za-z]{0,8}[-_#]?\d{1,12}")
_AMOUNT = re.compile(r"[\d.,:\s%$€-]*\d[\d.,:\s%$€-]*")
_SYSTEM = ("system", "instructions", "systemInstruction", "system_instruction", "tools")
_DAY = 86_400.0


def verdict(spot: Spot, part: Part | None, then: Side, now: Side) -> Verdict:
    """Judge one difference, or one part of a text that differs; `then` is the recorded side."""
    if part is not None and (spot.then, spot.now) != (part.then, part.now):
        if _echoed(spot.then, spot.now, then, now):
            return Verdict.ECHO
        return _of_value(spot, part.then, part.now, then, now)
    return _of_value(spot, spot.then, spot.now, then, now)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | int | float | Number) and not isinstance(value, bool)


def _echoed(old: Any, new: Any, then: Side, now: Side) -> bool:
    return then.heard.echoed(old, then.number) and now.heard.echoed(new, now.number)


def _of_value(spot: Spot, old: Any, new: Any, then: Side, now: Side) -> Verdict:
    values = [value for value in (old, new) if value is not GONE]
    if GONE not in (old, new) and _echoed(old, new, then, now):
        return Verdict.ECHO
    roles = {_speaker(then.document, spot.place), _speaker(now.document, spot.place)}
    if "user" in roles or any(side.heard.said(value) for side in (then, now) for value in values):
        return Verdict.WORDS
    if not all(map(_is_scalar, values)):
        return Verdict.SHAPE if GONE in (old, new) else Verdict.SETTING
    fresh = _fresh(spot, old, then) and _fresh(spot, new, now)
    answered = then.heard.answered(values[0]) and now.heard.answered(values[-1])
    if answered and not (fresh and _is_random(values[0])):
        return Verdict.BUSINESS
    if fresh:
        return Verdict.FRESH
    return _stale(spot, values, roles, GONE in (old, new), then.exchange.channel.role)


def _stale(spot: Spot, values: list[Any], roles: set[str | None], one_sided: bool, role: Role) -> Verdict:
    """Judge what does not look as if it were made afresh."""
    if one_sided:
        return Verdict.SHAPE
    if any(not isinstance(value, str) or _AMOUNT.fullmatch(value) for value in values):
        return Verdict.NUMBER
    if role is Role.LLM and spot.parts and (_is_system(spot.place) or "system" in roles):
        return Verdict.FRESH  # a sentence of the prompt that is written anew in each run
    return Verdict.SAID if roles - {None, "system"} else Verdict.SETTING


def _fresh(spot: Spot, value: Any, side: Side) -> bool:
    """Whether a value looks made for one request or one run, by its name or by itself."""
    if value is GONE:
        return bool(_named(spot, side))
    if _SETTINGS.search(spot.key):
        return False
    return _is_clock(value, side.exchange.started_at) or _is_random(value) or _named(spot, side)


def _named(spot: Spot, side: Side) -> bool:
    if spot.where not in (Where.JSON, Where.QUERY):
        return False
    name = re.sub(r"(?<=[a-z])(?=[A-Z])|-", "_", spot.key).lower()
    by_caller = side.exchange.channel.role is not Role.TOOL and _CALLER_NAME.search(name)
    return bool(_FRESH_NAME.search(name) or by_caller)


def _is_random(value: Any) -> bool:
    """Whether a text is one token whose letters and digits nobody chose: no word, and no numbered name."""
    found = _TOKEN.fullmatch(value) if isinstance(value, str) else None
    if found is None or _SHORT_ID.fullmatch(value):
        return False
    return any(_is_mixed(word) for word in re.findall(r"[A-Za-z0-9]+", found["rest"])) or _is_time(value)


def _is_mixed(word: str) -> bool:
    turns = len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])", word))
    return len(word) >= 6 and (turns > 1 or (turns == 1 and len(word) >= 8 and not _SHORT_ID.fullmatch(word)))


def _is_time(text: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?", text))


def _is_clock(value: Any, started_at: float) -> bool:
    """Whether a number is the time at which it was recorded: in s, ms, us or ns since 1970."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return False
    return any(abs(number / unit - started_at) < _DAY for unit in (1, 1e3, 1e6, 1e9)) and started_at > _DAY


# -- who speaks


def _is_system(place: Place) -> bool:
    return any(step in _SYSTEM for step in place[:2])


def _speaker(document: Any, place: Place) -> str | None:
    """The role of the message that a place is in: user, system, or another one."""
    found = None
    for each in _around(document, place):
        role = each.get("role", each.get("type"))
        if role in ("tool_result", "function_call_output", "tool") or "functionResponse" in each:
            found = "tool"
        elif role in ("system", "developer"):
            found = "system"
        elif role in ("user", "assistant", "model") and "role" in each:
            found = str(role)
    return found


def _around(document: Any, place: Place) -> Iterator[dict[Any, Any]]:
    for step in place:
        if isinstance(document, dict):
            yield document
            document = document.get(step)
        elif isinstance(document, list) and isinstance(step, int) and step < len(document):
            document = document[step]
        else:
            return
