"""What a request's history holds that is in no message of it: entries that are no objects, or say no role.

Decoders leave out what is no message of their format; here it is told, for all of them, what that was.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from abs_replay.decoders.content import request_content
from abs_replay.decoders.fields import items, obj, parse_or_none
from abs_replay.exchange import Exchange

# Where a request has its history, and whether its entries must say a role: the items of the Responses
# API have a type instead, and a content of Gemini's without one is the user's.
_HISTORIES: Final[Mapping[str, bool]] = {
    "messages": True,
    "chat_history": True,
    "input": False,
    "contents": False,
}
_NAMED: Final = 3  # places of one kind that a remark names


def unread(exchange: Exchange) -> tuple[str, ...]:
    """Say which entries of a request's history are not traced, and why."""
    body = obj(parse_or_none(request_content(exchange).data))
    found: list[str] = []
    for key, with_role in _HISTORIES.items():
        if key not in body:
            continue
        reasons: dict[str, list[str]] = {}
        for place, reason in _wrong(body[key], f"request.{key}", with_role):
            reasons.setdefault(reason, []).append(place)
        found += [_remark(places, reason) for reason, places in reasons.items()]
    return tuple(found)


def _wrong(values: Any, at: str, with_role: bool) -> Iterator[tuple[str, str]]:
    if with_role and values is not None and not isinstance(values, list):
        yield at, "no list"
    # A list at once: most are right, and each request repeats them all.
    wrong = [
        (index, value)
        for index, value in enumerate(items(values))
        if type(value) is not dict or (with_role and not (value.get("role") and type(value["role"]) is str))
    ]
    for index, value in wrong:
        yield f"{at}[{index}]", "without a role" if isinstance(value, dict) else "no object"


def _remark(places: list[str], reason: str) -> str:
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return f"not traced: {', '.join(places[:_NAMED])}{more} ({reason})"
