"""Sought together, no needle is missed that a search for it alone would find."""

import re

from hypothesis import given
from hypothesis import strategies as st

from abs_replay.redact.named import _STEMS
from abs_replay.redact.needles import Needles
from abs_replay.redact.shapes import BY_FIND

SHORT = st.text("ab-", min_size=1, max_size=4).map(str.encode)


@given(st.lists(SHORT, min_size=1, max_size=6), st.text("ab-", max_size=30).map(str.encode))
def test_every_needle_that_stands_in_a_text_is_among_those_that_may(
    needles: list[bytes], text: bytes
) -> None:
    assert {each for each in needles if each in text} <= Needles(needles).within(text) <= set(needles)


def test_a_text_without_any_has_none() -> None:
    assert Needles(_STEMS).within(b"words that people write to each other " * 100) == frozenset()


def test_those_that_overlap_no_other_are_told_exactly() -> None:
    assert Needles((b"hooks", b"dapi")).within(b"many hooks") == {b"hooks"}


def test_what_vendors_and_names_end_with_is_found_in_any_company() -> None:
    every = (*BY_FIND, *_STEMS)
    needles = Needles(every)
    for needle in every:
        for other in every:
            assert needle in needles.within(b"x" + other + needle), (other, needle)
            assert needle in needles.within(re.sub(b"^.", b"", other) + needle + b"y")
