"""No golden case, however damaged, makes a decoder raise: a value of another type stands anywhere in it."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.assembly import assemble
from abs_replay.decoders import DECODERS, decode
from abs_replay.exchange import Body, Channel, Exchange, Request, Response, Role

FIXTURES = Path(__file__).parents[2] / "fixtures"


def bodies(case: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Give the values of a body, and how to write them back."""
    if "json" in case:
        yield "json", case["json"]
    for line in case.get("lines", ()):
        data = line.removeprefix("data: ")
        try:
            value = json.loads(data) if data.startswith("{") else None
            yield (line if value is None else line[: len(line) - len(data)]), value
        except ValueError:  # cut off on purpose
            yield line, None


def load() -> list[tuple[dict[str, Any], list[tuple[str, Any]], list[tuple[str, Any]]]]:
    found = []
    for name in DECODERS:
        for path in sorted((FIXTURES / name).glob("*.json")):
            for one in json.loads(path.read_text(encoding="utf-8"))["exchanges"]:
                found.append((one, list(bodies(one["request"])), list(bodies(one["response"]))))
    return found


CASES = load()
STRANGE: list[Any] = [
    None,
    True,
    0,
    -1,
    2**70,
    1.5,
    "",
    "x",
    "[",
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    [{}],
    ["x"],
]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Give every container in a value with a key or an index of it."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def written(parts: list[tuple[str, Any]]) -> bytes:
    # A line that is no JSON is kept whole in `how`.
    lines = [
        json.dumps(value) if how == "json" else how + json.dumps(value) if value else how
        for how, value in parts
    ]
    return "\n".join(lines).encode()


@settings(max_examples=150)
@given(st.sampled_from(CASES), st.data())
def test_a_value_of_another_type_anywhere_raises_nothing(
    case: tuple[dict[str, Any], list[tuple[str, Any]], list[tuple[str, Any]]], data: st.DataObject
) -> None:
    one, request, response = deepcopy(case)
    spots = [spot for side in (request, response) for _, value in side for spot in places(value)]
    for _ in range(data.draw(st.integers(1, 3)) if spots else 0):
        container, key = data.draw(st.sampled_from(spots))
        container[key] = data.draw(st.sampled_from(STRANGE))
    exchange = made(one, written(request), written(response))
    for decoder in DECODERS.values():
        if decoder.claims(exchange):
            decoder.decode(exchange)
    assert decode(exchange).reason is None or not decode(exchange).protocol
    assemble([exchange])


def made(one: dict[str, Any], request: bytes, response: bytes) -> Exchange:
    role, _, name = one["channel"].partition(":")
    sent, got = one["request"], one["response"]
    return Exchange(
        "x",
        Channel(Role(role), name or role),
        0.0,
        Request(sent["method"], sent["target"], tuple(sent.get("headers", {}).items()), Body(request)),
        Response(got["status"], tuple(got.get("headers", {}).items()), Body(response)),
        ended_ms=5.0,
    )
