"""Groups of calls: those that the author wrote, and those that one message made (SEMANTICS A12, E5)."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from abs_replay.alignment.groups import call_group, parallel_blocks, unordered_blocks
from abs_replay.spec.rules import Composition, Contains, ToolCall
from abs_replay.spec.session import Behavior, Evaluation
from abs_replay.trace import Step

UNORDERED = Evaluation("e", ToolCall.model_validate({"type": "tool_call", "ordered": False}))
ORDERED = Evaluation("e", ToolCall.model_validate({"type": "tool_call"}))
CALLS = ("assistant", "calls")
ACTORS = {"C": CALLS, "O": CALLS, "R": ("tool", "responds"), "T": ("assistant", "informs")}


def behaviors(written: str, **evaluations: Sequence[Evaluation]) -> list[Behavior]:
    """`C R T`: a call, a tool's response, a text; a lower-case letter has the evaluations of that name."""
    return [
        Behavior(f"behaviors[{n}]", *ACTORS[letter.upper()], evaluations=tuple(evaluations.get(letter, ())))
        for n, letter in enumerate(written)
    ]


@pytest.mark.parametrize(
    ("written", "index", "group"),
    [
        ("C", 0, (0,)),
        ("CC", 1, (0, 1)),
        ("CC", 0, (0,)),
        ("CRC", 2, (0, 2)),
        ("CRRC", 3, (0, 3)),
        ("CTC", 2, (2,)),
        ("CTCRC", 4, (2, 4)),
        ("RC", 1, (1,)),
    ],
)
def test_a_group_is_the_calls_up_to_one_with_responses_alone_between(
    written: str, index: int, group: tuple[int, ...]
) -> None:
    assert call_group(behaviors(written), index) == group


@pytest.mark.parametrize(
    ("written", "blocks"),
    [
        ("Cc", {0: 0, 1: 0}),
        ("cC", {0: 0}),
        ("CcR", {0: 0, 1: 0, 2: 0}),
        ("CcRRT", {0: 0, 1: 0, 2: 0, 3: 0}),
        ("CcTR", {0: 0, 1: 0}),
        ("TCc", {1: 1, 2: 1}),
        ("TCcC", {1: 1, 2: 1}),
        ("CRcR", {0: 0, 1: 0, 2: 0, 3: 0}),
        ("CcTCc", {0: 0, 1: 0, 3: 3, 4: 3}),
        ("cCc", {0: 0, 1: 0, 2: 0}),
        ("RCc", {1: 1, 2: 1}),
        ("Co", {}),
        ("CC", {}),
    ],
)
def test_an_unordered_block_is_a_whole_group_with_the_responses_behind_it(
    written: str, blocks: dict[int, int]
) -> None:
    assert unordered_blocks(behaviors(written, c=[UNORDERED], o=[ORDERED])) == blocks


def test_a_part_of_a_composition_may_say_that_the_group_is_unordered() -> None:
    words = Evaluation("e", Contains(type="contains", value="x"))
    whole = Composition(type="all_of", evaluations=({},))
    inner = Evaluation("e", whole, parts=(words, UNORDERED))
    assert unordered_blocks(behaviors("Cc", c=[words, Evaluation("e", whole, parts=(inner,))])) == {
        0: 0,
        1: 0,
    }
    assert unordered_blocks(behaviors("Cc", c=[Evaluation("e", whole, parts=(ORDERED,))])) == {}


def call(id_: str | None = None, group: str | None = None) -> Mapping[str, Any]:
    return {"actor": "assistant", "action": "calls", "call_id": id_, "parallel_group": group}


def response(id_: str | None = None) -> Mapping[str, Any]:
    return {"actor": "tool", "action": "responds", "call_id": id_}


TALK: Mapping[str, Any] = {"actor": "assistant", "action": "responds"}
SYSTEM: Mapping[str, Any] = {"actor": "system", "action": "updates"}
UPDATES: Mapping[str, Any] = {**SYSTEM, "call_id": "a"}


@pytest.mark.parametrize(
    ("steps", "blocks"),
    [
        ([], []),
        ([call()], []),
        ([call(), response()], []),
        ([call(), call()], [{0, 1}]),
        ([TALK, call(), call(), TALK], [{1, 2}]),
        ([call(), TALK, call()], []),
        ([call(), call(), TALK, call(), call()], [{0, 1}, {3, 4}]),
        ([TALK, call(), TALK, TALK, call(), call()], [{4, 5}]),
        ([call(), SYSTEM, call()], [{0, 2}]),
        ([call(), response(), call()], []),
        # Responses without an id belong to it as long as they stand right behind it.
        ([call(), call(), response(), response()], [{0, 1, 2, 3}]),
        ([call(), call(), response(), TALK, response()], [{0, 1, 2}]),
        ([call(), call(), SYSTEM, response()], [{0, 1, 3}]),
        ([response(), call(), call()], [{1, 2}]),
        # Those with an id belong to it wherever they stand.
        ([call("a"), call("b"), TALK, response("b"), response("a")], [{0, 1, 3, 4}]),
        ([call("a"), call("b"), response("z"), response("a")], [{0, 1, 3}]),
        ([call("a"), call("b"), UPDATES, TALK], [{0, 1}]),
        ([response("a"), call("a"), call("b")], [{1, 2}]),
        # As recorded.
        ([call("a", "g"), TALK, call("b", "g")], [{0, 2}]),
        ([call("a", "g"), call("b", "h"), call("c", "g")], [{0, 2}]),
        ([call("a", "g"), response("a"), call("b", "g"), response()], [{0, 1, 2, 3}]),
        ([call("a", "g"), call("b")], []),
    ],
)
def test_a_parallel_block_is_calls_of_one_message_with_the_responses_to_them(
    steps: list[Mapping[str, Any]], blocks: list[set[int]]
) -> None:
    found = parallel_blocks([Step(seq=n, **fields) for n, fields in enumerate(steps, 1)])
    assert [{n for n in range(len(steps)) if mask >> n & 1} for mask in found] == blocks
