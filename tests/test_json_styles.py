"""JSON styles: what the encoder can not write is refused, and a stand-in is put back."""

import pytest

from abs_replay.exact_json import Number
from abs_replay.json_styles import DEEPEST, STYLES, parse, reviewable, stand_in, write


def test_what_is_no_json_is_refused_in_words() -> None:
    with pytest.raises(TypeError, match="set is no JSON"):
        stand_in({1})


@pytest.mark.parametrize("style", STYLES)
def test_a_number_is_written_as_it_came_in_every_style(style: str) -> None:
    assert "0.10" in write({"a": [Number("0.10")]}, style)


def test_what_is_nested_too_deeply_to_be_read_is_no_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse("[" * 100_000)


def test_what_lies_too_deep_to_be_reviewed_stays_text() -> None:
    assert reviewable("[" * DEEPEST + "]" * DEEPEST) is not None
    assert reviewable("[" * DEEPEST + "[1]" + "]" * DEEPEST) is None
