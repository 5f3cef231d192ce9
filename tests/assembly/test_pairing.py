"""Which tool use carried out which call: by name, by arguments, by the values in a URL."""

import pytest

from abs_replay.assembly.pairing import Use, agreement, carried, names_agree, scalars
from abs_replay.decoders import Call, ToolUse
from abs_replay.exact_json import Json


def mcp(name: str, arguments: Json, channel: str = "Order MCP") -> Use:
    return Use(ToolUse(name, arguments), channel, plain=False)


def rest(path: str, channel: str = "Orders", **fields: Json) -> Use:
    return Use(ToolUse(channel, {"method": "GET", "path": path, **fields}), channel, plain=True)


CALL = Call("get_order", {"order_id": "A-7"})


@pytest.mark.parametrize(
    ("name", "other", "agree"),
    [
        ("get_order", "get_order", True),
        ("order_mcp", "Order MCP", True),
        ("mcp__orders__get_order", "get_order", True),
        ("orders-getOrder", "get_order", True),
        ("get_order", "mcp__orders__get_order", False),
        ("cancel_order", "get_order", False),
        ("run", "", False),
        ("rerun", "run", False),
    ],
)
def test_names_agree_but_for_writing_and_a_prefix(name: str, other: str, agree: bool) -> None:
    assert names_agree(name, other) is agree


def test_name_and_arguments_go_before_either_alone() -> None:
    ranked = [
        mcp("get_order", {"order_id": "A-7"}),
        mcp("get_order", {"order_id": "A-7", "tenant": 1}),
        mcp("get_order", {}),
        rest("/orders/A-7"),
        mcp("lookup", {"order_id": "A-7"}),
        mcp("get_order", {"order_id": "B-8"}),
    ]
    scores = [agreement(CALL, use)[0] for use in ranked]
    assert scores == sorted(scores, reverse=True)
    assert scores[-2] > 0
    assert scores[-1] == 0


@pytest.mark.parametrize(
    "use",
    [
        rest("/orders/A-7"),
        rest("/v2/shops/1/orders/a-7/state"),
        rest("/orders(A-7)"),
        rest("/search", q="A-7"),
        rest("/search", filter={"id": ["A-7"]}),
        rest("/orders/A%2D7"),
    ],
)
def test_a_plain_call_agrees_where_the_calls_value_stands_in_it(use: Use) -> None:
    assert agreement(CALL, use)[0] > 0


@pytest.mark.parametrize("use", [rest("/orders/A-70"), rest("/orders"), rest("/weather", city="Oslo")])
def test_a_plain_call_with_other_values_does_not_agree(use: Use) -> None:
    assert agreement(CALL, use) == (0, 0)


def test_a_call_without_arguments_goes_by_its_words() -> None:
    assert agreement(Call("list_orders"), rest("/orders"))[0] > 0
    assert agreement(Call("list_orders"), rest("/customers", channel="CRM")) == (0, 0)


def test_numbers_count_as_they_are_written_and_flags_do_not_count() -> None:
    assert agreement(Call("f", {"n": 7001}), rest("/x/7001"))[0] > 0
    assert scalars({"a": [True, None, "", " x "], "b": 1}) == {"x", "1"}
    assert carried(rest("/a/b", method="GET", q="c")) == {"a", "b", "c"}


ORDERS_CALLS = {
    "list_orders": Call("list_orders", {}),
    "get_order": Call("get_order", {"order_id": "8"}),
    "cancel_order": Call("cancel_order", {"order_id": "8"}),
    "create_order": Call("create_order", {"item": "shoe", "n": 2}),
}


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (rest("/orders"), "list_orders"),
        (rest("/orders/8"), "get_order"),
        (rest("/orders/8", method="DELETE"), "cancel_order"),
        (rest("/orders", method="POST", item="shoe", n=2), "create_order"),
    ],
)
def test_what_a_plain_call_carries_and_its_method_go_before_a_name_like_the_channels(
    use: Use, name: str
) -> None:
    surest = max(ORDERS_CALLS, key=lambda one: agreement(ORDERS_CALLS[one], use))
    assert surest == name


def test_a_tool_of_another_name_and_other_values_did_not_carry_a_call_out() -> None:
    assert agreement(CALL, mcp("lookup", {"order_id": "B-8"}, "Parcels")) == (0, 0)
