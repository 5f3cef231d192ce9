"""What a request repeats is read once, and only where it is the very same."""

from decimal import Decimal
from typing import Any

import pytest

from abs_replay.decoders import Message
from abs_replay.decoders.histories import Histories, Replies, remember

AT = "request.messages"


def said(*texts: Any) -> list[Any]:
    return [{"role": "user", "content": text} for text in texts]


def read(known: Histories, values: list[Any]) -> int:
    """Read values, and say how many were known."""
    begun = known.begun(values, AT)
    new = tuple(Message("user", str(value), at=f"{AT}[{i}]") for i, value in enumerate(values))[len(begun) :]
    known.learn(values, AT, len(begun), begun + new)
    return len(begun)


def test_a_history_that_grows_is_read_from_where_it_grew() -> None:
    known = Histories()
    assert [read(known, said(*"abcd"[:length])) for length in (1, 2, 4, 4)] == [0, 1, 2, 4]


def test_a_history_that_ends_alike_and_began_otherwise_is_read_anew() -> None:
    known = Histories()
    read(known, said("a", "b"))
    assert read(known, said("x", "b", "c")) == 0
    assert read(known, said("a", "b", "c")) == 2


@pytest.mark.parametrize("value", [1, True, Decimal("0.5"), {"type": "text", "n": [1]}])
def test_what_is_no_text_is_read_each_time(value: Any) -> None:
    known = Histories()
    assert [read(known, said("a", [value], "b")) for _ in range(2)] == [0, 1]
    assert read(known, said("a", [None, "b"], "b")) == 1
    assert read(known, said([value])) == 0
    assert read(known, said("a", [None, "b"], "b")) == 3


def test_a_number_where_a_text_was_is_another_history() -> None:
    known = Histories()
    for number in (1, Decimal("0.5")):
        read(known, [{"role": "user", "content": "a", "name": "x"}])
        assert read(known, [{"role": "user", "content": "a", "name": number}]) == 0


def test_values_that_no_message_stands_for_are_not_learned() -> None:
    known = Histories()
    known.learn([{"role": "user", "content": "a"}, "junk"], AT, 0, (Message("user", "a"),))
    assert known.begun([{"role": "user", "content": "a"}, "junk"], AT) == ()
    assert read(known, ["junk", "junk"]) == 0


def test_the_history_that_grew_last_outlives_others() -> None:
    known = Histories()
    for number in range(600):
        read(known, said(f"h{number}"))
        read(known, said("kept", *map(str, range(number % 40))))
    assert read(known, said("h0", "more")) == 0
    assert read(known, said("h599", "more")) == 1
    assert read(known, said("kept", *map(str, range(40)))) == 40


def test_a_history_may_go_back_to_where_the_last_one_went_on() -> None:
    known = Histories()
    assert [read(known, said(*texts)) for texts in ("ab", "abcd", "abxy", "abxyz", "abcd")] == [0, 2, 2, 4, 4]


def test_no_more_than_a_few_histories_of_one_end_are_looked_at() -> None:
    known = Histories()
    for number in range(20):
        read(known, said(f"now {number}", *"abcdefghijklmnopqrst"[: number + 1]))
    assert read(known, said("now 3", *"abcdefghijklmnopqrst")) == 0
    assert read(known, said("now 3", *"abcde")) == 5


def test_a_text_of_a_reply_is_shared_and_no_more_than_the_last() -> None:
    replies, text = Replies(), "".join(["wo", "rds"])
    replies.learn(Message("assistant", text))
    replies.learn(Message("assistant", None))
    replies.learn(None)
    assert replies.shared("".join(["word", "s"])) is text
    for number in range(1024):
        replies.learn(Message("assistant", str(number)))
    assert replies.shared("".join(["word", "s"])) is not text


def test_messages_are_forgotten_before_they_are_too_many() -> None:
    known: dict[int, int] = {}
    for number in range(8193):
        remember(known, number, number)
    assert known == {8192: 8192}
