"""A sample has of each kind as large a share as the whole."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.comparison.sampling import stratified


def test_kinds_keep_their_shares_and_remainders_go_to_the_largest() -> None:
    things = ["a"] * 60 + ["b"] * 33 + ["c"] * 7
    found = stratified(list(enumerate(things)), lambda each: each[1], 10, seed=1)

    assert Counter(kind for _, kind in found) == {"a": 6, "b": 3, "c": 1}


def test_the_same_seed_gives_the_same_ones_and_another_does_not() -> None:
    things = list(range(100))
    first, again, other = (stratified(things, lambda each: each % 3, 20, seed) for seed in (1, 1, 2))

    assert first == again
    assert first != other


@given(st.lists(st.integers(0, 4), max_size=40), st.integers(0, 50), st.integers())
def test_a_sample_is_of_the_things_each_once_and_no_share_is_off_by_one(
    kinds: list[int], count: int, seed: int
) -> None:
    things = list(enumerate(kinds))
    found = stratified(things, lambda each: each[1], count, seed)

    assert len(set(found)) == len(found) == min(count, len(things))
    assert set(found) <= set(things)
    for kind, size in Counter(kinds).items():
        share = len(found) * size / len(kinds)
        assert abs(sum(each[1] == kind for each in found) - share) < 1
