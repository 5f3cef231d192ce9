"""What an author's pattern takes out, and what is about persons."""

import pytest

from abs_replay.redact.finders import Pattern, is_iban


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (r"x*", "axxb", ["xx"]),  # nothing is no match
        (r"é(b)", "éb éb", ["b", "b"]),
        (r"é(?=(..))", "ééab", ["éa"]),  # the second begins within the first
        (r"a()", "a", []),
    ],
)
def test_a_pattern_takes_out_its_group_once(pattern: str, text: str, found: list[str]) -> None:
    data = text.encode()
    assert [data[start:stop].decode() for start, stop in Pattern("x", pattern).spans(data)] == found


@pytest.mark.parametrize(
    ("number", "fits"),
    [(b"de89 3704 0044 0532 0130 00", True), (b"DE89370400440532013001", False), (b"DE68210501", False)],
)
def test_an_iban_has_its_length_and_its_check_digits(number: bytes, fits: bool) -> None:
    assert is_iban(number) is fits
