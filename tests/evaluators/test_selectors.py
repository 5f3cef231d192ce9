"""What a selector picks (SEMANTICS A13, C1)."""

from typing import Any

import pytest

from abs_replay.alignment.seen import Kinds, Seen
from abs_replay.evaluators.selectors import positions, same_name
from abs_replay.spec.rules import Selector
from abs_replay.trace import Step

ALIASES = {"Orders": ("get_order", "list_orders")}
SEEN = tuple(
    Seen(Step(n, actor, action, target), actor, action, target)
    for n, (actor, action, target) in enumerate(
        [
            ("user", "says", None),
            ("assistant", "calls", "get_order"),
            ("tool", "responds", "get_order"),
            ("system", "updates", "state.x"),
            ("assistant", "calls", "Pay"),
            ("assistant", "responds", None),
            ("assistant", "calls", "get_order"),
        ],
        1,
    )
)


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"actor": "assistant"}, [1, 4, 5, 6]),
        ({"action": "calls"}, [1, 4, 6]),
        ({"actor": "tool", "action": "calls"}, []),
        ({"actor": "assistant", "action": "calls"}, [1, 4, 6]),
        ({"actor": "assistant", "target": "get_order"}, [1, 6]),
        ({"action": "responds", "target": "get_order"}, [2]),
        ({"actor": "assistant", "action": "calls", "target": "Pay"}, [4]),
        ({"target": "get_order"}, [1, 2, 6]),
        ({"target": "Orders"}, [1, 2, 6]),
        ({"target": "list_orders"}, []),
        ({"target": "Pay"}, [4]),
        ({"target": "state.x"}, []),
        ({"action": "updates"}, []),
        ({"actor": "user"}, [0]),
        ({"actor": "human"}, []),
        ({"action": "hands_off"}, []),
        ({"actor": "system"}, [3]),
        ({"actor": "system", "target": "Orders"}, []),
    ],
)
def test_a_selector_picks_what_is_equal_in_each_of_its_fields(
    fields: dict[str, Any], found: list[int]
) -> None:
    assert list(positions(Selector(**fields), Kinds(SEEN), ALIASES)) == found
    if fields.get("target") != "Orders":
        assert list(positions(Selector(**fields), Kinds(SEEN), {})) == found


def test_without_a_configuration_a_name_is_itself_alone() -> None:
    assert list(positions(Selector(target="Orders"), Kinds(SEEN), {})) == []
    assert list(positions(Selector(target="get_order"), Kinds(SEEN), {})) == [1, 2, 6]
    assert list(positions(Selector(target="state.x"), Kinds(SEEN), {})) == []


def test_a_selector_of_nothing_picks_all_but_system_steps() -> None:
    assert list(positions(Selector(), Kinds(SEEN), {})) == [0, 1, 2, 4, 5, 6]


@pytest.mark.parametrize(
    ("wanted", "observed", "same"),
    [
        ("Orders", "Orders", True),
        ("Orders", "get_order", True),
        ("get_order", "Orders", True),
        ("Orders", "Pay", False),
        ("Pay", "Orders", False),
        ("Orders", None, False),
        ("orders", "Orders", False),
    ],
)
def test_an_alias_is_the_same_name_whichever_way_it_is_asked(
    wanted: str, observed: str | None, same: bool
) -> None:
    assert same_name(wanted, observed, ALIASES) is same
