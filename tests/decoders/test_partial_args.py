"""Arguments that come value by value: whatever they hold, they come back."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from abs_replay.decoders import decode
from abs_replay.decoders.partial_args import PartialArgs
from abs_replay.exact_json import Json, Number
from tests.gemini_exchanges import STREAM, exchange, piece, sse


def pieces_of(value: Json, path: str = "$") -> list[dict[str, Any]]:
    """Write a value as a server does: each scalar under its path, texts in two pieces."""
    if isinstance(value, dict):
        return [one for key, item in value.items() for one in pieces_of(item, f"{path}[{json.dumps(key)}]")]
    if isinstance(value, list):
        return [one for i, item in enumerate(value) for one in pieces_of(item, f"{path}[{i}]")]
    if isinstance(value, str):
        half = len(value) // 2
        return [
            {"jsonPath": path, "stringValue": value[:half], "willContinue": True},
            {"jsonPath": path, "stringValue": value[half:]},
        ]
    if isinstance(value, bool):
        return [{"jsonPath": path, "boolValue": value}]
    return [
        {"jsonPath": path, "nullValue": "NULL_VALUE"}
        if value is None
        else {"jsonPath": path, "numberValue": value}
    ]


names = st.text(
    st.characters(codec="ascii", min_codepoint=32, exclude_characters='"\\'), min_size=1, max_size=4
)
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=6)
full = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(names, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40)
@given(st.dictionaries(names, full, max_size=3))
def test_any_arguments_come_back_from_their_pieces(arguments: dict[str, Any]) -> None:
    args = PartialArgs()
    for one in pieces_of(arguments):
        args.add(one)
    assert args.arguments() == arguments
    assert args.lost == 0


@pytest.mark.parametrize("path", ["", "$", "x.y", "$.a[99999]", "$.a[0", "$[0]", "$.s.t", "$..a"])
def test_a_path_that_leads_nowhere_is_counted_and_costs_nothing(path: str) -> None:
    args = PartialArgs({"s": "text"})
    args.add({"jsonPath": path, "numberValue": 1})
    args.add({"jsonPath": "$.ok", "boolValue": True})
    assert args.lost == 1
    assert args.arguments()["ok"] is True


def test_calls_in_pieces_end_by_an_empty_one_by_the_next_name_or_by_the_end() -> None:
    def part(**fields: object) -> dict[str, Any]:
        return piece({"functionCall": fields})

    def arg(name: str, value: object) -> list[object]:
        return [{"jsonPath": f"$.{name}", "numberValue": value}]

    body = sse(
        part(name="f", willContinue=True),
        part(partialArgs=arg("a", 1), willContinue=True),
        part(),
        part(name="g", willContinue=True),
        part(name="h", partialArgs=arg("b", 2.50), willContinue=True),
        part(partialArgs=[{"jsonPath": "?", "numberValue": 1}], willContinue=True),
    )
    found = decode(exchange(body, target=STREAM))
    assert found.turn
    assert found.turn.reply
    assert [(c.name, c.arguments, c.at) for c in found.turn.reply.calls] == [
        ("f", {"a": 1}, "response.events[0-2]"),
        ("g", {}, "response.events[3]"),
        ("h", {"b": Number("2.5")}, "response.events[4-5]"),
    ]
    assert found.remarks == ("a partial argument of h has no usable path",)


def test_a_piece_of_nothing_is_nothing() -> None:
    args = PartialArgs()
    args.add({"jsonPath": "$.a"})
    assert (args.arguments(), args.lost) == ({}, 0)


def test_a_quoted_name_is_json_and_a_way_through_a_text_leads_nowhere() -> None:
    args = PartialArgs()
    args.add({"jsonPath": "$['\\x']", "numberValue": 1})
    args.add({"jsonPath": "$.a", "numberValue": 1})
    args.add({"jsonPath": "$.a.b.c", "numberValue": 2})
    assert (args.arguments(), args.lost) == ({"a": 1}, 2)
