"""What is read of a repeated history is what reading it anew gives."""

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.decoders import Message, chat_messages
from abs_replay.decoders.histories import Histories, remember

texts = st.sampled_from(["a", "b", ""])
values = st.one_of(
    st.builds(
        lambda role, said: {"role": role, "content": said}, st.sampled_from(["user", "assistant"]), texts
    ),
    st.builds(lambda said: {"role": "tool", "tool_call_id": "c", "content": said}, texts),
    st.builds(
        lambda one: {"role": "user", "content": [{"type": "image", "n": one}]}, st.sampled_from([1, True])
    ),
    st.just({"role": "user", "content": None}),
    st.just("no message"),
)


def anew(said: Sequence[Any], at: str) -> list[str]:
    read = [(i, v) for i, v in enumerate(said) if isinstance(v, dict)]
    return [repr(chat_messages.message(value, f"{at}[{index}]")) for index, value in read]


@given(st.lists(st.tuples(st.lists(values, max_size=5), st.sampled_from(["x", "y"])), max_size=6))
def test_a_repeated_history_is_read_as_if_it_were_new(requests: list[tuple[list[Any], str]]) -> None:
    for said, at in requests:
        for length in range(len(said) + 1):
            assert list(map(repr, chat_messages.messages(said[:length], at))) == anew(said[:length], at)


def test_what_was_read_is_given_again() -> None:
    known, said = Histories(), [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    read = (Message("user", "a"), Message("assistant", "b"))
    known.learn(said, "x", 0, read)
    assert known.begun([*map(dict, said), {"role": "user", "content": "c"}], "x") == read
    known.learn(said, "x", 0, read)
    assert known.begun(said, "y") == ()
    assert known.begun([said[0], {"role": "assistant", "content": "other"}], "x") == ()


def test_what_is_no_text_is_read_each_time() -> None:
    known, said = Histories(), [{"role": "user", "content": "a"}, {"role": "user", "content": [1]}]
    read = (Message("user", "a"), Message("user", [1]))
    known.learn(said, "x", 0, read)
    assert known.begun([said[0], {"role": "user", "content": [True]}], "x") == read[:1]


def test_what_was_kept_is_forgotten_where_it_is_too_much() -> None:
    kept: dict[int, int] = {}
    for number in range(8193):
        remember(kept, number, number)
    assert kept == {8192: 8192}


def test_of_many_conversations_the_oldest_is_forgotten() -> None:
    known = Histories()
    for number in range(257):
        known.learn([{"content": str(number)}], "x", 0, (Message("user", str(number)),))
    assert known.begun([{"content": "0"}], "x") == ()
    assert known.begun([{"content": "1"}], "x") == (Message("user", "1"),)
