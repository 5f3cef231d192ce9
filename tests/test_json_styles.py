"""JSON styles: what the encoder can not write is refused, and a stand-in is put back."""

import pytest

from abs_replay.exact_json import Number
from abs_replay.json_styles import (
    DEEPEST,
    STYLES,
    parse,
    read,
    read_fast,
    reviewable,
    stand_in,
    write,
    write_fast,
)


def test_what_is_no_json_is_refused_in_words() -> None:
    with pytest.raises(TypeError, match="set is no JSON"):
        stand_in({1})


@pytest.mark.parametrize("style", STYLES)
def test_a_number_is_written_as_it_came_in_every_style(style: str) -> None:
    assert "0.10" in write({"a": [Number("0.10")]}, style)


@pytest.mark.parametrize("style", STYLES)
def test_a_number_that_was_read_fast_is_written_as_it_came(style: str) -> None:
    assert "0.10" in write({"a": read_fast(b"0.10")}, style)


def test_a_style_that_takes_more_than_blanks_is_not_written_fast() -> None:
    assert write_fast({"a": "b"}, "compact ascii") == b'{"a":"b"}'
    with pytest.raises(ValueError, match="tabs"):
        write_fast({"a": "b"}, "tabs")
    with pytest.raises(ValueError, match="letters to escape"):
        write_fast({"a": "\u00e9"}, "compact ascii")


def test_what_is_nested_too_deeply_to_be_read_fast_is_no_json_either() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        read(b"[" * 100_000)


def test_what_is_nested_too_deeply_to_be_read_is_no_json() -> None:
    with pytest.raises(ValueError, match="nested too deeply"):
        parse("[" * 100_000)


def test_what_lies_too_deep_to_be_reviewed_stays_text() -> None:
    assert reviewable("[" * DEEPEST + "]" * DEEPEST) is not None
    assert reviewable("[" * DEEPEST + "[1]" + "]" * DEEPEST) is None
