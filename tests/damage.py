"""Golden cases with damage done to them: wrong types, fields dropped or doubled, bytes cut or flipped."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

from abs_replay.decoders import DECODERS, Decoded
from abs_replay.exchange import Body, Exchange
from tests.golden_cases import CASES, exchange

type Spot = tuple[Any, Any]  # a container, and a key or an index of it

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 2**70, 1.5, "", "x", "{", "null", "\ud800", [], {}),
    *([None], [[]], [{}], ["x"], [1, "x"], {"a": 1}, {"type": 1}, {"": None}),
)


@cache
def cases(name: str) -> tuple[dict[str, Any], ...]:
    """Give every exchange that the cases of a protocol hold, as they are written there."""
    paths = [path for path in CASES if path.parent.name == name]
    return tuple(one for path in paths for one in json.loads(path.read_text(encoding="utf-8"))["exchanges"])


def opened(case: dict[str, Any]) -> dict[str, Any]:
    """Copy a case; of lines that hold JSON, the copy has what stands before it and its value."""
    made = deepcopy(case)
    for side in (made["request"], made["response"]):
        side["lines"] = [_opened(line) for line in side.get("lines", ())]
    return made


def _opened(line: str) -> list[Any]:
    head, brace, rest = line.partition("{")
    try:
        return [head, json.loads(brace + rest)] if brace else [line]
    except ValueError:  # cut off on purpose
        return [line]


def made(case: dict[str, Any]) -> Exchange:
    """Make the exchange of a case that was opened."""
    closed = {**case}
    for side in ("request", "response"):
        lines = ["".join([head, *map(json.dumps, value)]) for head, *value in case[side]["lines"]]
        closed[side] = {**case[side], "lines": lines}
    return exchange(0, closed)


def spots(case: dict[str, Any]) -> list[Spot]:
    """Give every place of a JSON value in an opened case, those of whole bodies and events too."""
    found: list[Spot] = []
    for side in (case["request"], case["response"]):
        found += _within(side, "json") if "json" in side else []
        for line in side["lines"]:
            found += _within(line, 1) if len(line) > 1 else []
        for frame in side.get("frames", ()):
            found += _within(frame, len(frame) - 1)
    return found


def _within(container: Any, key: Any) -> Iterator[Spot]:
    yield container, key
    value = container[key]
    if isinstance(value, dict | list):
        for inner in list(value) if isinstance(value, dict) else range(len(value)):
            yield from _within(value, inner)


def hurt(spot: Spot, random: Random) -> None:
    """Put another value into a place, or that value twice, or nothing at all."""
    container, key = spot
    way = random.randrange(len(STRANGE) + 4)
    if way < len(STRANGE):
        container[key] = deepcopy(STRANGE[way])
    elif way < len(STRANGE) + 2 and isinstance(container[key], dict | list | str):
        container[key] = [container[key], deepcopy(container[key])]
    elif isinstance(container, dict) and key != "json":
        del container[key]
    else:
        container[key] = None


def flipped(data: bytes, at: int, bit: int) -> bytes:
    """Turn one bit over."""
    return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :] if data else data


def with_bodies(one: Exchange, request: bytes, response: bytes) -> Exchange:
    answer = replace(one.response, body=Body(response)) if one.response else None
    return replace(one, request=replace(one.request, body=Body(request)), response=answer)


def bodies(one: Exchange) -> tuple[bytes, bytes]:
    return one.request.body.data, one.response.body.data if one.response else b""


def read(one: Exchange) -> dict[str, Decoded]:
    """Let every decoder read what it claims; what one raises comes through."""
    return {name: each.decode(one) for name, each in DECODERS.items() if each.claims(one)}
